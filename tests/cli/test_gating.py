"""`niceeval gate`, `power`, `compare`, `rank` and `history`: what they print, and how they exit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

Recorded = Callable[..., Path]


def cases(letters: str, **more: Any) -> list[dict[str, Any]]:
    words = {"P": "passed", "F": "failed", "E": "errored"}
    decisions = {"P": "met", "F": "unmet", "E": "undecided"}
    return [
        {
            "case": f"c{place}",
            "status": words[letter],
            "checks": [{"requirement": "schema", "decision": decisions[letter]}],
            **more,
        }
        for place, letter in enumerate(letters)
    ]


@pytest.mark.parametrize(
    ("letters", "code", "answer"),
    [("P" * 59, 0, "pass"), ("P" * 8 + "F" * 8, 1, "fail"), ("P" * 20, 5, "inconclusive"), ("EE", 5, "inconclusive")],
)
def test_the_answer_is_the_last_line_and_the_exit_code(
    letters: str, code: int, answer: str, project: Any, recorded: Recorded
) -> None:
    recorded(cases(letters))
    got = project("gate", "--min-rate", "0.95")
    assert (got.code, got.err, got.lines[-1]) == (code, "", answer)
    assert got.lines[2].startswith(answer.upper())
    document = json.loads(project("gate", "--min-rate", "0.95", "--json").out)
    assert document["decision"] == answer


def test_the_arithmetic_is_printed(project: Any, recorded: Recorded) -> None:
    folder = recorded(cases("P" * 131 + "F" * 19))
    got = project("gate", "--min-rate", "0.85")
    assert got.lines == [
        f"run {folder.name}  1 condition",
        "",
        "INCONCLUSIVE  rate ≥ 0.85",
        "  131 of 150 decided passed: 0.873; 0 errored",
        "  true rate at least 0.820, at most 0.915: exact, each at 95 % confidence",
        "  interval 0.81 to 0.92 (Wilson, two-sided)",
        "  about 659 decided cases would decide at this rate",
        "",
        "inconclusive",
    ]
    assert project("gate", folder.name, "--min-rate", "0.85").out == got.out
    assert project("gate", str(folder), "--min-rate", "0.85").out == got.out


def test_what_crashed_is_shown_as_both_that_it_could_have_been(project: Any, recorded: Recorded) -> None:
    recorded(cases("P" * 8 + "E" * 2))
    got = project("gate", "--min-rate", "0.9")
    assert got.code == 5
    assert got.lines[3:5] == [
        "  8 of 8 decided passed: 1.000; 2 errored",
        "  of all 10, 0.800 to 1.000 passed, whatever the undecided would have been",
    ]


def test_about_these_cases_alone_attempts_are_what_is_needed(project: Any, recorded: Recorded) -> None:
    recorded(cases("P" * 8))
    said = [project("gate", "--min-rate", "0.9", "--cases", each).lines[-3] for each in ("sampled", "fixed")]
    assert said == [f"  about 29 decided {what} would decide at this rate" for what in ("cases", "attempts")]


def test_every_condition_is_answered(project: Any, recorded: Recorded) -> None:
    recorded(cases("P" * 95 + "E" * 5))
    got = project("gate", "--min-rate", "0.85", "--requirement", "schema>=0.99", "--max-errored", "0.02")
    assert got.code == 1
    assert [each.split()[0] for each in got.lines if each[:1].isupper()] == ["PASS", "INCONCLUSIVE", "FAIL"]
    assert "  95 of 95 decided passed: 1.000; 5 errored" in got.lines
    assert "  5 of 100 planned attempts errored: 0.050" in got.lines
    assert "2 conditions are estimated, each at 95 % confidence" in got.out
    document = json.loads(
        project("gate", "--min-rate", "0.85", "--requirement", "schema>=0.99", "--max-errored", "0.02", "--json").out
    )
    assert [each["kind"] for each in document["conditions"]] == ["rate", "requirement", "errored"]


def test_repeated_attempts_are_explained(project: Any, recorded: Recorded) -> None:
    attempts = [each | {"attempt": number} for number in range(1, 21) for each in cases("PPP")]
    recorded(attempts)
    got = project("gate", "--min-rate", "0.9")
    assert got.code == 5
    assert "  60 of 60 decided passed: 1.000; 0 errored, at 3 cases" in got.lines
    assert "  cases count, not attempts: the bounds rest on 3 of them" in got.lines
    assert "  about 29 decided cases would decide at this rate" in got.lines
    assert "  about these 3 cases alone the answer is pass: --cases fixed" in got.lines
    assert project("gate", "--min-rate", "0.9", "--cases", "fixed").code == 0


def test_a_regression_is_named_case_by_case(project: Any, recorded: Recorded) -> None:
    before = recorded(cases("P" * 20 + "F"))
    recorded(cases("F" * 8 + "P" * 13))
    got = project("gate", "--baseline", before.name)
    assert got.code == 1
    assert f"FAIL  pass-style cases not worse than in {before.name}" in got.lines
    assert "  21 cases decided in both: 8 worse, 1 better; 0 with undecided attempts" in got.lines
    assert "  so much to the worse by chance alone: p = 0.020 (exact McNemar test)" in got.lines
    assert "  worse    orders/order_lookup[c0]  1/1 → 0/1" in got.lines
    assert "  better   orders/order_lookup[c20]  0/1 → 1/1" in got.lines
    # A baseline may lie anywhere.
    assert project("gate", "--baseline", str(before)).out == got.out
    assert project("gate", before.name, "--baseline", before.name).code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing to hold run"),
        (["--min-rate", "95"], "95 is not above 0 and at most 1"),
        (["--min-rate", "0.9", "--confidence", "95"], "95 is not at least 0.5 and below 1"),
        (["--min-rate", "0.9", "--confidence", "0.3"], "0.3 is not at least 0.5 and below 1"),
        (["--requirement", "a>=0.9", "--requirement", "a>=0.2"], "'a' is given 2 times; give it one rate"),
        (["--min-rate", "0.9", "--confidence", "x"], "'x' is not a number"),
        (["--requirement", "schema=0.9"], "does not read like 'schema>=0.98'"),
        (["--requirement", "schema>=98"], "does not read like 'schema>=0.98'"),
        (["--requirement", "shcema>=0.9"], "'shcema'"),
        (["--max-errored", "2"], "2 is not from 0 to 1"),
        (["--min-rate", "0.9", "--eval", "nope"], "has no eval 'nope'"),
        (["20200101-000000-aaaa", "--min-rate", "0.9"], "20200101-000000-aaaa"),
    ],
)
def test_what_cannot_be_asked_is_said(arguments: list[str], says: str, project: Any, recorded: Recorded) -> None:
    recorded(cases("P"))
    got = project("gate", *arguments)
    assert got.code == 2
    assert says in " ".join(got.err.split())


def test_power_says_how_many_cases(project: Any) -> None:
    got = project("power", "--rate", "0.9", "--detect", "0.1")
    assert got.code == 0
    assert got.lines[0] == "with a chance of 80 %, at 95 % confidence"
    assert any(each.split()[-1] == "89" for each in got.lines if "fails a rate of 0.8" in each)
    document = json.loads(project("power", "--rate", "0.9", "--detect", "0.1", "--attempts", "4", "--json").out)
    assert document["cases"]["to_fail"] == 89
    assert document["cases_if_independent"]["to_fail"] == 23
    wrong = project("power", "--rate", "0.1", "--detect", "0.1")
    assert (wrong.code, "leaves no rate below" in wrong.err) == (2, True)
    assert "over 200,000" in project("power", "--rate", "0.5", "--detect", "0.001").out


def test_compare_puts_two_runs_side_by_side(project: Any, recorded: Recorded) -> None:
    first, second = recorded(cases("PPPFE")), recorded(cases("PPFPPF"))
    got = project("compare", first.name, second.name)
    assert (got.code, got.err) == (0, "")
    assert got.lines[0].startswith(f"first   run {first.name}  agent agents.plain:order_agent  0.5 s per attempt")
    assert any(each.split()[1:5] == ["3/4", "0.75", "4/5", "0.80"] for each in got.lines)
    assert "4 cases decided in both: 1 worse, 1 better, 0.00" in got.lines
    assert "  worse    orders/order_lookup[c2]  1/1 → 0/1" in got.lines
    assert "  only in the second  orders/order_lookup[c5]" in got.lines
    assert "  (1 case not decided in both, outside every difference)" in got.lines
    assert all(cell_len(each) <= 80 for each in got.lines if "[" not in each and "agent" not in each)
    (document,) = json.loads(project("compare", first.name, second.name, "--json").out)["comparisons"]
    assert document["first"]["mean_seconds"] == 0.5
    assert document["worse"] == [{"name": "orders/order_lookup[c2]", "first": [1, 1], "second": [0, 1]}]


def test_compare_takes_two_agents_of_one_run(project: Any, recorded: Recorded) -> None:
    recorded([*cases("PP", agent="a"), *cases("PF", agent="b")])
    got = project("compare", "latest", "--agents", "a", "b")
    assert got.code == 0
    assert "2 cases decided in both: 1 worse, 0 better, -0.50" in got.lines
    assert project("compare", "latest").code == 2


def test_rank_shows_ties_intervals_and_reasons(project: Any, recorded: Recorded) -> None:
    scores: dict[str, list[float | None]] = {"a": [1.0, 3.0], "b": [3.0, 1.0], "c": [0.5, 1.5], "d": [None, None]}
    recorded(
        {
            "eval": "quality",
            "case": f"c{place}",
            "agent": agent,
            "style": "score",
            **(
                {"status": "errored", "reason": "429 \x1b[2J"}
                if value is None
                else {"status": "scored", "score": value}
            ),
        }
        for agent, values in scores.items()
        for place, value in enumerate(values)
    )
    got = project("rank")
    assert got.code == 0
    rows = [each.split() for each in got.lines]
    assert ["1=", "a", "2.00"] in [row[:3] for row in rows]
    assert ["1=", "b", "2.00"] in [row[:3] for row in rows]
    assert ["3", "c", "1.00"] in [row[:3] for row in rows]
    assert ["-", "d", "-", "-", "0/2", "0", "2"] in rows
    assert "unrankable  d  2 errored: 429 \\x1b[2J" in got.lines
    document = json.loads(project("rank", "--json").out)
    assert [place["rank"] for place in document["overall"]] == [1, 1, 3, None]


def test_rank_without_scores_has_nothing(project: Any, recorded: Recorded) -> None:
    recorded(cases("P"))
    got = project("rank")
    assert (got.code, got.lines[-1]) == (4, "no score-style eval was planned, so nobody can be ranked")


def test_history_follows_one_requirement_and_lists_all(project: Any, recorded: Recorded) -> None:
    ids = [recorded(cases("P" * 20)).name for _ in range(5)]
    one = project("history", "schema")
    assert one.code == 0
    assert one.lines[0] == "schema  failed 0/100 in 5 runs"
    assert {row.split()[0] for row in one.lines[3:]} == set(ids)
    every = project("history")
    assert "SOLVED OR DEAD" in every.lines
    said = " ".join(every.out.split())
    assert "schema no violation in 5 runs, 100 decisions since" in said
    assert "if it still fails at times, in less than 3.0 % of attempts (95 % confidence)" in said
    assert json.loads(project("history", "--json").out)["requirements"][0]["solved_or_dead"] is True
    assert len(json.loads(project("history", "schema", "--json").out)["runs"]) == 5
    assert project("history", "scheme").code == 2
    recorded(cases("F"))
    assert "SOLVED OR DEAD" not in project("history").lines


def test_history_of_an_empty_record_has_nothing(project: Any, recorded: Recorded) -> None:
    recorded([{"status": "passed"}])
    assert project("history").code == 4


def test_help_names_the_commands(project: Any) -> None:
    got = project("--help")
    for name in ("gate", "power", "compare", "rank", "history"):
        assert any(each.split()[:1] == [name] for each in got.lines)
