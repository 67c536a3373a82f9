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


@final
class Source:
    """One thing that may have been shown: a user's text, or the result of a call; blind where its content is unknown.

    Attributes:
        ref: The turn or the call.
        when: When it came, at the earliest and at the latest.
        call: The call whose result it is; None for the user's words, and for what nobody reported.
        blind: Why its content is unknown; None where it is known.
        numbers: The numbers in it, as keys of JSON equality; filled in when it is first searched.
        texts: The texts in it, likewise.
    """

    __slots__ = ("blind", "call", "numbers", "ref", "texts", "value", "when")

    def __init__(
        self, ref: str, when: Moment, value: Any, call: ToolCallLike | None = None, blind: str | None = None
    ) -> None:
        self.ref = ref
        self.when = when
        self.value = value
        self.call = call
        self.blind = blind
        self.numbers: set[Any] = set()
        self.texts: list[str] = []

    def read(self) -> set[str]:
        """Find the texts and the numbers in it, and return the words of the texts."""
        words: set[str] = set()
        for leaf in _leaves(self.value):
            if isinstance(leaf, str):
                self.texts.append(leaf)
                words.update(_WORD.findall(leaf))
                self.numbers.update(map(_number, _NUMBER.findall(leaf)))
            else:
                self.numbers.add(json_key(leaf))
                words.add(str(leaf))
        return words

    def holds(self, value: Any) -> bool:
        """Tell whether a text or a number occurs in it as a whole."""
        if not isinstance(value, str):
            return json_key(value) in self.numbers
        if _PLAIN_NUMBER.fullmatch(value) and _number(value) in self.numbers:
            return True
        return any(value in text and _whole(value).search(text) is not None for text in self.texts)


@final
class History:
    """What was shown in one session, in order, with an index, so that many arguments can be looked up."""

    __slots__ = ("_answers", "_by_number", "_by_word", "blind", "sources")

    def __init__(self, sources: Iterable[Source]) -> None:
        every = list(sources)
        self.sources = [source for source in every if source.blind is None]
        self.blind = [source for source in every if source.blind is not None]
        self._by_word: dict[str, list[Source]] | None = None
        self._by_number: dict[Any, list[Source]] = {}
        self._answers: dict[tuple[int, str], Evaluation] = {}

    def holding(self, value: Any) -> Iterator[Source]:
        """Yield the sources in which a text or a number occurs as a whole, in order."""
        if self._by_word is None:
            self._by_word = {}
            for source in self.sources:
                for word in source.read():
                    self._by_word.setdefault(word, []).append(source)
                for number in source.numbers:
                    self._by_number.setdefault(number, []).append(source)
        if not isinstance(value, str):
            yield from self._by_number.get(json_key(value), ())
            return
        words = _WORD.findall(value)
        # The rarest word of a text leaves the fewest places to look at.
        lists = [self._by_word.get(word, []) for word in words]
        near: Sequence[Source] = min(lists, key=len) if lists else self.sources
        if _PLAIN_NUMBER.fullmatch(value):
            near = [*near, *self._by_number.get(_number(value), ())]
        seen: set[str] = set()
        for source in near:
            if source.ref not in seen and source.holds(value):
                seen.add(source.ref)
                yield source

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
