"""The command line in this process and in a project of its own, and records written by hand."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from niceeval.cli import main
from niceeval.record.write import RunWriter


@attrs.frozen
class Answer:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@attrs.frozen
class Project:
    """A folder that is the working directory, with the command line in it."""

    root: Path
    capture: pytest.CaptureFixture[str]

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def __call__(self, *arguments: str) -> Answer:
        self.capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = self.capture.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, out, err)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != os.getcwd()])
    before = set(sys.modules)
    yield Project(tmp_path, capsys)
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


Recorded = Callable[..., Path]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Writes a run from attempt documents; fields that a test does not care for are filled in."""

    def write(attempts: Iterable[Mapping[str, Any]], *, status: Any = "sealed", **header: Any) -> Path:
        documents = [_attempt(number, each) for number, each in enumerate(attempts)]
        plan: dict[str, dict[str, Any]] = {}
        for each in documents:
            planned = plan.setdefault(
                each["eval"], {"id": each["eval"], "style": each["style"], "cases": None, "tags": []}
            )
            if each.get("case") is not None:
                planned["cases"] = [*dict.fromkeys([*(planned["cases"] or []), each["case"]])]
        agents = [*dict.fromkeys(each["agent"] for each in documents if each["agent"])]
        most = max((each["attempt"] for each in documents), default=1)
        given = {"agents": agents, "attempts": most, "evals": list(plan.values()), **header}
        writer = RunWriter.create(tmp_path / ".niceeval", given)
        for each in documents:
            writer.append(json.dumps(each))
        if status is not None:
            writer.seal(status)
        return writer.folder

    return write


def _attempt(number: int, given: Mapping[str, Any]) -> dict[str, Any]:
    entries = [_entry(order, each) for order, each in enumerate(given.get("checks", ()))]
    inputs = given.get("inputs", [])
    return {
        "id": f"{number:012x}",
        "eval": "orders/order_lookup",
        "agent": "agents.plain:order_agent",
        "attempt": 1,
        "style": "pass",
        "duration": 0.5,
        "sessions": [{"turns": [{"input": text} for text in inputs]}] if inputs else [],
        "subjects": {f"s{order}": each["kept"] for order, each in enumerate(entries)},
        "matches": {f"m{order}": each["spec"] for order, each in enumerate(entries)},
        "assertions": [{k: v for k, v in each.items() if k not in ("kept", "spec")} for each in entries],
        **{key: value for key, value in given.items() if key not in ("checks", "inputs")},
    }


_OUTCOMES = {"met": "matched", "unmet": "mismatched", "undecided": "unavailable", "informative": "matched"}


def _entry(order: int, given: Mapping[str, Any]) -> dict[str, Any]:
    decision = given.get("decision", "met")
    outcome = given.get("outcome", _OUTCOMES[decision])
    subject = given.get("subject", "the answer")
    return {
        "order": order,
        "match": f"m{order}",
        "subject": f"s{order}",
        "spec": given.get("spec", {"match": "includes", "text": "done"}),
        "kept": {"type": given.get("type", "str"), "size": 1, "value": subject},
        "outcome": outcome,
        "decision": decision,
        "gate": True,
        "file": "evals/orders.py",
        "line": 10 + order,
        "diagnostic": {"code": "matched" if outcome == "matched" else "value"},
        **{key: value for key, value in given.items() if key not in ("subject", "spec", "type")},
    }
