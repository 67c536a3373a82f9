"""Gates over recorded runs: conditions, what is undecided, what is missing, and baselines."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from niceeval.errors import RecordError, RecordWarning
from niceeval.record import Record
from niceeval.stats import exact_bounds

WORDS = {"P": "passed", "F": "failed", "E": "errored", "S": "skipped"}
Outcomes = dict[str, str]


@pytest.fixture
def record_run(write_run: Any, make_attempt: Any) -> Callable[..., str]:
    """Write a run of cases with attempts given as letters, and return its id."""

    def write(outcomes: Outcomes, *, agent: str = "plain", attempts: int | None = None, **header: Any) -> str:
        documents = [
            make_attempt(1000 * place + number, WORDS[letter], case=case, attempt=number, agent=agent, eval="shop")
            for place, (case, letters) in enumerate(outcomes.items())
            for number, letter in enumerate(letters, 1)
        ]
        most = attempts or max(map(len, outcomes.values()))
        plan = {"evals": [{"id": "shop", "cases": list(outcomes)}], "attempts": most, "agents": [agent], **header}
        return str(write_run(documents, **plan).folder.name)

    return write


def cases(letters: str, start: int = 0) -> Outcomes:
    return {f"c{number}": letter for number, letter in enumerate(letters, start)}


def only(found: Any) -> Any:
    (condition,) = found.conditions
    return condition


def test_undecided_attempts_widen_both_bounds_and_never_move_the_rate(root: Path, record_run: Any) -> None:
    record_run(cases("P" * 8 + "E" * 2))
    with Record.open(root) as record:
        condition = only(record.gate(min_rate=0.85))
    assert (condition.rate, condition.passed, condition.decided, condition.errored) == (1.0, 8, 8, 2)
    assert (condition.low, condition.high) == (exact_bounds(8, 10)[0], 1.0)
    assert condition.decision == "inconclusive"


def test_attempts_that_never_ran_are_undecided(root: Path, record_run: Any) -> None:
    outcomes = {**cases("P" * 60), **{f"late{number}": "" for number in range(40)}}
    record_run(outcomes, attempts=1)
    with Record.open(root) as record:
        condition = only(record.gate(min_rate=0.9))
    assert (condition.passed, condition.decided, condition.errored, condition.missing) == (60, 60, 40, 40)
    assert condition.decision == "inconclusive"
    assert condition.low == pytest.approx(exact_bounds(60, 100)[0])


def test_skipped_attempts_are_not_undecided(root: Path, record_run: Any) -> None:
    record_run(cases("P" * 60 + "S" * 40))
    with Record.open(root) as record:
        condition = only(record.gate(min_rate=0.9))
    assert (condition.decided, condition.errored, condition.missing, condition.decision) == (60, 0, 0, "pass")


@pytest.mark.parametrize("letters", ["E" * 5, "S" * 5])
def test_nothing_decided_is_inconclusive(letters: str, root: Path, record_run: Any) -> None:
    record_run(cases(letters))
    with Record.open(root) as record:
        found = record.gate(min_rate=0.5)
    assert (found.decision, only(found).rate) == ("inconclusive", None)


def test_any_fail_fails_and_any_doubt_is_doubt(root: Path, record_run: Any) -> None:
    record_run(cases("P" * 59 + "E"))
    with Record.open(root) as record:
        assert record.gate(min_rate=0.9, max_errored=0.02).decision == "pass"
        assert record.gate(min_rate=0.9, max_errored=0.01).decision == "fail"
        assert record.gate(min_rate=0.99, max_errored=0.02).decision == "inconclusive"
        assert record.gate(min_rate=0.99, max_errored=0.01).decision == "fail"


@pytest.mark.parametrize(
    ("most", "decision"), [(0.19, "fail"), (0.2, "inconclusive"), (0.39, "inconclusive"), (0.4, "pass")]
)
def test_the_errored_share_is_of_the_planned_attempts(most: float, decision: str, root: Path, record_run: Any) -> None:
    record_run({**cases("P" * 6 + "EE"), "late0": "", "late1": ""}, attempts=1)
    with Record.open(root) as record:
        condition = only(record.gate(max_errored=most))
    assert (condition.errored, condition.missing, condition.planned, condition.share) == (2, 2, 10, 0.2)
    assert condition.decision == decision


def test_evals_with_a_rate_of_their_own_are_conditions_about_their_own_cases(root: Path, record_run: Any) -> None:
    evals = [{"id": "shop", "cases": ["a", "b"], "min_rate": 0.85, "attempts": 20}]
    record_run({"a": "P" * 20, "b": "P" * 20}, evals=evals)
    with Record.open(root) as record:
        condition = only(record.gate())
        assert (condition.kind, condition.name, condition.cases_are, condition.effective) == (
            "eval",
            "shop",
            "fixed",
            40,
        )
        assert condition.decision == "pass"
        sampled = only(record.gate(min_rate=0.85))
        assert (sampled.kind, sampled.cases_are, sampled.effective) == ("rate", "sampled", 2)
        assert (sampled.decision, sampled.fixed_decision) == ("inconclusive", "pass")
        assert only(record.gate(min_rate=0.85, cases="fixed")).decision == "pass"


def test_several_agents_are_held_against_it_each(root: Path, write_run: Any, make_attempt: Any) -> None:
    attempts = [
        make_attempt(place, status, agent=agent, case=f"c{place % 50}", eval="shop")
        for place, (agent, status) in enumerate([("good", "passed")] * 50 + [("bad", "failed")] * 50)
    ]
    evals = [{"id": "shop", "cases": [f"c{place}" for place in range(50)]}]
    write_run(attempts, agents=["good", "bad"], evals=evals)
    with Record.open(root) as record:
        found = record.gate(min_rate=0.9)
        assert {each.agent: each.decision for each in found.conditions} == {"good": "pass", "bad": "fail"}
        assert found.decision == "fail"
        assert record.gate(min_rate=0.9, agents=["good"]).decision == "pass"
        assert only(record.gate(min_rate=0.9, agents=["good"], evals=["shop[c1]"])).cases == 1


def test_an_agent_that_the_baseline_lacks_is_no_silent_pass(root: Path, write_run: Any, make_attempt: Any) -> None:
    evals = [{"id": "shop"}]
    old = write_run([make_attempt(1, eval="shop", agent="old")], agents=["old"], evals=evals).folder.name
    attempts = [make_attempt(2, eval="shop", agent="old"), make_attempt(3, "failed", eval="shop", agent="new")]
    write_run(attempts, agents=["old", "new"], evals=evals)
    with Record.open(root) as record:
        with pytest.warns(RecordWarning, match="agent new of run .*: not in run .*, and not compared"):
            found = record.gate(baseline=old)
        assert [each.agent for each in found.conditions] == ["old"]
        with pytest.raises(RecordError, match="has no agent 'new' to compare with"):
            record.gate(min_rate=0.1, baseline=old, agents=["new"])


def test_attempts_that_broke_before_a_requirement_are_undecided_for_it(
    root: Path, write_run: Any, make_attempt: Any, make_entry: Any
) -> None:
    met, unmet = make_entry(0, "schema"), make_entry(0, "schema", "unmet")
    attempts = [make_attempt(place, case=f"c{place}", eval="shop", assertions=[met]) for place in range(60)]
    attempts.append(make_attempt(60, "failed", case="c60", eval="shop", assertions=[unmet]))
    attempts.append(make_attempt(61, "failed", case="c61", eval="shop", assertions=[make_entry(0, "stop", "unmet")]))
    attempts.append(make_attempt(62, "errored", case="c62", eval="shop", assertions=[met]))
    attempts.append(make_attempt(63, "errored", case="c63", eval="shop"))
    attempts.append(make_attempt(64, "errored", eval="other", assertions=[make_entry(0, "stop", "undecided")]))
    evals = [{"id": "shop", "cases": [f"c{place}" for place in range(65)]}, {"id": "other"}]
    write_run(attempts, evals=evals)
    with Record.open(root) as record:
        condition = only(record.gate(requirements={"schema": 0.85}))
        reached = {each.key: each for each in record.requirements()}["schema"]
    # One attempt broke before it came to the requirement, one left no result; another eval has no part in it.
    assert (condition.passed, condition.decided, condition.errored, condition.missing) == (61, 62, 2, 1)
    assert (reached.failed, reached.decided) == (1, 62)
    assert condition.decision == "pass"


def test_a_baseline_fails_only_on_a_significant_regression(root: Path, record_run: Any) -> None:
    before = record_run(cases("P" * 20 + "F" * 5))
    few = record_run(cases("F" * 4 + "P" * 16 + "F" * 5))
    with Record.open(root) as record:
        kept = only(record.gate(few, baseline=before))
        strict = only(record.gate(few, baseline=before, confidence=0.9))
    assert (kept.decision, kept.pairs, kept.worse, kept.better, kept.p_worse) == ("pass", 25, 4, 0, 0.0625)
    assert strict.decision == "fail"


def test_a_significant_regression_names_what_flipped_and_what_only_one_run_has(root: Path, record_run: Any) -> None:
    before = record_run({**cases("P" * 20 + "F" * 5), "gone": "P"})
    now = record_run({**cases("F" * 9 + "P" * 12 + "F" * 4), "new": "F"})
    with Record.open(root) as record:
        found = record.gate(now, baseline=before)
    regression, (comparison,) = only(found), found.comparisons
    assert (found.decision, regression.pairs, regression.worse, regression.better) == ("fail", 25, 9, 1)
    assert regression.p_worse == pytest.approx(11 / 1024)
    assert regression.method == "exact McNemar test"
    assert [each.name for each in comparison.worse] == [f"shop[c{number}]" for number in range(9)]
    assert [(each.name, each.first, each.second) for each in comparison.better] == [("shop[c20]", (0, 1), (1, 1))]
    assert (comparison.only_first, comparison.only_second) == (("shop[gone]",), ("shop[new]",))


def test_a_crash_hides_no_regression_and_makes_none(root: Path, record_run: Any) -> None:
    before = record_run(cases("P" * 30))
    crashed = record_run(cases("E" * 8 + "P" * 22))
    lost = record_run(cases("F" * 8 + "P" * 22))
    unknown = record_run(cases("E" * 30))
    with Record.open(root) as record:
        hidden = only(record.gate(crashed, baseline=before))
        assert (hidden.decision, hidden.pairs, hidden.undecided) == ("inconclusive", 22, 8)
        assert (hidden.p_worse, hidden.p_if_right, hidden.p_if_wrong) == (1.0, 1.0, pytest.approx(1 / 256))
        # And a baseline that broke where this run fails proves no regression.
        made = only(record.gate(lost, baseline=crashed))
        assert (made.decision, made.pairs) == ("inconclusive", 22)
        assert only(record.gate(unknown, baseline=before)).decision == "inconclusive"


def test_a_regression_needs_to_hold_whatever_the_undecided_were(root: Path, record_run: Any) -> None:
    before = record_run(cases("P" * 30))
    now = record_run(cases("F" * 5 + "E" * 2 + "P" * 23))
    with Record.open(root) as record:
        assert only(record.gate(now, baseline=before)).decision == "fail"


def test_several_attempts_are_compared_by_the_share_that_passed(root: Path, record_run: Any) -> None:
    before = record_run({f"c{number}": "PPPP" for number in range(10)})
    now = record_run({f"c{number}": "PPFF" if number < 6 else "PPPP" for number in range(10)})
    with Record.open(root) as record:
        condition = only(record.gate(now, baseline=before))
    assert (condition.decision, condition.worse, condition.difference) == ("fail", 6, pytest.approx(-0.3))
    assert condition.p_worse == pytest.approx(1 / 64)
    assert condition.method == "sign-flip permutation test"


def scores(make_attempt: Any, values: Iterable[float | None]) -> list[Any]:
    return [
        make_attempt(
            place,
            "errored" if value is None else "scored",
            eval="quality",
            case=f"c{place}",
            style="score",
            **({} if value is None else {"score": value}),
        )
        for place, value in enumerate(values)
    ]


def test_scores_are_compared_by_case(root: Path, write_run: Any, make_attempt: Any) -> None:
    evals = [{"id": "quality", "style": "score", "cases": [f"c{place}" for place in range(10)]}]
    base = [3.0, 4.0, 5.0, 2.0, 4.0, 3.5, 4.5, 5.0, 2.5, 3.0]
    ids = [
        write_run(scores(make_attempt, values), evals=evals).folder.name
        for values in (base, [value - 0.5 - 0.1 * (place % 3) for place, value in enumerate(base)], [*base[:9], None])
    ]
    with Record.open(root) as record:
        worse = only(record.gate(ids[1], baseline=ids[0]))
        same = only(record.gate(ids[2], baseline=ids[0]))
    assert (worse.name, worse.decision, worse.pairs) == ("quality", "fail", 10)
    assert worse.p_worse == pytest.approx(1 / 1024)
    assert worse.interval[1] < 0
    assert (same.decision, same.pairs, same.undecided, same.interval) == ("pass", 9, 1, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing to hold run"),
        ({"min_rate": 0.9, "evals": ["shp"]}, "has no eval 'shp'; it has: shop"),
        ({"min_rate": 0.9, "agents": ["plan"]}, "has no agent 'plan'; it has: plain"),
        ({"requirements": {"schema": 0.9}}, "came to a requirement 'schema'"),
        ({"min_rate": 0.9, "baseline": "20200101-000000-aaaa"}, "20200101-000000-aaaa"),
    ],
)
def test_what_the_gate_cannot_be_about_is_said(options: Any, words: str, root: Path, record_run: Any) -> None:
    record_run(cases("PP"))
    with Record.open(root) as record, pytest.raises(RecordError, match=words):
        record.gate(**options)


def test_a_run_without_pass_style_evals_has_no_rate(root: Path, write_run: Any, make_attempt: Any) -> None:
    write_run(scores(make_attempt, [1.0]), evals=[{"id": "quality", "style": "score", "cases": ["c0"]}])
    with Record.open(root) as record, pytest.raises(RecordError, match="no pass-style case"):
        record.gate(min_rate=0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_rate": 0}, "min_rate"),
        ({"min_rate": 0.9, "confidence": 95}, "confidence"),
        ({"min_rate": 0.9, "confidence": 0.3}, "confidence"),
        ({"min_rate": 0.9, "confidence": float("nan")}, "confidence"),
        ({"min_rate": 0.9, "cases": "all"}, "cases"),
        ({"max_errored": 1.5}, "max_errored"),
        ({"requirements": {"schema": 2}}, "min_rate"),
    ],
)
def test_numbers_out_of_range_are_refused(
    options: Any, words: str, root: Path, make_entry: Any, write_run: Any, make_attempt: Any
) -> None:
    write_run([make_attempt(1, assertions=[make_entry(0, "schema")])])
    with Record.open(root) as record, pytest.raises(ValueError, match=words):
        record.gate(**options)


@pytest.mark.parametrize("name", ["evals", "agents"])
def test_a_text_in_place_of_a_list_is_not_read_letter_by_letter(
    root: Path, write_run: Any, make_attempt: Any, name: str
) -> None:
    write_run([make_attempt(1)])
    with Record.open(root) as record:
        gate: Any = record.gate
        with pytest.raises(TypeError, match=rf"{name} got the bare text 'ab'; write {name}="):
            gate(min_rate=0.5, **{name: "ab"})
