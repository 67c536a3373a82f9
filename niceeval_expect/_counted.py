"""The kind of matches over one tool call, and their quantifiers: how many calls of a scope are to be like that."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Never, Protocol, cast, final

import attrs

from niceeval_expect._count import count_argument
from niceeval_expect._facets import parts_reject
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import BooleanMatch, Family, Match, compose
from niceeval_expect._spec import register

__all__ = ["CountedToolMatch", "ToolCallLike", "ToolMatch"]


class ToolCallLike(Protocol):
    """What a tool match reads of a call; an unknown input or output is `Absent(reason)`, an unknown status None."""

    @property
    def name(self) -> str:
        """The tool's name, as it was reported."""

    @property
    def input(self) -> Any:
        """The parsed arguments."""

    @property
    def output(self) -> Any:
        """What the tool returned."""

    @property
    def status(self) -> str | None:
        """How the call ended, so far."""

    @property
    def server(self) -> str | None:
        """The server that offers the tool."""


class ToolMatch(BooleanMatch):
    """A boolean match over one tool call; its quantifiers say how many calls of a scope are to be like that."""

    __slots__ = ()
    _domain = "tool"
    _needs_name: ClassVar[bool] = False
    """Whether `_rejects` is true of every call that `_names` is false of."""

    def __and__(self, other: "ToolMatch", /) -> "ToolMatch":
        """Return the match that needs both, of the same call."""
        return cast(ToolMatch, compose("all_of", self, other))

    def __or__(self, other: "ToolMatch", /) -> "ToolMatch":
        """Return the match that needs one of the two."""
        return cast(ToolMatch, compose("any_of", self, other))

    def __invert__(self) -> "ToolMatch":
        """Return the denial; missing evidence stays missing."""
        return cast(ToolMatch, compose("not_", self))

    def exactly(self, n: int, /) -> "CountedToolMatch":
        """Return the claim that exactly `n` calls are like this.

        Args:
            n: At least 1; for none, say ``not_called_tool``.

        >>> from niceeval_expect import tool_match
        >>> tool_match("lookup_order").exactly(1)
        tool_match('lookup_order').exactly(1)
        """
        count = count_argument("exactly()", n, least=1, instead=_NONE)
        return CountedToolMatch(self, "exactly", count, count)

    def at_least(self, n: int, /) -> "CountedToolMatch":
        """Return the claim that `n` or more calls are like this.

        Args:
            n: At least 1; 0 or more is always true.
        """
        return CountedToolMatch(self, "at_least", count_argument("at_least()", n, least=1, instead=_NONE), None)

    def at_most(self, n: int, /) -> "CountedToolMatch":
        """Return the claim that no more than `n` calls are like this; none at all is fine.

        Args:
            n: At least 1; for none, say ``not_called_tool``.
        """
        return CountedToolMatch(self, "at_most", 0, count_argument("at_most()", n, least=1, instead=_NONE))

    def between(self, low: int, high: int, /) -> "CountedToolMatch":
        """Return the claim that from `low` to `high` calls are like this, both included.

        Args:
            low: At least 0.
            high: At least 1, and at least `low`.
        """
        least = count_argument("between() low", low)
        most = count_argument("between() high", high, least=1, instead=_NONE)
        if least > most:
            raise ValueError(f"between() takes the lower bound first, got between({low}, {high})")
        return CountedToolMatch(self, "between", least, most)

    def every(self, *, if_any: bool = False) -> "CountedToolMatch":
        """Return the claim that every call of a tool named here is like this, and that there is at least one.

        Args:
            if_any: Whether the claim also holds when no such tool was called.

        >>> from niceeval_expect import tool_match
        >>> tool_match("refund", status="completed").every(if_any=True)
        tool_match('refund', status='completed').every(if_any=True)
        """
        if not isinstance(if_any, bool):
            raise TypeError(f"every() if_any is True or False, got {if_any!r}")
        return CountedToolMatch(self, "every", 0 if if_any else 1, None)

    @property
    def _looks_back(self) -> bool:
        """Whether this match asks what the agent had been shown before the call."""
        return any(part._looks_back for part in self._parts() if isinstance(part, ToolMatch))

    def _names(self, call: ToolCallLike) -> bool | None:
        """Tell whether this match names the tool of the call, whatever else it asks; None if that cannot be told."""
        answers = {part._names(call) for part in self._parts() if isinstance(part, ToolMatch)}
        return True if True in answers else None if None in answers else False

    def _rejects(self, call: ToolCallLike) -> bool:
        """Tell, at little cost and without author code, whether the call certainly mismatches, and not for its type.

        False where it takes an evaluation to say.
        """
        return parts_reject(self, [part._rejects(call) for part in self._parts() if isinstance(part, ToolMatch)])

    def _tools(self) -> tuple[str, ...]:
        """The names of the tools that this match names, each once."""
        names = [name for part in self._parts() if isinstance(part, ToolMatch) for name in part._tools()]
        return tuple(dict.fromkeys(names))


_NONE: Final = "to claim that there is none, say not_called_tool(match)"


@final
@attrs.frozen(eq=False, repr=False)
class CountedToolMatch(Match):
    """A tool match with a quantifier: a claim about all calls of a scope, which no longer composes."""

    _spec_name = "counted_tool_match"
    of: ToolMatch
    quantifier: Literal["exactly", "at_least", "at_most", "between", "every"]
    low: int
    high: int | None
    family: Family = attrs.field(init=False)

    @family.default
    def _counted_family(self) -> Family:
        return self.of.family

    def _args(self) -> dict[str, object]:
        return {"of": self.of, "quantifier": self.quantifier, "low": self.low, "high": self.high}

    def _parts(self) -> tuple[object, ...]:
        return (self.of,)

    def __repr__(self) -> str:
        if self.quantifier == "every":
            return f"{self.of!r}.every({'' if self.low else 'if_any=True'})"
        bounds = {"exactly": (self.low,), "at_least": (self.low,), "at_most": (self.high,)}
        return f"{self.of!r}.{call_repr(self.quantifier, *bounds.get(self.quantifier, (self.low, self.high)))}"

    if not TYPE_CHECKING:  # a type checker is to see that these do not exist

        def _refuse(self, *args: object, **options: object) -> Never:
            raise TypeError(
                f"{self!r} counts calls already: it takes no second quantifier and does not compose with & | ~. "
                "Compose or quantify the tool match inside, or register each claim with a called_tool() of its own."
            )

        __and__ = __rand__ = __or__ = __ror__ = __invert__ = _refuse
        exactly = at_least = at_most = between = every = _refuse


def _rebuild_counted(args: Mapping[str, Any]) -> Match:
    match, quantifier, low, high = args["of"], args["quantifier"], args["low"], args["high"]
    if not isinstance(match, ToolMatch):
        raise TypeError(f"it counts a tool match, got {match!r}")
    build: Mapping[object, Callable[[], Match]] = {
        "exactly": lambda: match.exactly(low),
        "at_least": lambda: match.at_least(low),
        "at_most": lambda: match.at_most(high),
        "between": lambda: match.between(low, high),
        "every": lambda: match.every(if_any=not low),
    }
    if quantifier not in build:
        raise TypeError(f"no quantifier is named {quantifier!r}")
    return build[quantifier]()


register("counted_tool_match", _rebuild_counted)
