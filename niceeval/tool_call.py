"""One tool call of an agent: what was asked, what came back, and what nobody said."""

import copy
from typing import Any, Final, final

import attrs

from niceeval_expect._evaluation import Absent
from niceeval_expect._freeze import ATOMS, freeze
from niceeval_expect._tool_names import TOOL_STATUSES, ToolStatus

__all__ = ["ToolCall", "ToolStatus", "private_copy"]

_SHOWN: Final = 200

NO_INPUT: Final = Absent("the call's input was not reported")
NO_RESULT: Final = Absent("no result yet")
NO_OUTPUT: Final = Absent("no output was reported")


@final
class _NotGiven:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN: Final[Any] = _NotGiven()


def private_copy(value: Any) -> Any:
    """Return a copy that later changes to `value` cannot reach, or `value` where it cannot be copied."""
    if type(value) is dict:
        for item in value.values():
            if type(item) not in ATOMS:
                break
        else:
            return value.copy()
    try:
        return freeze(value)
    except ValueError:
        pass
    try:
        return copy.deepcopy(value)  # follows cycles
    except Exception:
        # Nested beyond what Python can walk: kept as it is, and the codec says so when it is stored.
        return value


@final
@attrs.frozen(init=False, eq=True, hash=False, repr=False)
class ToolCall:
    """One call of a tool, as far as it was reported.

    A call with neither an output nor a status has no result yet: it is pending. A call with an output whose status
    nobody reported has the status None, which means unknown.

    Args:
        name: The tool's resolved name, not blank.
        input: The parsed arguments. Left out, they were not reported, which is not the same as ``{}``.
        output: What the tool returned, as it was, text included. Left out, no result was reported.
        status: ``"completed"``, ``"failed"``, ``"rejected"`` or ``"pending"``; None where it is unknown.
        id: The provider's id of the call, if it has one.
        server: The server that offers the tool, if it is known.

    Attributes:
        raw_input: The text of arguments that could not be read; `input` then says why.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The name is blank, the status is unknown, or a pending call has an output.

    >>> call = ToolCall("lookup_order", {"id": "ORD-448192"})
    >>> call.status, call.output
    ('pending', Absent(reason='no result yet'))
    >>> ToolCall("lookup_order", {"id": "ORD-448192"}, "not found", status="failed")
    ToolCall('lookup_order', {'id': 'ORD-448192'}, 'not found', status='failed')
    """

    name: str
    input: Any
    output: Any
    status: ToolStatus | None
    id: str | None
    server: str | None
    raw_input: str | None

    def __init__(
        self,
        name: str,
        input: Any = NOT_GIVEN,
        output: Any = NOT_GIVEN,
        *,
        status: ToolStatus | None = None,
        id: str | None = None,
        server: str | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"ToolCall() name is the tool's name as text, got {type(name).__name__}")
        if not name.strip():
            raise ValueError("ToolCall() name is blank: give the name of the tool that was called")
        if status is not None and status not in TOOL_STATUSES:
            known = ", ".join(TOOL_STATUSES)
            raise ValueError(f"ToolCall() status is one of {known}, or None for unknown; got {status!r}")
        if (id is not None and not isinstance(id, str)) or (server is not None and not isinstance(server, str)):
            raise TypeError(f"ToolCall() id and server are text or None, got id={id!r} and server={server!r}")
        if output is NOT_GIVEN:
            if status is None:
                status = "pending"
            output = NO_RESULT if status == "pending" else NO_OUTPUT
        elif type(output) is not Absent:
            if status == "pending":
                raise ValueError(f"ToolCall({name!r}) has an output, so it is not pending: leave status out")
            if type(output) is not str:
                output = private_copy(output)
        arguments = NO_INPUT if input is NOT_GIVEN else private_copy(input)
        self.__attrs_init__(name, arguments, output, status, id, server, None)

    @classmethod
    def unreadable(
        cls,
        name: str,
        raw_input: str,
        reason: str,
        output: Any = NOT_GIVEN,
        *,
        status: ToolStatus | None = None,
        id: str | None = None,
        server: str | None = None,
    ) -> "ToolCall":
        """Return a call that was made with arguments nobody could read: the text is kept, the input is unavailable.

        >>> call = ToolCall.unreadable("weather", '{"city": "Par', "the arguments end inside a string")
        >>> call.input, call.raw_input
        (Absent(reason='the arguments end inside a string'), '{"city": "Par')
        """
        call = cls(name, Absent(reason), output, status=status, id=id, server=server)
        object.__setattr__(call, "raw_input", raw_input)
        return call

    def with_status(self, status: ToolStatus) -> "ToolCall":
        """Return the same call with a status that its reader knows."""
        call = ToolCall(self.name, self.input, self.output, status=status, id=self.id, server=self.server)
        object.__setattr__(call, "raw_input", self.raw_input)
        return call

    def __hash__(self) -> int:
        """Equal calls hash alike; input and output are left out, as they need not be hashable."""
        return hash((self.name, self.id, self.status, self.server))

    def __repr__(self) -> str:
        """Read like the call that made it, bounded, without what follows from the rest."""
        parts = [repr(self.name)]
        parts += [] if isinstance(self.input, Absent) else [_shown(self.input)]
        if not isinstance(self.output, Absent):
            parts.append(f"{'output=' if len(parts) == 1 else ''}{_shown(self.output)}")
        for label in ("status", "id", "server", "raw_input"):
            value = getattr(self, label)
            if value is not None and not (label == "status" and self.output == NO_RESULT):
                parts.append(f"{label}={_shown(value)}")
        return f"ToolCall({', '.join(parts)})"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
