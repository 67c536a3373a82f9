"""A project of its own for each test, with pytest as a process of its own in it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from niceeval.record.layout import Header, read_header

SHOP = """
from niceeval import AgentUnavailable, Reply, ToolCall

ORDERS = {"ORD-1001": "in transit", "ORD-1002": "refunded"}


def support(message: str) -> Reply:
    order_id = message.split()[-1].rstrip("?")
    call = ToolCall("lookup_order", {"id": order_id}, {"status": ORDERS[order_id]})
    return Reply(f"{order_id} is on its way.", tool_calls=[call])


def careful(message: str) -> str:
    return "Here is your refund: " + message


def closed(message: str) -> str:
    raise AgentUnavailable("503 Service Unavailable", retryable=False)
"""

ORDERS = """
from niceeval import EvalContext, define_eval
from niceeval_expect import excludes, includes


@define_eval(cases={"moving": ("ORD-1001", "on its way"), "refunded": ("ORD-1002", "refund")}, tags=["lookups"])
async def order_lookup(t: EvalContext, case: tuple[str, str]) -> None:
    order_id, status = case
    turn = await t.send(f"Where is {order_id}?")
    t.check(turn.message, includes(status)).key("right status")
    t.check(turn.message, excludes("guarantee")).key("no promises")


@define_eval
async def greets(t: EvalContext) -> None:
    t.check("hello", includes("hello"))
"""


@attrs.frozen
class Project:
    """A folder with an agent, pytest in it, and the record that pytest leaves."""

    pytester: pytest.Pytester

    @property
    def root(self) -> Path:
        return self.pytester.path

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def pytest(self, *arguments: str) -> pytest.RunResult:
        """Run pytest without a shuffle, warnings being errors."""
        return self.pytester.runpytest_subprocess("-p", "no:randomly", "-W", "error", *arguments, timeout=120)

    def niceeval(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        code = "from niceeval.cli import main; main()"
        command = [sys.executable, "-W", "error", "-c", code, *arguments]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=120, check=False)

    @property
    def runs(self) -> list[Path]:
        """The recorded runs, the oldest first."""
        return sorted((self.root / ".niceeval" / "runs").glob("*/"), key=lambda path: path.stat().st_mtime_ns)

    @property
    def header(self) -> Header:
        """What the last run says of itself."""
        return read_header(self.runs[-1])

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """The attempts of the last run."""
        files = sorted(self.runs[-1].glob("attempts-*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text("ascii").splitlines()]

    @property
    def statuses(self) -> dict[str, str]:
        """How each attempt of the last run ended, by eval and case."""
        return {
            item["eval"] if item["case"] is None else f"{item['eval']}[{item['case']}]": item["status"]
            for item in self.attempts
        }


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    made = Project(pytester)
    made.write({"shop.py": SHOP})
    return made


@pytest.fixture
def shop(project: Project) -> Project:
    """The project with one eval file."""
    project.write({"evals/eval_orders.py": ORDERS})
    return project
