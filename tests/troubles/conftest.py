"""Runs an eval, records it, and reads it back: what these tests look at is what the record says."""

from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext, define_eval, run_eval
from niceeval.record import Record

Body = Callable[[EvalContext], Coroutine[Any, Any, None]]
Recorded = Callable[..., Awaitable[AttemptResult]]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Return a function that runs the body of an eval once and returns its attempt as the record has it."""

    async def run(body: Body, agent: Any = None, **options: Any) -> AttemptResult:
        live = await run_eval(define_eval("trouble", test=body), agent=agent, record=tmp_path, **options)
        with Record.open(tmp_path) as record:
            (stored,) = record.attempts()
        (only,) = live.attempts
        assert stored == only
        return stored

    return run
