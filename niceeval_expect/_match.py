"""Match and its kinds: immutable rules that compare one subject, compose, and are data.

How a match is written::

    @attrs.frozen(eq=False, repr=False)
    class _Includes(ValueMatch):
        _spec_name = "includes"
        _text: str

        def _args(self) -> dict[str, object]:
            return {"text": self._text}

        def _evaluate(self, subject: object, pointer: str) -> Evaluation: ...


    def includes(needle: str, /) -> ValueMatch:
        ...                                   # reject bad arguments here
        return _Includes(needle)


    register("includes", lambda args: includes(args["text"]))

`_evaluate` is pure, never sees an absent subject, and reports pointers below the given one. A part of another match is
evaluated with `evaluate_part`, which turns absent values and exceptions into their outcomes.
"""

import importlib
from collections.abc import Callable
from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, TypeAlias, cast

from typing_extensions import TypeVar

from niceeval_expect._calls import Replay, replaying
from niceeval_expect._evaluation import (
    Absent,
    AbsentText,
    Evaluation,
    bounded,
    errored,
    unavailable,
)
from niceeval_expect._freeze import call_repr
from niceeval_expect._spec import argument_to_data, canonical, canonical_call, digest, is_rebuildable

__all__ = [
    "COMPOSE",
    "BooleanMatch",
    "Match",
    "ParsingMatch",
    "ValueMatch",
    "begin",
    "compose",
    "evaluate_part",
    "finish",
]

V = TypeVar("V")
Family: TypeAlias = Literal["structural", "lexical", "referential", "judged"]

_set: Final = object.__setattr__


COMPOSE: Final[dict[str, Callable[..., Any]]] = {}
"""The composition functions, filled in by the algebra module: the operators of every domain go through it."""


def compose(operation: str, *matches: object) -> Any:
    """Compose matches by ``all_of``, ``any_of`` or ``not_``; the algebra is loaded when it is first needed."""
    if not COMPOSE:
        importlib.import_module("niceeval_expect._algebra")
    return COMPOSE[operation](*matches)


class Match:
    """A reusable, immutable, deterministic, side-effect-free rule that compares one subject.

    Two matches are equal when their fingerprints are. A match has no truth value.

    >>> from niceeval_expect import equals, from_spec, includes
    >>> includes("done").spec()
    {'match': 'includes', 'text': 'done'}
    >>> from_spec(includes("done").spec()) == includes("done")
    True
    >>> equals(True) == equals(1)
    False
    """

    __slots__ = ("_awaits", "_canonical", "_digest", "_kept")
    _spec_name: ClassVar[str]
    _positional: ClassVar[int] = 1
    family: Family = "structural"
    """What kind of property is read: structural, lexical, referential or judged. A class sets its own."""
    _awaits: bool
    _canonical: str
    _digest: str
    _kept: tuple[str, str, bool]

    def spec(self) -> dict[str, Any]:
        """Return the complete configuration as JSON-safe data, from which `from_spec` rebuilds an equal match."""
        return {"match": self._spec_name, **{key: argument_to_data(value) for key, value in self._args().items()}}

    @property
    def fingerprint(self) -> str:
        """A digest of the canonical spec: 32 hexadecimal digits."""
        known: str | None = getattr(self, "_digest", None)
        if known is None:
            known = digest(self.canonical_spec)
            _set(self, "_digest", known)
        return known

    @property
    def canonical_spec(self) -> str:
        """The spec as canonical JSON text: ASCII, sorted keys."""
        known: str | None = getattr(self, "_canonical", None)
        if known is not None:
            return known
        # Where the spec is just the name and the arguments, the texts of the matches inside are reused.
        own = type(self)
        text = canonical_call(own._spec_name, self._args()) if own.spec is Match.spec else canonical(self.spec())
        _set(self, "_canonical", text)
        return text

    @property
    def _may_await(self) -> bool:
        """Whether evaluating may call author code that returns a coroutine."""
        known: bool | None = getattr(self, "_awaits", None)
        if known is None:
            known = False
            for part in self._parts():
                if isinstance(part, Match) and part._may_await:
                    known = True
                    break
            _set(self, "_awaits", known)
        return known

    @property
    def _as_kept(self) -> tuple[str, str, bool]:
        """What a record keeps: the fingerprint, the canonical spec, and whether the match can be rebuilt from that."""
        known: tuple[str, str, bool] | None = getattr(self, "_kept", None)
        if known is None:
            spec = self.canonical_spec
            known = (self.fingerprint, spec, is_rebuildable(spec))
            _set(self, "_kept", known)
        return known

    @property
    def reaches_outside(self) -> bool:
        """Whether the answer is compared with something its author did not produce, or only with itself."""
        return any(isinstance(part, Match) and part.reaches_outside for part in self._parts())

    def _parts(self) -> tuple[object, ...]:
        """The matches inside this one."""
        return ()

    def _args(self) -> dict[str, object]:
        """The arguments by their names in the spec, those at their default left out."""
        raise TypeError(f"{type(self).__name__} must define _args()")

    def __repr__(self) -> str:
        args = self._args()
        values = list(args.values())[: self._positional]
        options = dict(list(args.items())[self._positional :])
        return call_repr(self._spec_name, *values, **options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Match):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a match has no truth value: {self!r}. Compose with & | ~ (or all_of, any_of, not_), "
            "not with and / or / not; to compare a value, call .evaluate(subject)."
        )


class _Evaluates(Match):
    __slots__ = ()

    def evaluate(self, subject: object, /) -> Evaluation:
        """Compare `subject` and say how it came out; nothing is remembered.

        Args:
            subject: Any value. An `Absent` one makes the evaluation unavailable.

        Raises:
            TypeError: If author code inside returns a coroutine: use ``await match.evaluate_async(subject)``.
        """
        if self._may_await:
            replay = Replay()
            evaluation = self._replayed(subject, replay)
            if replay.pending:
                replay.discard()
                raise TypeError(
                    f"{self!r} holds an async function; use `await match.evaluate_async(subject)` (check() does)."
                )
            return evaluation
        return bounded(evaluate_part(self, subject, ""))

    async def evaluate_async(self, subject: object, /) -> Evaluation:
        """Compare `subject`, awaiting any async predicates inside, each exactly once."""
        evaluation, replay = begin(self, subject)
        return evaluation if replay is None else await finish(self, subject, replay)

    def _replayed(self, subject: object, replay: Replay) -> Evaluation:
        with replaying(replay):
            return bounded(evaluate_part(self, subject, ""))

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        raise TypeError(f"{type(self).__name__} must define _evaluate(subject, pointer)")


def evaluate_part(match: _Evaluates, subject: object, pointer: str) -> Evaluation:
    """Evaluate one match of a larger one at `pointer`: absence is unavailable, an exception is errored."""
    kind = type(subject)
    if kind is Absent or kind is AbsentText:
        return unavailable(cast(Absent, subject).reason, pointer)
    try:
        said: object = match._evaluate(subject, pointer)
        if type(said) is Evaluation:
            return said
        reason = f"{match._spec_name} returned {said!r:.200}, a {type(said).__name__}; a match returns an Evaluation"
        return errored(reason, pointer, code="not-an-evaluation")
    except RecursionError:
        return errored("the value is nested too deeply to be compared", pointer, code="depth")
    except Exception as error:
        return errored(f"{match._spec_name} raised {type(error).__name__}: {error}", pointer, exception=error)


def begin(match: _Evaluates, subject: object) -> tuple[Evaluation, Replay | None]:
    """Start an evaluation: the finished one and None, or a provisional one and what must be awaited first."""
    if not match._may_await:
        return bounded(evaluate_part(match, subject, "")), None
    replay = Replay()
    evaluation = match._replayed(subject, replay)
    return evaluation, (replay if replay.pending else None)


async def finish(match: _Evaluates, subject: object, replay: Replay) -> Evaluation:
    """Await what `begin` left pending and return the evaluation."""
    while replay.pending:
        await replay.settle()
        evaluation = match._replayed(subject, replay)
    return evaluation


class BooleanMatch(_Evaluates):
    """A match that yields matched, mismatched, unavailable or errored."""

    __slots__ = ()
    _domain: ClassVar[str]


class ValueMatch(BooleanMatch):
    """A boolean match over any value."""

    __slots__ = ()
    _domain = "value"

    def __and__(self, other: "ValueMatch", /) -> "ValueMatch":
        """Return the match that needs both."""
        return cast(ValueMatch, compose("all_of", self, other))

    def __or__(self, other: "ValueMatch", /) -> "ValueMatch":
        """Return the match that needs one of the two."""
        return cast(ValueMatch, compose("any_of", self, other))

    def __invert__(self) -> "ValueMatch":
        """Return the denial; missing evidence stays missing."""
        return cast(ValueMatch, compose("not_", self))


class ParsingMatch(ValueMatch, Generic[V]):
    """A value match that yields a value other than its subject: ``matches(...)``, ``json_text(...)``."""

    __slots__ = ()

    def __and__(self, other: ValueMatch, /) -> "ParsingMatch[V]":
        """Return the match that needs both, and still yields the parsed value."""
        return cast(ParsingMatch[V], compose("all_of", self, other))
