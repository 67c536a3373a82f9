"""An eval as a value: its id, its test, its cases, and where it is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias

import attrs
from typing_extensions import TypeVar

from niceeval.evals.cases import CaseSource

if TYPE_CHECKING:
    from niceeval.context import EvalContext

__all__ = ["Eval", "Site", "Style", "Test", "is_recording", "record_eval", "recording"]

CT = TypeVar("CT", default=None)
Style: TypeAlias = Literal["pass", "score"]
Test: TypeAlias = Callable[..., Coroutine[Any, Any, None]]

_recorded: ContextVar[list[Eval[Any]] | None] = ContextVar("niceeval_recorded", default=None)


class Site(NamedTuple):
    """Where an eval is written."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@attrs.frozen(eq=False, repr=False)
class Eval(Generic[CT]):
    """A named test over one or many cases; `define_eval` and `define_score_eval` make it.

    `id` is the function's name or the given `id=`; an eval collected from a file has the file's path before it.
    """

    id: str
    style: Style
    fn: Test
    source: Site
    tags: tuple[str, ...] = ()
    named: bool = False  # whether the author gave the id
    attempts: int | None = None  # of each case; None for the number of the experiment or the run
    min_rate: float | None = None  # the pass rate that the eval is judged by, in place of each attempt
    setup: Callable[..., Any] | None = None  # around each attempt: before the test
    teardown: Callable[..., Any] | None = None  # and after it, however it ends
    _cases: CaseSource | None = None

    def __call__(self, t: EvalContext, /, *case: CT) -> Awaitable[None]:
        """Start the test on one case; an eval without cases takes none."""
        return self.fn(t, *case)

    @property
    def has_cases(self) -> bool:
        """Whether the test takes a case."""
        return self._cases is not None

    def iter_cases(self) -> list[tuple[str | None, object]]:
        """Return `(id, case)` for every case, in order; an eval without cases has the one pair `(None, None)`.

        Raises:
            EvalLoadError: there is no case, an id is used twice, or the cases cannot be read.

        Example:
            >>> from niceeval.evals.define import define_eval
            >>> @define_eval(cases=[{"id": "refunded"}, {"question": "Where is it?"}])
            ... async def order_lookup(t, case): ...
            >>> [case_id for case_id, _ in order_lookup.iter_cases()]
            ['refunded', '1']

        """
        return [(None, None)] if self._cases is None else [*self._cases.pairs()]

    def only(self, case_ids: Collection[str]) -> Eval[CT]:
        """Return the same eval narrowed to the cases with these ids."""
        return self if self._cases is None else attrs.evolve(self, cases=self._cases.only(case_ids))

    def __repr__(self) -> str:
        """Read like `<Eval orders/order_lookup, pass-style>`."""
        return f"<Eval {self.id}, {self.style}-style>"


@contextmanager
def recording() -> Iterator[list[Eval[Any]]]:
    """Collect every eval that is defined inside the block."""
    made: list[Eval[Any]] = []
    token = _recorded.set(made)
    try:
        yield made
    finally:
        _recorded.reset(token)


def record_eval(made: Eval[Any]) -> None:
    """Add an eval to the list of the innermost `recording()`, if there is one."""
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append(made)


def is_recording() -> bool:
    """Whether evals are being collected from a file."""
    return _recorded.get() is not None
