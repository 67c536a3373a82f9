"""Where an argument of a call came from: whether the agent had been shown it before, or made it up."""

from collections.abc import Iterable
from typing import Any, Literal, final

import attrs

from niceeval_expect._counted import ToolCallLike, ToolMatch
from niceeval_expect._equality import as_json, is_absent
from niceeval_expect._evaluation import MATCHED, Evaluation, errored, mismatched, unavailable, wrong_type
from niceeval_expect._freeze import show
from niceeval_expect._json import brief
from niceeval_expect._paths import Blocked, Path, Step, parse_path, resolve
from niceeval_expect._pointer import from_segments
from niceeval_expect._shown import SeenCall, Source, traceable
from niceeval_expect._spec import register
from niceeval_expect._tool import as_tool_match

__all__ = ["Argument", "arg"]


@final
@attrs.frozen(eq=False, repr=False)
class _CameFrom(ToolMatch):
    _spec_name = "came_from"
    family = "referential"
    _looks_back = True
    path: Path
    source: ToolMatch | None
    steps: tuple[Step, ...]

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"path": self.path, "source": self.source if self.source is not None else "session"}

    def _parts(self) -> tuple[object, ...]:
        return () if self.source is None else (self.source,)

    def __repr__(self) -> str:
        return f"arg({show(self.path)}).came_from({show(self.source if self.source is not None else 'session')})"

    def _names(self, call: ToolCallLike) -> bool | None:
        # It names no tool itself: what it is composed with does.
        return False

    def _rejects(self, call: ToolCallLike) -> bool:
        return False

    def _tools(self) -> tuple[str, ...]:
        return ()

    def _evaluate(self, subject: Any, pointer: str) -> Evaluation:
        try:
            given = subject.input
        except AttributeError:
            return wrong_type("a tool call", subject, pointer)
        pointer = f"{pointer}/input"
        if is_absent(given):
            return unavailable(given.reason, pointer)
        found = resolve(given, self.steps)
        if isinstance(found, Blocked):
            if found.kind == "absent":
                return unavailable(found.value.reason, pointer + found.pointer)
            if found.kind == "container" and found.is_root:
                return wrong_type("an object of arguments", given, pointer)
            return mismatched("missing", found.sentence(), pointer + found.pointer, expected=repr(self), received=given)
        place = pointer + from_segments(step.key for step in self.steps)
        if is_absent(found):
            return unavailable(found.reason, place)
        values = list(_values(found))
        if not values:
            return wrong_type("text or a number that can be looked for", found, place)
        if not isinstance(subject, SeenCall):
            reason = "what the agent had been shown is only known to claims over a scope, such as called_tool()"
            return unavailable(reason, place, code="no-history")
        return self._trace(values, subject, place)

    def _trace(self, values: list[Any], call: SeenCall, place: str) -> Evaluation:
        """Return whether every value was shown; one that certainly was not decides."""
        doubt: Evaluation | None = None
        for value in values:
            traced = self._look_up(value, call, place)
            if traced.outcome == "mismatched":
                return traced
            if traced.outcome != "matched" and (doubt is None or traced.outcome == "errored"):
                doubt = traced
        return doubt or MATCHED

    def _look_up(self, value: Any, call: SeenCall, place: str) -> Evaluation:
        started = call.span.started
        doubts: list[str] = []
        broken, later = False, ""
        for source in call.history.holding(value):
            if source.ref == call.ref or source.when[0] >= started[1]:
                later = later or ("" if source.ref == call.ref else source.ref)
                continue
            outcome, why = self._counts(source, call)
            if outcome == "mismatched":
                continue
            surely = source.when[1] < started[0]
            if outcome == "matched" and surely:
                return MATCHED
            broken |= outcome == "errored"
            doubts.append(why or f"no event says whether {source.ref} came before")
        doubts += self._unknown(call)
        shown = brief(value)
        if doubts:
            reason = f"{shown} was not seen for certain before {call.ref}: {doubts[0]}"
            return errored(reason, place) if broken else unavailable(reason, place, code="undecided")
        origin = "user's message or earlier result" if self.source is None else f"earlier result of {self.source!r}"
        message = f"{shown} came from nowhere: it is in no {origin}"
        if later:
            message += f"; it first came at {later}, after the call"
        return mismatched("origin", message, place, expected=f"shown before: {origin}", received=value)

    def _counts(self, source: Source, call: SeenCall) -> tuple[str, str | None]:
        """Return whether a source is of the kind that is asked for, and why that is not certain."""
        if self.source is None:
            return "matched", None
        if source.call is None:
            return "mismatched", None
        answer = call.history.answer(self.source, source)
        return answer.outcome, None if answer.outcome == "matched" else f"{source.ref}: {answer.reason}"

    def _unknown(self, call: SeenCall) -> Iterable[str]:
        """Yield why something that was shown before may be missing."""
        for source in call.history.blind:
            if source.when[0] >= call.span.started[1] or source.blind is None or source.ref == call.ref:
                continue
            if self.source is not None and source.call is not None:
                if call.history.answer(self.source, source).outcome == "mismatched":
                    continue
            elif self.source is not None and source.value is None and source.blind.startswith("what the user said"):
                continue
            yield source.blind


def _values(found: Any) -> Iterable[Any]:
    """Yield the texts and numbers of an argument."""
    stack = [found]
    while stack:
        item = as_json(stack.pop())
        if isinstance(item, dict):
            stack.extend(reversed(item.values()))
        elif isinstance(item, list | tuple | set | frozenset):
            stack.extend(reversed(list(item)))
        elif traceable(item):
            yield item


@final
@attrs.frozen
class Argument:
    """An argument of a call, by its path; `came_from` makes a match of it."""

    path: Path

    def came_from(self, source: ToolMatch | str | Literal["session"], /) -> ToolMatch:
        """Match a call whose argument the agent had been shown before it made the call.

        Texts and numbers are looked for as a whole: ``ORD-44`` is not in ``ORD-448192``, and 89 is in ``89.00``. In an
        object or a list each text and each number is looked for; true, false and null are not. Where calls are reported
        without events, one that is listed earlier is taken to have been answered before.

        Blind to: what a system prompt said, which is no evidence; what the agent worked out from what it was shown (a
        sum, another spelling); and a value that occurs by chance.

        Args:
            source: ``"session"`` for anything shown in the session (the user's messages, the results of earlier calls),
                or a tool match or a tool's name for the results of such calls only.

        Returns:
            A tool match, mostly composed with one that names the tool. Only claims over a scope know what was shown:
            evaluated on a call alone it is unavailable.

        Raises:
            TypeError: If `source` is something else, or asks itself where an argument came from.
        """
        if source == "session" and isinstance(source, str):
            return _CameFrom(self.path, None, parse_path(self.path, "arg()"))
        match = as_tool_match("came_from()", source)
        if match._looks_back:
            raise TypeError(f"came_from() takes a match over a call alone, got {match!r}, which looks back itself")
        return _CameFrom(self.path, match, parse_path(self.path, "arg()"))


def arg(path: Path, /) -> Argument:
    """Return one argument of a call, to say where it came from.

    Args:
        path: Its path in the call's input, as for `at`.

    >>> from niceeval_expect import arg, tool_match
    >>> tool_match("issue_refund") & arg("order_id").came_from("lookup_order")
    all_of(tool_match('issue_refund'), arg('order_id').came_from(tool_match('lookup_order')))
    """
    parse_path(path, "arg()")
    return Argument(path)


def _rebuild(args: Any) -> ToolMatch:
    path = args["path"]
    return arg(tuple(path) if isinstance(path, list) else path).came_from(args["source"])


register("came_from", _rebuild)
