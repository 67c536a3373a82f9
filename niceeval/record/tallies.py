"""What became of each planned case, counted: what gates, comparisons and histories start from."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import attrs

from niceeval.errors import RecordError
from niceeval.record.layout import Header
from niceeval.record.lines import plain
from niceeval.stats import CaseCounts

if TYPE_CHECKING:
    from niceeval.record.queries import RunTables
    from niceeval.record.read import Record, RunInfo

__all__ = [
    "CaseTally",
    "Outcome",
    "Planned",
    "Required",
    "RequirementTally",
    "RunCases",
    "agents_of",
    "cases_of",
    "planned_cases",
    "read_cases",
]


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


class Outcome(NamedTuple):
    """How one attempt of a pass-style eval ended.

    Attributes:
        eval_id: The eval's id.
        case_id: The case's id; None where the eval has no cases.
        agent: The agent's name; empty where no agent took part.
        attempt: Its number, from 1.
        status: ``passed``, ``failed``, ``errored`` or ``skipped``.
    """

    eval_id: str
    case_id: str | None
    agent: str
    attempt: int
    status: str


class Planned(NamedTuple):
    """One case of the plan for one agent, with what became of it; or several that came out alike.

    Attributes:
        tally: What is counted of it. Of several it names no case.
        missing: Attempts that were meant to run and left no result.
        number: How many cases came out like this.
    """

    tally: CaseTally
    missing: int
    number: int = 1

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
        """How many attempts were meant to run, of one case."""
        return self.tally.ran + self.missing


class Required(NamedTuple):
    """How one requirement came out in cases that came out alike.

    Attributes:
        eval_id: The eval's id.
        agent: The agent's name; empty where no agent took part.
        counts: The attempts of one case; those that broke before they came to it, or left no result, are undecided.
        missing: How many of them left no result.
        number: How many cases came out like this.
    """

    eval_id: str
    agent: str
    counts: CaseCounts
    missing: int
    number: int = 1


@attrs.frozen
class RunCases:
    """All planned cases of a run, counted.

    Attributes:
        info: The run.
        header: The run's plan.
        tables: What counts them.
        agents: The agents, in the plan's order, then those that it does not name.
        cases: The cases that are asked about, in the plan's order, then what the plan does not name: those of an eval
            and agent that came out alike together, but each by itself where evals were repeated only until they were
            decided.
        outcomes: Every attempt of the run's pass-style evals, where some were repeated only until they were decided.
    """

    info: "RunInfo"
    header: Header
    tables: "RunTables"
    agents: tuple[str, ...]
    cases: tuple[Planned, ...]
    outcomes: tuple[Outcome, ...] = ()

    @property
    def id(self) -> str:
        """The run's id."""
        return self.info.id

    def of(self, agent: str, *, style: str = "pass") -> list[Planned]:
        """Return the cases of one agent, of all evals of a style."""
        return cases_of(self.cases, agent, style=style)


def cases_of(cases: Iterable[Planned], agent: str, *, style: str = "pass", evals: Sequence[str] = ()) -> list[Planned]:
    """Return the cases of one agent, of all evals of a style or of those named, with or without a case."""
    return [
        each
        for each in cases
        if each.tally.agent == agent
        and each.tally.style == style
        and (not evals or each.tally.eval_id in evals or each.name in evals)
    ]


def agents_of(run: RunCases, wanted: Sequence[str] = ()) -> list[str]:
    """Return the agents of a run, or those of them that are asked for.

    Raises:
        RecordError: One that is asked for has no part in it.
    """
    known = list(run.agents)
    for name in wanted:
        if name not in known:
            raise RecordError(f"run {run.id} has no agent {name!r}; it has: {', '.join(filter(None, known)) or 'none'}")
    return [name for name in known if name in wanted] if wanted else known


def read_cases(record: "Record", run: "RunInfo | str" = "latest", /, *, evals: Sequence[str] = ()) -> RunCases:
    """Count the planned cases of a run; what left no result is counted as missing.

    Args:
        record: The record that holds the run.
        run: The run.
        evals: Only these evals, or cases of them.

    Raises:
        RecordError: The run cannot be read.
    """
    info = record.run(run) if isinstance(run, str) else run
    tables = record.tables(info)
    header = tables.header
    outcomes = tuple(tables.outcomes()) if header.sequential else ()
    agents = dict.fromkeys([*map(plain, header.agents), *tables.agents()])
    return RunCases(info, header, tables, tuple(agents), tuple(tables.planned(evals, each=header.sequential)), outcomes)


def planned_cases(header: Header, tallies: Iterable[CaseTally]) -> Iterable[Planned]:
    """Yield every planned case for every agent with what became of it, then what the plan does not name."""
    found = {(each.eval_id, each.case_id, each.agent): each for each in tallies}
    agents = header.agents or tuple(dict.fromkeys(each.agent for each in found.values())) or ("",)
    # An eval that is planned in parts, for some agents each, is one eval.
    meant: dict[tuple[str, str | None, str], tuple[int, str]] = {}
    for item in header.evals:
        name = plain(item.id)
        wanted = [(plain(agent), header.attempts_of(item, agent)) for agent in agents]
        for case in item.cases if item.cases is not None else (None,):
            case_id = None if case is None else plain(case)
            for agent, attempts in wanted:
                before, style = meant.get((name, case_id, agent), (0, item.style))
                meant[name, case_id, agent] = before + attempts, style
    for key, (attempts, style) in meant.items():
        tally = found.pop(key, None)
        if tally is not None:
            yield Planned(tally, max(0, attempts - tally.ran))
        elif attempts:
            yield Planned(CaseTally(*key, style), attempts)
    for tally in found.values():
        yield Planned(tally, 0)
