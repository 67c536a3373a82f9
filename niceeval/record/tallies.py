"""What became of each planned case, counted: what gates, comparisons and histories start from."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs

from niceeval.errors import RecordError
from niceeval.record.layout import Header, read_header
from niceeval.record.lines import plain
from niceeval.stats import CaseCounts

if TYPE_CHECKING:
    from niceeval.record.read import Record, RunInfo

__all__ = ["CaseTally", "Planned", "RequirementTally", "RunCases", "agents_of", "read_cases"]


class CaseTally(NamedTuple):
    """What became of one case's attempts by one agent.

    Attributes:
        eval_id: The eval's id.
        case_id: The case's id; None where the eval has no cases.
        agent: The agent's name; empty where no agent took part.
        style: ``pass`` or ``score``.
        passed: Attempts that passed.
        failed: Attempts that failed.
        errored: Attempts that could not be decided.
        skipped: Attempts that were skipped.
        unrankable: Attempts whose score is incomplete.
        scores: The official scores of the others, in no order.
    """

    eval_id: str
    case_id: str | None = None
    agent: str = ""
    style: str = "pass"
    passed: int = 0
    failed: int = 0
    errored: int = 0
    skipped: int = 0
    unrankable: int = 0
    scores: tuple[float, ...] = ()

    @property
    def ran(self) -> int:
        """How many attempts left a result."""
        return self.passed + self.failed + self.errored + self.skipped + self.unrankable + len(self.scores)


class RequirementTally(NamedTuple):
    """How one requirement came out in one case's attempts by one agent: each attempt counts once.

    Attributes:
        eval_id: The eval's id.
        case_id: The case's id; None where the eval has no cases.
        agent: The agent's name; empty where no agent took part.
        requirement: The requirement.
        passed: Attempts in which it was met.
        failed: Attempts in which it was not.
        undecided: Attempts that came to it and could not decide it.
        errored: How many of all these attempts were errored in the end.
    """

    eval_id: str
    case_id: str | None
    agent: str
    requirement: str
    passed: int
    failed: int
    undecided: int
    errored: int


class Planned(NamedTuple):
    """One case of the plan for one agent, with what became of it.

    Attributes:
        tally: What is counted of it.
        missing: Attempts that were meant to run and left no result.
    """

    tally: CaseTally
    missing: int

    @property
    def key(self) -> tuple[str, str | None]:
        """Eval and case."""
        return self.tally.eval_id, self.tally.case_id

    @property
    def name(self) -> str:
        """The eval's id with the case in brackets."""
        return self.tally.eval_id if self.tally.case_id is None else f"{self.tally.eval_id}[{self.tally.case_id}]"

    @property
    def counts(self) -> CaseCounts:
        """The counts of a pass-style case."""
        return CaseCounts(self.tally.passed, self.tally.failed, self.tally.errored + self.missing)

    @property
    def planned(self) -> int:
        """How many attempts were meant to run."""
        return self.tally.ran + self.missing


@attrs.frozen
class RunCases:
    """All planned cases of a run.

    Attributes:
        info: The run.
        header: The run's plan.
        cases: Every planned case for every agent, in the plan's order, then what the plan does not name.
    """

    info: "RunInfo"
    header: Header
    cases: tuple[Planned, ...]

    @property
    def id(self) -> str:
        """The run's id."""
        return self.info.id

    def of(self, agent: str, *, style: str = "pass", evals: Sequence[str] = ()) -> list[Planned]:
        """Return the cases of one agent, of all evals of a style or of those named, with or without a case."""
        return [
            each
            for each in self.cases
            if each.tally.agent == agent
            and each.tally.style == style
            and (not evals or each.tally.eval_id in evals or each.name in evals)
        ]


def agents_of(run: RunCases, wanted: Sequence[str] = ()) -> list[str]:
    """Return the agents of a run, or those of them that are asked for.

    Raises:
        RecordError: One that is asked for has no part in it.
    """
    known = list(dict.fromkeys([*map(plain, run.header.agents), *(each.tally.agent for each in run.cases)]))
    for name in wanted:
        if name not in known:
            raise RecordError(f"run {run.id} has no agent {name!r}; it has: {', '.join(filter(None, known)) or 'none'}")
    return [name for name in known if name in wanted] if wanted else known


def read_cases(record: "Record", run: "RunInfo | str" = "latest", /) -> RunCases:
    """Count every planned case of a run; what left no result is counted as missing.

    Raises:
        RecordError: The run cannot be read.
    """
    info = record.run(run) if isinstance(run, str) else run
    header = read_header(info.folder)
    return RunCases(info, header, tuple(_planned(header, record.case_tallies(info))))


def _planned(header: Header, tallies: Iterable[CaseTally]) -> Iterable[Planned]:
    found = {(each.eval_id, each.case_id, each.agent): each for each in tallies}
    agents = header.agents or tuple(dict.fromkeys(each.agent for each in found.values())) or ("",)
    for item in header.evals:
        name = plain(item.id)
        meant = [(plain(agent), header.attempts_of(item, agent)) for agent in agents]
        for case in item.cases if item.cases is not None else (None,):
            case_id = None if case is None else plain(case)
            for agent, attempts in meant:
                tally = found.pop((name, case_id, agent), None)
                if tally is not None:
                    yield Planned(tally, max(0, attempts - tally.ran))
                elif attempts:
                    yield Planned(CaseTally(name, case_id, agent, item.style), attempts)
    for tally in found.values():
        yield Planned(tally, 0)
