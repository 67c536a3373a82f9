"""Evals that ask for a rate: pytest reports their attempts as notes, and one result more that says what they decide.

The results of all attempts come to one process, the only one or the controller of pytest-xdist, in whatever order and
from whatever worker. As soon as the last one of an eval is in, that process decides, and reports the answer as if it
were a test. So nothing hangs on the order in which tests run.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, final

import attrs
import pytest

from niceeval.pytest_plugin.outcomes import STATUS, longrepr, rate_text
from niceeval.pytest_plugin.planned import PLANNED
from niceeval.record.layout import Header
from niceeval.record.lines import plain
from niceeval.record.rate_conditions import RateCondition, RunRates
from niceeval.record.tallies import CaseTally, Planned
from niceeval.reporters.base import asked_text

__all__ = ["FAMILY", "AskedRate", "Family", "Rates", "asked_rates"]

_MOST_SHOWN: Final = 3


@final
@attrs.frozen
class Family:
    """The attempts of one eval by one agent, as they were collected.

    Attributes:
        nodeid: What pytest calls them together.
        every: What it calls each, selected or not.
    """

    nodeid: str
    every: list[str] = attrs.field(factory=list)


FAMILY: Final = pytest.StashKey[Family]()


@final
@attrs.frozen
class AskedRate:
    """A rate that has to be decided in this session.

    Attributes:
        eval_id: The eval that asks for it.
        agent: The agent's name.
        nodeid: What pytest calls the answer.
        path: Where the eval is written, relative to pytest's root folder.
        line: The line, from 0.
        attempts: The case of each selected attempt, by what pytest calls it.
        every: What it calls each attempt, selected or not.
    """

    eval_id: str
    agent: str
    nodeid: str
    path: str
    line: int
    attempts: dict[str, str | None]
    every: Sequence[str]

    @property
    def location(self) -> tuple[str, int | None, str]:
        """The place as reports have it."""
        return self.path, self.line, self.nodeid.partition("::")[2]


def asked_rates(items: Iterable[pytest.Item]) -> list[AskedRate]:
    """Return the rates that the selected items ask for."""
    found: dict[tuple[str, str], AskedRate] = {}
    for item in items:
        if FAMILY in item.stash:
            family, ref = item.stash[FAMILY], item.stash[PLANNED].ref
            path, line, _ = item.location
            new = AskedRate(ref.eval_id, ref.agent, family.nodeid, path, line or 0, {}, family.every)
            found.setdefault((ref.eval_id, ref.agent), new).attempts[item.nodeid] = ref.case_id
    return list(found.values())


@final
class _Counted:
    """What is known of one rate so far."""

    def __init__(self, asked: AskedRate) -> None:
        self.asked: Final = asked
        self.waiting: Final = set(asked.attempts)
        self.statuses: Final[dict[str, str]] = {}
        self.evidence: Final[list[str]] = []
        self.condition: RateCondition | None = None
        self.told = False

    def decide(self, header: Header) -> RateCondition | None:
        """Hold the rate against what was asked; None where nothing was meant to be decided."""
        counts: dict[str | None, Counter[str]] = {}
        for nodeid, case_id in self.asked.attempts.items():
            counts.setdefault(case_id, Counter())[self.statuses.get(nodeid, "missing")] += 1
        cases = [self._planned(case_id, found) for case_id, found in counts.items()]
        rates = RunRates(run="this session", header=header, cases=cases, agents=[plain(self.asked.agent)])
        self.condition = next(rates.own(), None)
        return self.condition

    def _planned(self, case_id: str | None, counts: Mapping[str, int]) -> Planned:
        tally = CaseTally(
            plain(self.asked.eval_id),
            None if case_id is None else plain(case_id),
            plain(self.asked.agent),
            passed=counts["passed"],
            failed=counts["failed"],
            errored=counts["errored"],
            skipped=counts["skipped"],
        )
        return Planned(tally, counts["missing"])


@final
class Rates:
    """Follows the reports of a session, as a plugin of it, and reports what they decide.

    Args:
        config: The configuration of the session.
        asked: The rates.
        header: The run's plan.
    """

    def __init__(self, config: pytest.Config, asked: Iterable[AskedRate], header: Header) -> None:
        self._config = config
        self._header = header
        self._all = [_Counted(each) for each in asked]
        self._of = {nodeid: each for each in self._all for nodeid in each.asked.attempts}
        self._announced = False

    @property
    def conditions(self) -> list[RateCondition]:
        """The answers, where something was meant to be decided."""
        return [each.condition for each in self._all if each.condition is not None]

    @property
    def _session(self) -> pytest.Session:
        session: Any = self._config.pluginmanager.getplugin("session")
        assert isinstance(session, pytest.Session)
        return session

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one report; where it is the last one that a rate waits for, report the answer."""
        if not self._announced:
            # Pytest counts the answers among what it waits for, or its percentages would be wrong.
            self._announced = True
            self._session.testscollected += len(self._all)
        counted = self._of.get(report.nodeid)
        if counted is None or counted.told:
            return
        if report.when == "call":
            status = _status(report)
            if status is not None:
                counted.statuses[report.nodeid] = status
            if status in ("failed", "errored") and len(counted.evidence) < _MOST_SHOWN:
                counted.evidence.extend(text for name, text in report.sections if name == "niceeval")
        elif report.when != "setup":
            # After the teardown; or since the worker was killed, of which pytest-xdist says nothing more.
            counted.waiting.discard(report.nodeid)
            if not counted.waiting:
                counted.told = True
                self._tell(counted)

    def finish(self, *, stopped: bool) -> None:
        """Report the answers that still wait; in a session that was stopped only those that nothing can change."""
        for counted in self._all:
            if not counted.told:
                counted.told = True
                condition = counted.decide(self._header)
                if condition is not None and not (stopped and condition.decision == "inconclusive"):
                    self._tell(counted)
                    name, location = counted.asked.nodeid, counted.asked.location
                    self._config.hook.pytest_runtest_logfinish(nodeid=name, location=location)

    def _tell(self, counted: _Counted) -> None:
        condition = counted.decide(self._header)
        if condition is None:
            return
        config, asked, session = self._config, counted.asked, self._session
        config.hook.pytest_runtest_logstart(nodeid=asked.nodeid, location=asked.location)
        for report in _reports(condition, counted):
            config.hook.pytest_runtest_logreport(report=report)
        if condition.decision != "pass":
            _run_all_again(config, asked)
        controller: Any = config.pluginmanager.getplugin("dsession")
        if controller is not None and session.shouldfail and not controller.shouldstop:
            # It counts the failures that its workers report, and this one is not theirs.
            controller.shouldstop = session.shouldfail


def _status(report: pytest.TestReport) -> str | None:
    """Return how the attempt of a report ended; None where there was none."""
    said = dict(report.user_properties).get(STATUS)
    if said is not None:
        return str(said)
    return "skipped" if report.skipped else "passed" if report.passed else None


def _reports(condition: RateCondition, counted: _Counted) -> Iterable[pytest.TestReport]:
    """Yield the reports of a test that would have ended so: an inconclusive one like one whose setup broke."""
    asked, decision = counted.asked, condition.decision
    text = asked_text(condition)
    shown: Any = None
    if decision != "pass":
        missed = sum(status in ("failed", "errored") for status in counted.statuses.values())
        lines = rate_text(condition, counted.evidence[:_MOST_SHOWN], missed)
        shown = longrepr(lines.splitlines(), text, asked.path, asked.line + 1)
    properties = [("niceeval_rate", text)]

    def report(outcome: Any, when: Any, longrepr: Any) -> pytest.TestReport:
        return pytest.TestReport(
            asked.nodeid, asked.location, {}, outcome, longrepr, when, user_properties=properties
        )  # fmt: skip

    yield report("passed" if decision == "pass" else "failed", "setup" if decision == "inconclusive" else "call", shown)
    yield report("passed", "teardown", None)


def _run_all_again(config: pytest.Config, asked: AskedRate) -> None:
    """Let `--lf` run every attempt of a rate again, since a few of them would not decide it."""
    last_failed: Any = config.pluginmanager.getplugin("lfplugin")
    if last_failed is not None:
        for nodeid in asked.every:
            report = pytest.TestReport(nodeid, asked.location, {}, "failed", None, "call")
            last_failed.pytest_runtest_logreport(report=report)
