"""Citations in an answer, held against what was retrieved."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, errored, mismatched, wrong_type
from niceeval_expect._markers import DEFAULT_MARKER, Citation, Marker, read_marker
from niceeval_expect._match import ValueMatch
from niceeval_expect._sources import examined, options, plural
from niceeval_expect._spec import register

__all__ = ["cites_only", "marker_too_slow"]

_SEPARATOR: Final = re.compile(r"[,;]")
_RANGE: Final = re.compile(r"\s*[-\u2013\u2014]\s*")
_MAX_ID_DIGITS: Final = 4_000
_MAX_RANGE: Final = 1_000


def marker_too_slow(marker: Marker, subject: str, pointer: str) -> Evaluation:
    """Return the evaluation of a search for citations that was given up."""
    reason = f"the marker {marker.source!r:.80} exceeded its time budget"
    return errored(reason, pointer, code="budget", received=subject)


@attrs.frozen(eq=False, repr=False)
class _CitesOnly(ValueMatch):
    _spec_name = "cites_only"
    family = "referential"
    _ids: tuple[str | int, ...]
    _marker: Marker
    _min_citations: int
    _texts: frozenset[str]
    _numbers: frozenset[int]

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"retrieved_ids": list(self._ids), **self._marker.args()}
        if self._min_citations:
            args["min_citations"] = self._min_citations
        return args

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        try:
            found = self._marker.find(subject)
        except TimeoutError:
            return marker_too_slow(self._marker, subject, pointer)
        cited = [(name, citation) for citation in found for name in self._names(citation)]
        invented = [(name, citation) for name, citation in cited if not self._knows(name)]
        if invented:
            return self._explain(invented, len(cited), subject, pointer)
        if len(cited) < self._min_citations:
            message = f"holds {plural(len(cited), 'citation')}, at least {self._min_citations:,} wanted"
            return mismatched("no-citation", message, pointer, received=subject, examined=len(cited))
        return examined(len(cited), "citation")

    def _names(self, citation: Citation) -> list[str]:
        """Return the ids that one marker cites: all of it, where that is an id that holds a comma."""
        if citation.text in self._texts:
            return [citation.text]
        names = [name for part in _SEPARATOR.split(citation.text) if (name := part.strip())]
        if self._marker.source != DEFAULT_MARKER:
            return names
        return [each for name in names for each in _numbers(name)]

    def _knows(self, name: str) -> bool:
        if name in self._texts:
            return True
        return name.isdecimal() and len(name) < _MAX_ID_DIGITS and int(name) in self._numbers

    def _explain(self, invented: list[tuple[str, Citation]], total: int, text: str, pointer: str) -> Evaluation:
        places: dict[str, list[int]] = {}
        for name, citation in invented:
            places.setdefault(name, []).append(citation.start)
        children = [
            Diagnostic("not-retrieved", f"{cut_text(name, 80)!r} is cited {_where(indexes)}", pointer)
            for name, indexes in list(places.items())[:MAX_SAMPLES]
        ]
        name, citation = invented[0]
        was = (
            f"{len(invented):,} of {plural(total, 'citation')} {'was' if len(invented) == 1 else 'were'} not retrieved"
        )
        message = f"{was}: {cut_text(name, 80)!r} at index {citation.start:,}"
        return mismatched(
            "not-retrieved",
            message,
            pointer,
            expected=list(self._ids),
            received=cut_text(text, around=citation.start),
            children=children if len(places) > 1 else (),
            examined=total,
            truncated=len(places) > MAX_SAMPLES,
        )


def _numbers(name: str) -> Iterable[str]:
    """Return the numbers of a range such as ``2-5``; what is no range, or an unlikely one, as it is."""
    ends = _RANGE.split(name)
    if len(ends) != 2 or max(map(len, ends)) > 18:
        return (name,)
    low, high = int(ends[0]), int(ends[1])
    return map(str, range(low, high + 1)) if 0 <= high - low < _MAX_RANGE else (name,)


def _where(indexes: list[int]) -> str:
    first = f"at index {indexes[0]:,}"
    return first if len(indexes) == 1 else f"{len(indexes):,} times, first {first}"


def cites_only(
    retrieved_ids: Iterable[str | int], /, *, marker: str = DEFAULT_MARKER, min_citations: int = 0
) -> ValueMatch:
    r"""Match a text in which every cited id is one that was retrieved.

    An id in the answer that was not handed to its author is invented: whatever the wording around it, it mismatches
    with code ``not-retrieved``. Ids compare as text; an int id equals a marker of that value (``[07]`` is 7). A text
    that cites nothing matches, examined 0, unless `min_citations` asks for some.

    It is blind to what the cited document says, to a claim without a citation (`every_claim_cited`), and to citations
    that the marker does not find.

    Args:
        retrieved_ids: The ids of what was retrieved. An empty list is fine: then every citation is invented.
        marker: A regular expression for a citation. Its groups capture the id, or several between commas or
            semicolons; without groups all of it is the id. By default a number in square brackets, several, or a
            range such as ``[2-5]``, which cites each number in it.
        min_citations: How many citations there must be, 0 or more; fewer mismatch with code ``no-citation``.

    Raises:
        TypeError: If an id is neither text nor int, or another argument has the wrong type.
        ValueError: If an id is blank or one that the usual marker cannot find, the marker is no regular expression or
            is found in the empty text, or `min_citations` is negative.

    >>> from niceeval_expect import cites_only
    >>> cites_only([4102, 4188]).evaluate("Refunds take 30 days [4102].").outcome
    'matched'
    >>> cites_only([4102, 4188]).evaluate("Refunds take 30 days [3901].").diagnostic.message
    "1 of 1 citation was not retrieved: '3901' at index 21"
    >>> cites_only(["doc-a"], marker=r"\((doc-\w+)\)").evaluate("Thirty days (doc-b).").outcome
    'mismatched'
    """
    owner = "cites_only()"
    ids = _read_ids(retrieved_ids)
    read = read_marker(owner, marker)
    for each in ids:
        if marker == DEFAULT_MARKER and isinstance(each, str) and not each.isdecimal():
            example = r"marker=r'\[([\w-]+)\]'"
            raise ValueError(
                f"{owner} got the id {each!r:.200}, but the usual marker finds numbers only; give {example}"
            )
    if isinstance(min_citations, bool) or not isinstance(min_citations, int):
        raise TypeError(f"{owner} takes min_citations= as a whole number, got {min_citations!r:.200}")
    if min_citations < 0:
        raise ValueError(f"{owner} takes min_citations= of 0 or more, got {min_citations}")
    texts = frozenset(each for each in ids if isinstance(each, str))
    numbers = frozenset(each for each in ids if isinstance(each, int))
    return _CitesOnly(ids, read, min_citations, texts, numbers)


def _read_ids(retrieved_ids: object) -> tuple[str | int, ...]:
    if isinstance(retrieved_ids, str | bytes | Mapping) or not isinstance(retrieved_ids, Iterable):
        raise TypeError(f"cites_only() takes a list of retrieved ids, got {retrieved_ids!r:.200}; write [id, ...]")
    given = sorted(retrieved_ids, key=repr) if isinstance(retrieved_ids, set | frozenset) else retrieved_ids
    ids: list[str | int] = []
    for each in given:
        if isinstance(each, bool) or not isinstance(each, str | int):
            raise TypeError(f"cites_only() takes ids that are text or whole numbers, got {each!r:.200}")
        if isinstance(each, str) and not each.strip():
            raise ValueError(f"cites_only() got the blank id {each!r}; leave it out or give what it stands for")
        ids.append(each)
    return tuple(ids)


register("cites_only", lambda args: cites_only(args["retrieved_ids"], **options(args, "retrieved_ids")))
