"""Cases that came out alike are counted together, which must say what a list of every single case says."""

import json
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from niceeval.errors import RecordError, RecordWarning
from niceeval.record import Record, queries
from niceeval.record.chain import open_source
from niceeval.record.gates import RateCondition
from niceeval.record.pairs import Paired
from niceeval.record.queries import RunTables
from niceeval.record.write import RunWriter
from tests.record import per_case

CASES = ["x", "y", "z", "größe", "v"]
PLAN = {
    "agents": ["a", "b"],
    "attempts": 2,
    "evals": [
        {"id": "orders", "cases": CASES},
        {"id": "tone", "style": "score", "cases": CASES},
        {"id": "never", "cases": ["x"]},
        {"id": "alone"},
        {"id": "parts", "cases": ["x"], "agents": ["a"], "attempts": 1},
        {"id": "parts", "cases": ["x"], "agents": ["b"], "attempts": 3},
    ],
}
EVALS = ("orders", "tone", "alone", "parts", "elsewhere")
AGENTS = ("a", "b", "stranger")

entries = st.fixed_dictionaries(
    {
        "order": st.sampled_from([0, 1]),
        "requirement": st.sampled_from(["schema", "tone", "\ud800 alone", None]),
        "decision": st.sampled_from(["met", "met", "unmet", "undecided", "informative"]),
    }
)


@st.composite
def attempts(draw: st.DrawFn) -> str:
    eval_id = draw(st.sampled_from(EVALS))
    score = eval_id == "tone"
    document: dict[str, Any] = {
        "id": draw(st.sampled_from(["0a", "0b"])),
        "eval": eval_id,
        "agent": draw(st.sampled_from(AGENTS[:2] * 4 + AGENTS[2:])),
        "style": "score" if score else "pass",
        "attempt": draw(st.integers(1, 2)),
        "status": draw(st.sampled_from(["scored"] * 4 + ["unrankable", "errored"]))
        if score
        else draw(st.sampled_from(["passed", "passed", "failed", "failed", "errored", "skipped"])),
        "assertions": draw(st.lists(entries, max_size=3)),
    }
    if score:
        document["score"] = draw(st.sampled_from([1, 0.25, "0.50", 2.5, 2.5, 1e400, "many", "7/2", " 3 ", None]))
        document["reason"] = draw(st.sampled_from(["no tokens", None]))
    if eval_id != "alone":
        document["case"] = draw(st.sampled_from([*CASES, "unplanned"] if eval_id != "parts" else ["x"]))
    return json.dumps(document)


runs = st.lists(attempts(), max_size=30)
property_test = settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def write(root: Path, lines: Sequence[str], plan: dict[str, Any] = PLAN) -> Path:
    writer = RunWriter.create(root, plan)
    for line in lines:
        writer.append(line)
    writer.seal()
    return writer.folder


def counted(tables: RunTables, evals: Sequence[str]) -> dict[str, Any]:
    """Ask for all that is counted of one run; what came out alike together is in no order."""
    return {
        "agents": tables.agents(),
        "each": sorted(tables.planned(evals, each=True), key=repr),
        "alike": sorted(tables.planned(evals), key=repr),
        "required": sorted(tables.required("schema", evals), key=repr),
        "sums": sorted(tables.requirement_sums(None, evals)),
        "one": tables.requirement_sums("\ud800 alone", evals),
        "reasons": tables.reasons(),
    }


@property_test
@given(lines=runs, evals=st.sampled_from([(), ("orders",), ("orders[x]", "tone", "alone"), ("none",)]))
def test_both_engines_count_the_same(tmp_path: Path, lines: list[str], evals: tuple[str, ...]) -> None:
    source = open_source(write(tmp_path / ".niceeval", lines))
    plain, index, kept = (RunTables(source, large=large) for large in (False, True, True))
    with ExitStack() as stack:
        for tables in (plain, index, kept):
            stack.callback(tables.close)
        found = counted(plain, evals)
        assert counted(index, evals) == found
        assert counted(kept, evals) == found
        # And together they are the cases one by one.
        expanded = [case._replace(number=1) for case in plain.planned(evals) for _ in range(case.number)]
        nameless = [case._replace(tally=case.tally._replace(case_id=None)) for case in found["each"]]
        assert sorted(expanded, key=repr) == sorted(nameless, key=repr)
        assert {key: tuple(sums) for key, *sums in found["sums"]} == per_case.histories(plain, evals)


def as_one(paired: Paired) -> dict[str, Any]:
    return {
        "pairs": sorted(paired.pairs, key=repr),
        "evals": list(dict.fromkeys((each.style, each.eval_id) for each in paired.pairs)),
        "moved": paired.moved,
        "undecided": paired.undecided,
        "only": (paired.only_first, paired.only_second),
    }


@property_test
@given(first=runs, second=runs, agents=st.tuples(st.sampled_from(AGENTS), st.sampled_from(AGENTS)), same=st.booleans())
def test_pairs_are_the_same_whatever_counts_each_side(
    tmp_path: Path, first: list[str], second: list[str], agents: tuple[str, str], same: bool
) -> None:
    one = write(tmp_path / ".niceeval", first)
    other = one if same else write(tmp_path / ".niceeval", second)
    for evals in ((), ("orders[x]", "tone")):
        answers = []
        for mine, its in ((False, False), (True, True), (True, False)):
            tables = RunTables(open_source(one), large=mine)
            others = tables if same and mine is its else RunTables(open_source(other), large=its)
            met = tables.paired_requirements(others, agents, evals)
            answers.append((as_one(tables.paired(others, agents, evals)), sorted(met, key=repr)))
            tables.close()
            others.close()
        assert answers[1] == answers[0]
        assert answers[2] == answers[0]


@property_test
@given(first=runs, second=runs)
@pytest.mark.parametrize("large", [0, 1 << 40], ids=["index", "plain"])
def test_answers_are_those_of_a_list_of_every_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int, first: list[str], second: list[str]
) -> None:
    monkeypatch.setattr(queries, "LARGE", large)
    one, other = (write(tmp_path / ".niceeval", lines) for lines in (first, second))
    with Record.open(tmp_path / ".niceeval") as record, warnings.catch_warnings():
        warnings.simplefilter("error", RecordWarning)
        before, now = record.tables(one.name), record.tables(other.name)
        found = record.gate(other.name, min_rate=0.5, baseline=one.name, agents=["a"])
        by_hand = per_case.rate(now, "a", 0.5, sampled=True)
        condition = found.conditions[0]
        assert isinstance(condition, RateCondition)
        assert (condition.low, condition.high, condition.cases, condition.effective, condition.needed) == (
            by_hand.low,
            by_hand.high,
            by_hand.cases,
            by_hand.effective,
            by_hand.needed,
        )
        if any(row.agent == "a" for row in now.requirement_tallies("schema")):
            asked = record.gate(other.name, requirements={"schema": 0.5}, agents=["a"]).conditions[-1]
            by_hand = per_case.requirement(now, "a", "schema", 0.5)
            assert isinstance(asked, RateCondition)
            assert (asked.passed, asked.decided, asked.errored, asked.low, asked.effective) == (
                by_hand.passed,
                by_hand.decided,
                by_hand.undecided,
                by_hand.low,
                by_hand.effective,
            )
        ids = one.name, other.name
        comparison = per_case.comparison(before, now, ids, ("a", "a"))
        assert next(iter(record.compare(*ids, agents=("a", "a")))) == comparison
        assert found.comparisons == (comparison.model_copy(update={"requirements": ()}),)
        for place in record.rank(other.name):
            assert place.model_dump(exclude={"rank", "tied", "agent", "eval_id", "reasons"}) == per_case.place(
                now, place.agent
            )


@pytest.mark.parametrize("large", [0, 1 << 40], ids=["index", "plain"])
def test_an_eval_that_is_planned_in_parts_misses_only_what_none_of_them_ran(
    root: Path, write_run: Any, make_attempt: Any, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(queries, "LARGE", large)
    evals = [{"id": "e", "cases": ["c"], "agents": ["a"]}, {"id": "e", "cases": ["c"], "agents": ["b"], "attempts": 2}]
    write_run([make_attempt(1, eval="e", case="c", agent="b")], evals=evals, agents=["a", "b"])
    with Record.open(root) as record:
        found = record.gate(min_rate=0.5).conditions
        assert [(each.agent, each.missing) for each in found if isinstance(each, RateCondition)] == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("large", [0, 1 << 40], ids=["index", "plain"])
def test_agents_that_no_plan_names_are_meant_to_do_all_of_it(
    root: Path, write_run: Any, make_attempt: Any, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(queries, "LARGE", large)
    write_run([make_attempt(1, eval="e", case="c", agent="b")], evals=[{"id": "e", "cases": ["c", "d"]}], agents=[])
    with Record.open(root) as record:
        (condition,) = record.gate(min_rate=0.5).conditions
        assert isinstance(condition, RateCondition)
        assert (condition.agent, condition.passed, condition.missing) == ("b", 1, 1)
        with pytest.raises(RecordError, match="has no eval 'e\\[x\\]'; it has: e"):
            record.gate(min_rate=0.5, evals=["e[x]"])
