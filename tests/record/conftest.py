"""Runs written by hand, as the runner writes them."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import pytest

from niceeval.record.write import RunWriter

Document = dict[str, Any]


class MakeAttempt(Protocol):
    def __call__(self, number: int, status: str = "passed", **fields: Any) -> Document: ...


class WriteRun(Protocol):
    def __call__(self, attempts: Iterable[Document], /, **header: Any) -> RunWriter: ...


@pytest.fixture
def make_attempt() -> MakeAttempt:
    def make(number: int, status: str = "passed", **fields: Any) -> Document:
        return {
            "id": f"{number:012x}",
            "eval": "orders/order_lookup",
            "agent": "plain",
            "attempt": 1,
            "style": "pass",
            "status": status,
            "started": "2026-08-01T10:15:02+00:00",
            "duration": 0.5,
            **fields,
        }

    return make


@pytest.fixture
def make_entry() -> Callable[..., Document]:
    def make(order: int, requirement: str, decision: str = "met", **fields: Any) -> Document:
        outcome = {"met": "matched", "unmet": "mismatched", "undecided": "unavailable"}.get(decision, "matched")
        return {
            "order": order,
            "requirement": requirement,
            "outcome": outcome,
            "decision": decision,
            "match": "f1",
            "subject": "d1",
            "file": "evals/orders.py",
            "line": 35 + order,
            **fields,
        }

    return make


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".niceeval"


@pytest.fixture
def write_run(root: Path) -> WriteRun:
    def write(attempts: Iterable[Document], /, **header: Any) -> RunWriter:
        evals = [{"id": "orders/order_lookup", "style": "pass", "cases": None}]
        writer = RunWriter.create(root, {"agents": ["plain"], "attempts": 1, "evals": evals, **header})
        for attempt in attempts:
            writer.append(json.dumps(attempt))
        writer.seal()
        return writer

    return write
