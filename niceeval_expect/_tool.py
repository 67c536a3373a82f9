"""The match over one tool call: its name, its arguments, its result, all at once."""

from collections.abc import Mapping
from typing import Any, final

import attrs

from niceeval_expect._counted import CountedToolMatch, ToolCallLike, ToolMatch
from niceeval_expect._evaluation import MATCHED, Diagnostic, Evaluation, mismatched, unavailable, wrong_type
from niceeval_expect._facets import Facet, fold_facets, plain_or_match, plain_value, plainly_differ, required_value
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import ValueMatch, evaluate_part
from niceeval_expect._spec import register
from niceeval_expect._tool_names import TOOL_STATUSES, ToolStatus, is_that_tool

__all__ = ["CountedToolMatch", "ToolCallLike", "ToolMatch", "as_tool_match", "plain_name", "tool_match"]


@final
@attrs.frozen(eq=False, repr=False)
class _ToolMatch(ToolMatch):
    _spec_name = "tool_match"
    _looks_back = False
    _needs_name = True
    name: str
    input: ValueMatch | None
    output: ValueMatch | None
    status: str | None
    server: str | None

    def _args(self) -> dict[str, object]:
        given = {"input": self.input, "output": self.output, "status": self.status, "server": self.server}
        return {"name": self.name, **{key: value for key, value in given.items() if value is not None}}

    def _parts(self) -> tuple[object, ...]:
        return tuple(part for part in (self.input, self.output) if part is not None)

    def __repr__(self) -> str:
        options = {key: plain_value(value) for key, value in self._args().items() if key != "name"}
        return call_repr("tool_match", self.name, **options)

    def _names(self, call: ToolCallLike) -> bool | None:
        return is_that_tool(self.name, self.server, call.name, call.server)

    def _rejects(self, call: ToolCallLike) -> bool:
        if is_that_tool(self.name, self.server, call.name, call.server) is False:
            return True
        if self.status is not None and call.status is not None and call.status != self.status:
            return True
        return plainly_differ(required_value(self.input), call.input) if self.input is not None else False

    def _tools(self) -> tuple[str, ...]:
        return (self.name,)

    def _evaluate(self, subject: Any, pointer: str) -> Evaluation:
        try:
            called, given, output = subject.name, subject.input, subject.output
            status, server = subject.status, subject.server
        except AttributeError:
            return wrong_type("a tool call", subject, pointer)
        if not isinstance(called, str):
            return wrong_type("a tool call", subject, pointer)
        named = is_that_tool(self.name, self.server, called, server)
        if named is False:
            return _another(self.name, self.server, called, server, pointer)
        parts: list[Facet] = []
        if named is None:
            parts.append(("name", _unresolved(self.name, called, pointer)))
        if self.status is not None and status != self.status:
            parts.append(("status", _another_status(self.status, status, f"{pointer}/status")))
        if self.input is not None:
            parts.append(("input", evaluate_part(self.input, given, f"{pointer}/input")))
        if self.output is not None:
            parts.append(("output", evaluate_part(self.output, output, f"{pointer}/output")))
        for _, part in parts:
            if part.outcome != "matched":
                return fold_facets(f"the call of {called}", parts, pointer, self._hint(given))
        return MATCHED

    def _hint(self, given: object) -> str:
        wanted = plain_value(self.input)
        if isinstance(wanted, Mapping) and not wanted and isinstance(given, Mapping) and given:
            return f" (input={{}} means no arguments at all; this call has {', '.join(map(str, given))[:120]})"
        return ""


def _another(wanted: str, server: str | None, called: str, on: str | None, pointer: str) -> Evaluation:
    # On the path of every call of every other tool: built directly, without sampling.
    if called == wanted:
        message = f"{called} was called on server {on}, not on {server}"
        return Evaluation("mismatched", Diagnostic("server", message, f"{pointer}/server", server, on))
    return Evaluation(
        "mismatched",
        Diagnostic("name", f"{called[:120]} was called, not {wanted}", f"{pointer}/name", wanted, called[:240]),
    )


def _unresolved(wanted: str, called: str, pointer: str) -> Evaluation:
    if called == wanted:
        return unavailable(f"nobody reported which server {wanted} is on", f"{pointer}/server", code="server-unknown")
    reason = (
        f"the reported name {called!r} may or may not mean the tool {wanted!r}; "
        f"report the tool's own name with server=, or match the reported name"
    )
    return unavailable(reason, f"{pointer}/name", code="name-unresolved")


def _another_status(wanted: str, status: str | None, pointer: str) -> Evaluation:
    if status is None:
        return unavailable("nobody reported how the call ended", pointer, code="status-unknown")
    return mismatched("status", f"status is {status!r}, not {wanted!r}", pointer, expected=wanted, received=status)


def tool_match(
    name: str,
    /,
    *,
    input: ValueMatch | object = ...,
    output: ValueMatch | object = ...,
    status: ToolStatus | None = None,
    server: str | None = None,
) -> ToolMatch:
    """Match one tool call that is all of this at once.

    A call whose name is another one is mismatched whatever else is unknown of it. Where something that is asked was not
    reported (an input that could not be read, a result that never came, a status, a server, a name that may or may not
    stand for this tool), the match is unavailable.

    Args:
        name: The tool's own name, compared exactly. A call reported as ``mcp__a__b`` matches that very text, and may or
            may not be one of ``b``.
        input: What the parsed arguments are to be: a value match, or a plain value for equality; ``{}`` means no
            arguments at all. Left out: anything.
        output: The same for what the tool returned.
        status: ``"completed"``, ``"failed"``, ``"rejected"`` or ``"pending"``; None for any.
        server: The server that offers the tool; None for any.

    Returns:
        A tool match, to be given to ``called_tool`` and its relatives as it is or with a quantifier.

    Raises:
        TypeError: If an argument is not what it is to be.
        ValueError: If `name` or `server` is blank or `status` is unknown.

    >>> from niceeval import ToolCall
    >>> from niceeval_expect import json_match, tool_match
    >>> lookup = tool_match("lookup_order", input=json_match({"id": "ORD-448192"}))
    >>> lookup.evaluate(ToolCall("lookup_order", {"id": "ORD-448192", "verbose": True})).outcome
    'matched'
    >>> lookup.evaluate(ToolCall("lookup_order")).reason
    "input of the call of lookup_order: the call's input was not reported"
    """
    for label, value in (("name", name), ("server", server)):
        if not isinstance(value, str) and (value is not None or label == "name"):
            raise TypeError(f"tool_match() {label} is text, got {value!r}")
        if value is not None and not value.strip():
            raise ValueError(f"tool_match() {label} is blank: give the {'tool' if label == 'name' else label}'s name")
    if status is not None and status not in TOOL_STATUSES:
        raise ValueError(f"tool_match() status is one of {', '.join(TOOL_STATUSES)}, or None for any; got {status!r}")
    return _ToolMatch(
        name,
        None if input is ... else plain_or_match("tool_match() input", input),
        None if output is ... else plain_or_match("tool_match() output", output),
        status,
        server,
    )


register("tool_match", lambda args: tool_match(args["name"], **{k: v for k, v in args.items() if k != "name"}))


def as_tool_match(call: str, value: object) -> ToolMatch:
    """Return the tool match that is meant by an argument: itself, or ``tool_match(name)`` for a plain name."""
    if isinstance(value, ToolMatch):
        return value
    if isinstance(value, str):
        return tool_match(value)
    if isinstance(value, CountedToolMatch):
        raise TypeError(f"{call} takes a tool match without a quantifier, got {value!r}")
    raise TypeError(f"{call} takes a tool match or a tool's name, got {value!r}")


def plain_name(tool: ToolMatch | CountedToolMatch) -> object:
    """Return the tool's name where the match asks for nothing else, as an author writes it; else the match."""
    return tool.name if isinstance(tool, _ToolMatch) and len(tool._args()) == 1 else tool
