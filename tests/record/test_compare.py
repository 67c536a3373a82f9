"""Comparisons, ranks and histories over recorded runs."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from niceeval.errors import RecordError, RecordWarning
from niceeval.record import Record

NUMBERS = count(1)
WORDS = {"P": "passed", "F": "failed", "E": "errored", "S": "skipped"}
DECISIONS = {"P": "met", "F": "unmet", "E": "undecided"}


@pytest.fixture
def record_run(write_run: Any, make_attempt: Any, make_entry: Any) -> Callable[..., str]:
    """Write a run: for each agent and case letters for the attempts; the requirement `right` comes out like them."""

    def write(agents: dict[str, dict[str, str]], **header: Any) -> str:
        documents: list[Any] = []
        cases = list(dict.fromkeys(case for mine in agents.values() for case in mine))
        for agent, mine in agents.items():
            for case, letters in mine.items():
                for number, letter in enumerate(letters, 1):
                    entries = [make_entry(0, "right", DECISIONS[letter]), make_entry(1, "polite")]
                    documents.append(
                        make_attempt(
                            len(documents),
                            WORDS[letter],
                            eval="shop",
                            case=case,
                            agent=agent,
                            attempt=number,
                            assertions=entries,
                        )
                    )
        most = max(len(letters) for mine in agents.values() for letters in mine.values())
        plan = {"evals": [{"id": "shop", "cases": cases}], "attempts": most, "agents": list(agents)}
        return str(write_run(documents, **{**plan, **header}).folder.name)

    return write


def test_two_runs_are_compared_over_the_cases_of_both(root: Path, record_run: Any) -> None:
    before = record_run({"old": {"a": "P", "b": "P", "c": "F", "d": "E", "gone": "P"}})
    now = record_run({"new": {"a": "P", "b": "F", "c": "P", "d": "P", "fresh": "F"}})
    with Record.open(root) as record:
        (found,) = record.compare(before, now)
    overall, (shop,) = found.overall, found.evals
    assert overall is not None
    assert (overall.kind, shop.kind, shop.name, overall.pairs) == ("evals", "eval", "shop", 3)
    assert (shop.first.passed, shop.first.decided, shop.first.errored, shop.first.planned) == (2, 3, 1, 4)
    assert (shop.second.passed, shop.second.decided, shop.second.value) == (3, 4, 0.75)
    assert (shop.worse, shop.better, shop.difference, shop.p_differs) == (1, 1, 0.0, 1.0)
    assert [each.name for each in found.worse] == ["shop[b]"]
    assert [each.name for each in found.better] == ["shop[c]"]
    assert (found.undecided, found.only_first, found.only_second) == (("shop[d]",), ("shop[gone]",), ("shop[fresh]",))
    assert [(each.name, each.second.passed, each.second.decided) for each in found.requirements] == [
        ("right", 3, 5),
        ("polite", 5, 5),
    ]


def test_two_agents_of_a_run_are_compared(root: Path, record_run: Any) -> None:
    record_run({"x": {"a": "PP", "b": "PF"}, "y": {"a": "PF", "b": "FF"}, "z": {"a": "PP", "b": "PP"}})
    with Record.open(root) as record:
        (found,) = record.compare("latest", agents=("x", "y"))
        assert (found.first.agent, found.second.agent) == ("x", "y")
        assert [(each.name, each.first, each.second) for each in found.worse] == [
            ("shop[a]", (2, 2), (1, 2)),
            ("shop[b]", (1, 2), (0, 2)),
        ]
        with pytest.raises(RecordError, match=r"two agents of it with each other; run .* has: x, y, z"):
            record.compare("latest")
        with pytest.raises(RecordError, match="has no agent 'w'; it has: x, y, z"):
            record.compare("latest", agents=("x", "w"))


def test_of_several_agents_each_is_compared_with_its_namesake(root: Path, record_run: Any) -> None:
    before = record_run({"x": {"a": "P"}, "y": {"a": "P"}})
    now = record_run({"y": {"a": "F"}, "x": {"a": "P"}})
    strangers = record_run({"u": {"a": "F"}, "v": {"a": "P"}})
    with Record.open(root) as record:
        found = record.compare(before, now)
        assert [(each.first.agent, each.second.agent, len(each.worse)) for each in found] == [
            ("x", "x", 0),
            ("y", "y", 1),
        ]
        with pytest.raises(RecordError, match="no agent in common: x, y there, u, v here"):
            record.compare(before, strangers)


def test_agents_of_one_run_only_are_named(root: Path, record_run: Any) -> None:
    before = record_run({"x": {"a": "P"}, "gone": {"a": "P"}})
    now = record_run({"x": {"a": "P"}, "new": {"a": "F"}, "newer": {"a": "F"}})
    with Record.open(root) as record, pytest.warns(RecordWarning) as caught:
        found = record.compare(before, now)
    assert [(each.first.agent, each.second.agent) for each in found] == [("x", "x")]
    assert [str(each.message) for each in caught] == [
        f"agent gone of run {before}: not in run {now}, and not compared",
        f"agents new, newer of run {now}: not in run {before}, and not compared",
    ]


def test_only_some_evals_are_compared(root: Path, record_run: Any) -> None:
    before, now = record_run({"x": {"a": "P", "b": "P"}}), record_run({"x": {"a": "F", "b": "P"}})
    with Record.open(root) as record:
        (found,) = record.compare(before, now, evals=["shop[b]"])
    assert (found.worse, found.only_first, found.overall and found.overall.pairs) == ((), (), 1)
    assert {each.first.decided for each in found.requirements} == {1}


def scores(make_attempt: Any, agent: str, eval_id: str, values: list[float | str]) -> list[Any]:
    return [
        make_attempt(
            next(NUMBERS),
            value if isinstance(value, str) else "scored",
            eval=eval_id,
            case=f"c{place}",
            style="score",
            agent=agent,
            **({"reason": "the tokens are not reported"} if isinstance(value, str) else {"score": value}),
        )
        for place, value in enumerate(values)
    ]


def test_ranks_have_intervals_ties_and_reasons(root: Path, write_run: Any, make_attempt: Any) -> None:
    evals = [{"id": name, "style": "score", "cases": ["c0", "c1", "c2"]} for name in ("tone", "length")]
    given: dict[str, dict[str, list[float | str]]] = {
        "low": {"tone": [1.0, 2.0, 0.0], "length": [1.0, 1.0, 1.0]},
        "one": {"tone": [3.0, 2.0, 1.0], "length": [2.0, 2.0, 2.0]},
        "two": {"tone": [1.0, 2.0, 3.0], "length": [2.0, 2.0, 2.0]},
        "dark": {"tone": ["unrankable", "unrankable", "errored"], "length": ["errored"]},
    }
    attempts = [
        each
        for agent, mine in given.items()
        for name, values in mine.items()
        for each in scores(make_attempt, agent, name, values)
    ]
    write_run(attempts, evals=evals, agents=list(given))
    with Record.open(root) as record:
        places = list(record.rank())
        each = list(record.rank(by_eval=True))
    assert [(place.rank, place.tied, place.agent, place.scored, place.planned) for place in places] == [
        (1, True, "one", 6, 6),
        (1, True, "two", 6, 6),
        (3, False, "low", 6, 6),
        (None, False, "dark", 0, 6),
    ]
    low, high = places[0].interval or (0, 0)
    assert low < (places[0].mean_score or 0) < high
    dark = places[-1]
    assert (dark.unrankable, dark.errored, dark.interval) == (2, 4, None)
    assert dict(dark.reasons) == {
        "unrankable: the tokens are not reported": 2,
        "errored: the tokens are not reported": 2,
        "left no result": 2,
    }
    assert [(place.eval_id, place.agent, place.rank) for place in each if place.eval_id == "length"] == [
        ("length", "one", 1),
        ("length", "two", 1),
        ("length", "low", 3),
        ("length", "dark", None),
    ]
    assert {place.interval for place in each if place.eval_id == "length"} == {None}


def test_nobody_is_ranked_without_score_style_evals(root: Path, record_run: Any) -> None:
    record_run({"x": {"a": "P"}})
    with Record.open(root) as record:
        assert list(record.rank()) == list(record.rank(by_eval=True)) == []


def test_a_requirement_is_followed_from_the_oldest_run_to_the_newest(root: Path, record_run: Any) -> None:
    ids = [record_run({"x": {"a": "P", "b": letter}}) for letter in "FPE"]
    with Record.open(root) as record:
        order = [run.id for run in reversed(record.runs())]
        points = {point.run_id: point for point in record.history("right")}
        only_a = record.history("right", eval="shop[a]")
        with pytest.raises(RecordError, match="no run of this record came to a requirement 'rigth'"):
            record.history("rigth")
    assert list(points) == order
    assert [(points[run].failed, points[run].decided, points[run].errored, points[run].rate) for run in ids] == [
        (1, 2, 0, 0.5),
        (0, 2, 0, 1.0),
        (0, 1, 1, 1.0),
    ]
    assert {(point.failed, point.decided) for point in only_a} == {(0, 1)}


def test_what_nothing_has_violated_for_long_is_solved_or_dead(root: Path, record_run: Any) -> None:
    for number in range(6):
        record_run(
            {"x": {f"c{place}": "F" if place == number == 0 else "P" for place in range(25)}},
        )
    with Record.open(root) as record:
        found = {each.key: each for each in record.histories()}
        oldest = [run.id for run in reversed(record.runs())]
        patient = {each.key: each.solved_or_dead for each in record.histories(runs=7)}
        many = {each.key: each.solved_or_dead for each in record.histories(decisions=151)}
        with pytest.raises(ValueError, match="runs must be 1 or more, got 0"):
            record.histories(runs=0)
    polite = found["polite"]
    assert (polite.runs, polite.failed, polite.decided, polite.last_failed) == (6, 0, 150, None)
    assert (polite.quiet_runs, polite.quiet_decisions, polite.solved_or_dead) == (6, 150, True)
    assert polite.quiet_since is not None
    # Of 150 decisions without a violation: at most 2 % could fail, at 95 % confidence.
    assert polite.could_fail == pytest.approx(1 - 0.05 ** (1 / 150))
    right = found["right"]
    assert (right.failed, right.last_failed in oldest) == (1, True)
    assert right.quiet_runs == len(oldest) - 1 - oldest.index(right.last_failed or "")
    assert (patient["polite"], many["polite"]) == (False, False)
