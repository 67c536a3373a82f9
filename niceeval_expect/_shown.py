"""What an agent had been shown before it made a call: the user's words and the results of earlier calls."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, final

from niceeval_expect._counted import ToolCallLike, ToolMatch
from niceeval_expect._equality import as_json, is_absent, json_key
from niceeval_expect._evaluation import Evaluation
from niceeval_expect._match import evaluate_part
from niceeval_expect._timeline import Moment, Span, TurnTrace, spans

__all__ = ["History", "SeenCall", "Source", "seen_in_turns", "traceable"]

_WORD: Final = re.compile(r"\w+")
# A sign belongs to a number where nothing stands before it; a comma before groups of three is grouping.
_NUMBER: Final = re.compile(r"(?<![\w.,-])[-+−]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?!\w|[.,][0-9])")
_PLAIN_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?")
_MAX_LEAVES: Final = 1_000_000
# Searching a text takes less than a hundredth of the time that splitting it into words does.
_UNINDEXED: Final = 200


@final
class Source:
    """One thing that may have been shown: a user's text, or the result of a call; blind where its content is unknown.

    Attributes:
        ref: The turn or the call.
        when: When it came, at the earliest and at the latest.
        call: The call whose result it is; None for the user's words, and for what nobody reported.
        blind: Why its content is unknown; None where it is known.
    """

    __slots__ = ("_leaves", "_numbers", "blind", "call", "ref", "value", "when")

    def __init__(
        self, ref: str, when: Moment, value: Any, call: ToolCallLike | None = None, blind: str | None = None
    ) -> None:
        self.ref = ref
        self.when = when
        self.value = value
        self.call = call
        self.blind = blind
        self._leaves: list[Any] | None = None
        self._numbers: frozenset[Any] | None = None

    @property
    def leaves(self) -> list[Any]:
        """The texts and the numbers in it."""
        if self._leaves is None:
            self._leaves = list(_leaves(self.value))
        return self._leaves

    @property
    def numbers(self) -> frozenset[Any]:
        """The numbers in it, those in its texts included, as keys of JSON equality."""
        if self._numbers is None:
            found: set[Any] = set()
            for leaf in self.leaves:
                if isinstance(leaf, str):
                    found.update(map(_number, _NUMBER.findall(leaf)))
                else:
                    found.add(json_key(leaf))
            self._numbers = frozenset(found)
        return self._numbers

    def words(self) -> set[str]:
        """Return the words of its texts."""
        return {word for leaf in self.leaves if isinstance(leaf, str) for word in _WORD.findall(leaf)}

    def holds(self, text: str) -> bool:
        """Tell whether a text occurs in it as a whole."""
        return any(
            isinstance(leaf, str) and text in leaf and _whole(text).search(leaf) is not None for leaf in self.leaves
        )


@final
class History:
    """What was shown in one session, in order; once many arguments were looked up, an index of it."""

    __slots__ = ("_answers", "_by_number", "_by_word", "_looked_up", "blind", "sources")

    def __init__(self, sources: Iterable[Source]) -> None:
        every = list(sources)
        self.sources = [source for source in every if source.blind is None]
        self.blind = [source for source in every if source.blind is not None]
        self._looked_up = 0
        self._by_word: dict[str, list[Source]] | None = None
        self._by_number: dict[Any, list[Source]] | None = None
        self._answers: dict[tuple[int, str], Evaluation] = {}

    def holding(self, value: Any) -> Iterator[Source]:
        """Yield the sources in which a text or a number occurs as a whole."""
        if not isinstance(value, str):
            yield from self._with_number(json_key(value))
            return
        for source in self._near(value):
            if source.holds(value):
                yield source
        if _PLAIN_NUMBER.fullmatch(value):
            yield from self._with_number(_number(value))

    def _with_number(self, number: Any) -> Sequence[Source]:
        if self._by_number is None:
            self._by_number = {}
            for source in self.sources:
                for found in source.numbers:
                    self._by_number.setdefault(found, []).append(source)
        return self._by_number.get(number, ())

    def _near(self, text: str) -> Sequence[Source]:
        """Return the sources worth a look: those with the rarest word of the text, once an index pays."""
        words = _WORD.findall(text)
        self._looked_up += 1
        if self._looked_up <= _UNINDEXED or not words:
            return self.sources
        if self._by_word is None:
            self._by_word = {}
            for source in self.sources:
                for word in source.words():
                    self._by_word.setdefault(word, []).append(source)
        by_word = self._by_word
        return min((by_word.get(word, []) for word in words), key=len)

    def answer(self, match: ToolMatch, source: Source) -> Evaluation:
        """Return what a match says of the call whose result this is, evaluated once."""
        key = (id(match), source.ref)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = evaluate_part(match, source.call, f"/{source.ref}")
        return known


@final
class SeenCall:
    """A call together with what its agent had been shown before it. It reads like the call."""

    __slots__ = ("history", "input", "name", "output", "ref", "server", "span", "status")

    def __init__(self, ref: str, call: ToolCallLike, history: History, span: Span) -> None:
        self.ref = ref
        self.name, self.input, self.output = call.name, call.input, call.output
        self.status, self.server = call.status, call.server
        self.history = history
        self.span = span


def seen_in_turns(
    calls: Iterable[tuple[str, ToolCallLike]], turns: Sequence[TurnTrace]
) -> list[tuple[str, ToolCallLike]]:
    """Return the calls with what was shown before each of them, one history for all calls of a session."""
    known = spans(turns)
    by_session: dict[str, list[TurnTrace]] = {}
    for turn in turns:
        by_session.setdefault(turn.ref.partition(".")[0], []).append(turn)
    histories = {name: History(_sources(group, known)) for name, group in by_session.items()}
    return [(ref, SeenCall(ref, call, histories[ref.partition(".")[0]], known[ref])) for ref, call in calls]


def _sources(turns: Sequence[TurnTrace], known: dict[str, Span]) -> Iterator[Source]:
    begin: float = 0
    for turn in turns:
        said: Moment = (begin, begin)
        blind = None if turn.input is not None else f"what the user said in {turn.ref} is not known in full"
        yield Source(turn.ref, said, turn.input, blind=blind)
        if turn.gap is not None:
            yield Source(turn.ref, said, None, blind=turn.gap)
        for place, call in enumerate(turn.calls):
            ref = f"{turn.ref}.c{place}"
            span = known[ref]
            # A list of calls without events is taken to tell the order in which they were made and answered.
            when = span.finished if turn.events is not None else (span.started[0] + 0.25,) * 2
            if not is_absent(call.output):
                yield Source(ref, when, call.output, call)
            elif call.status != "pending":
                yield Source(ref, when, None, call, f"{ref}: {call.output.reason}")
        begin += len(turn.calls) + len(turn.events or ()) + 2


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the texts, keys included, and the numbers of a value."""
    stack, count = [value], 0
    while stack and count < _MAX_LEAVES:
        item = as_json(stack.pop())
        count += 1
        if isinstance(item, dict):
            stack.extend(item.values())
            stack.extend(item)
        elif isinstance(item, list | tuple | set | frozenset):
            stack.extend(item)
        elif traceable(item):
            yield item


def traceable(value: object) -> bool:
    """Tell whether a value is text or a number, which can be looked for."""
    if isinstance(value, str):
        return bool(value.strip()) and not is_absent(value)
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number(text: str) -> Any:
    return json_key(Decimal(text.replace(",", "").replace("−", "-")))


@lru_cache(maxsize=1024)
def _whole(text: str) -> re.Pattern[str]:
    """Return the pattern of a text that is not part of a longer word, identifier or address."""
    before = r"(?<!\w)(?<!\w[-.@])" if re.match(r"\w", text) else ""
    after = r"(?!\w)(?![-.@]\w)" if re.search(r"\w\Z", text) else ""
    return re.compile(before + re.escape(text) + after)
