"""What the record answers: attempts, assertions, requirements, rates, ranking."""

import builtins
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niceeval.record import PassRates, Place, Rate, Record, Requirement, RunResult
from niceeval.record.write import MemoryWriter, RunWriter

CASES = [{"id": "orders/order_lookup", "style": "pass", "cases": ["pending", "refunded", "late"]}]


@pytest.fixture(autouse=True, params=["plain", "index"])
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask small runs in both ways: in plain Python, and through an index as large ones are."""
    if request.param == "index":
        monkeypatch.setattr("niceeval.record.queries.LARGE", 0)


@pytest.fixture
def answers(root: Path, write_run: Any) -> Callable[..., Record]:
    """Write one run and open the record."""

    def write(attempts: list[dict[str, Any]], /, **header: Any) -> Record:
        write_run(attempts, **header)
        return Record.open(root)

    return write


def test_requirements_count_an_attempt_once(answers: Any, make_attempt: Any, make_entry: Any) -> None:
    checks = [
        [make_entry(0, "schema"), make_entry(1, "order_format"), make_entry(2, "polite", "informative")],
        [make_entry(0, "schema", "unmet")],
        [make_entry(0, "schema"), make_entry(1, "order_format", "unmet"), make_entry(2, "order_format", "unmet")],
        [
            make_entry(0, "schema", "undecided"),
            make_entry(1, "order_format"),
            make_entry(2, "order_format", "undecided"),
        ],
        [make_entry(0, "schema", "undecided"), make_entry(1, "schema", "unmet")],
        [],
    ]
    attempts = [make_attempt(number, assertions=entries) for number, entries in enumerate(checks)]
    skipped = make_attempt(9, "skipped", assertions=[make_entry(0, "schema")])
    elsewhere = make_attempt(10, eval="other", assertions=[make_entry(0, "tone"), make_entry(1, "schema")])
    assert list(answers([*attempts, skipped, elsewhere]).requirements()) == [
        Requirement(key="schema", failed=2, decided=5, errored=1, not_reached=1, rate=0.6),
        Requirement(key="order_format", failed=1, decided=2, errored=1, not_reached=3, rate=0.5),
        Requirement(key="tone", failed=0, decided=1, errored=0, not_reached=0, rate=1.0),
    ]


def test_a_requirement_that_was_never_decided_has_no_rate(answers: Any, make_attempt: Any, make_entry: Any) -> None:
    (row,) = answers([make_attempt(1, "errored", assertions=[make_entry(0, "budget", "undecided")])]).requirements()
    assert row == Requirement(key="budget", failed=0, decided=0, errored=1, not_reached=0, rate=None)


def test_a_rate_is_passed_by_decided_and_keeps_what_is_missing_in_sight(answers: Any, make_attempt: Any) -> None:
    statuses = ["passed"] * 8 + ["errored"] * 2 + ["skipped"]
    attempts = [make_attempt(number, status, attempt=number) for number, status in enumerate(statuses, 1)]
    rate = answers(attempts, attempts=20).pass_rates().overall
    assert (rate.passed, rate.decided, rate.errored, rate.planned, rate.rate) == (8, 8, 2, 20, 1.0)
    assert rate.interval == pytest.approx((0.49016, 1.0), abs=1e-5)


def test_pass_at_k_and_pass_hat_k_are_averaged_over_the_cases_that_have_k(answers: Any, make_attempt: Any) -> None:
    outcomes = {"pending": "PPFFF", "refunded": "PFE", "late": "S"}
    words = {"P": "passed", "F": "failed", "E": "errored", "S": "skipped"}
    attempts = [
        make_attempt(100 * place + number, words[letter], case=case, attempt=number)
        for place, (case, letters) in enumerate(outcomes.items())
        for number, letter in enumerate(letters, 1)
    ]
    rate = answers(attempts, evals=CASES, attempts=5).pass_rates().overall
    assert rate.pass_at == pytest.approx({1: (0.4 + 0.5) / 2, 2: (0.7 + 1.0) / 2, 3: 0.9, 4: 1.0, 5: 1.0})
    assert rate.pass_hat == pytest.approx({1: (0.4 + 0.5) / 2, 2: (0.1 + 0.0) / 2, 3: 0.0, 4: 0.0, 5: 0.0})
    assert (rate.passed, rate.decided, rate.errored, rate.planned) == (3, 7, 1, 15)


def test_nothing_decided_gives_no_number(answers: Any, make_attempt: Any) -> None:
    rate = answers([make_attempt(1, "errored"), make_attempt(2, "skipped", attempt=2)], attempts=2).pass_rates().overall
    assert (rate.rate, rate.interval, rate.pass_at, rate.pass_hat) == (None, None, {}, {})
    assert (rate.decided, rate.errored, rate.planned) == (0, 1, 2)


def test_several_agents_have_a_rate_each(answers: Any, make_attempt: Any) -> None:
    attempts = [make_attempt(1, agent="b"), make_attempt(2, "failed", agent="a")]
    rates: PassRates = answers(attempts, agents=["b", "a"]).pass_rates()
    assert [(rate.eval_id, rate.agent, rate.rate, rate.planned, rate.pass_at) for rate in rates.evals] == [
        ("orders/order_lookup", "b", 1.0, 1, {1: 1.0}),
        ("orders/order_lookup", "a", 0.0, 1, {1: 0.0}),
    ]
    assert [(rate.eval_id, rate.agent, rate.rate) for rate in rates.agents] == [("*", "b", 1.0), ("*", "a", 0.0)]
    overall = rates.overall
    assert (overall.agent, overall.rate, overall.planned, overall.pass_at) == (None, 0.5, 2, {})


def test_score_style_evals_have_no_rate_and_planned_evals_without_attempts_have_a_row(
    answers: Any, make_attempt: Any
) -> None:
    evals = [{"id": "rank", "style": "score"}, {"id": "never_ran", "cases": ["x", "y"]}, {"id": "ran"}]
    attempts = [make_attempt(1, "scored", style="score", eval="rank", score=3), make_attempt(2, eval="ran")]
    rates = answers(attempts, evals=evals).pass_rates()
    assert [(rate.eval_id, rate.passed, rate.planned) for rate in rates.evals] == [("never_ran", 0, 2), ("ran", 1, 1)]
    assert rates.overall.planned == 3


def scored(make_attempt: Any, number: int, agent: str, score: Any, status: str = "scored") -> Any:
    fields = {"score": score} if status == "scored" else {"partial_score": score}
    return make_attempt(number, status, eval="rank", style="score", agent=agent, **fields)


RANK = [{"id": "rank", "style": "score"}]


def test_ranking_shares_a_rank_and_counts_what_it_leaves_out(answers: Any, make_attempt: Any) -> None:
    attempts = [
        scored(make_attempt, 1, "low", 0.1),
        scored(make_attempt, 2, "sum", 0.3),
        scored(make_attempt, 3, "same", 0.3),
        scored(make_attempt, 4, "same", 5, "unrankable"),
        scored(make_attempt, 5, "same", 7, "errored"),
        scored(make_attempt, 6, "broken", 9, "errored"),
        make_attempt(7, "passed", agent="low"),
    ]
    places = answers(attempts, evals=RANK, agents=["low", "sum", "same", "broken", "absent"]).ranking()
    assert list(places) == [
        Place(rank=1, agent="sum", mean_score=0.3, scored=1, unrankable=0, errored=0, planned=1),
        Place(rank=1, agent="same", mean_score=0.3, scored=1, unrankable=1, errored=1, planned=1),
        Place(rank=3, agent="low", mean_score=0.1, scored=1, unrankable=0, errored=0, planned=1),
        Place(rank=None, agent="broken", mean_score=None, scored=0, unrankable=0, errored=1, planned=1),
        Place(rank=None, agent="absent", mean_score=None, scored=0, unrankable=0, errored=0, planned=1),
    ]


def test_means_are_compared_by_the_decimal_forms_of_the_scores(answers: Any, make_attempt: Any) -> None:
    tenths = [scored(make_attempt, number, "tenths", score) for number, score in enumerate([0.1, 0.2, 0.3])]
    fifths = [scored(make_attempt, 10 + number, "fifths", score) for number, score in enumerate(["0.2", 0.2, 0.2])]
    places = answers([*tenths, *fifths], evals=RANK, agents=["tenths", "fifths"]).ranking()
    assert [(place.agent, place.rank, place.mean_score) for place in places] == [("tenths", 1, 0.2), ("fifths", 1, 0.2)]


def test_a_zero_is_a_score_and_a_score_that_is_no_number_is_unrankable(answers: Any, make_attempt: Any) -> None:
    attempts = [scored(make_attempt, 1, "zero", 0), scored(make_attempt, 2, "odd", "many")]
    places = answers(attempts, evals=RANK, agents=["odd", "zero"]).ranking()
    assert [(p.agent, p.rank, p.mean_score, p.unrankable) for p in places] == [
        ("zero", 1, 0.0, 0),
        ("odd", None, None, 1),
    ]


def test_without_score_style_evals_there_is_no_ranking(answers: Any, make_attempt: Any) -> None:
    assert list(answers([make_attempt(1)]).ranking()) == []


@pytest.fixture
def mixed(answers: Any, make_attempt: Any, make_entry: Any) -> Record:
    """Two evals, three cases, two agents, two attempts, written in the order in which they happened to end."""
    attempts, number = [], 0
    for eval_id, cases in (("orders/order_lookup", ["pending", "refunded", "late"]), ("greets", [None])):
        for case in cases:
            for agent in ("b", "a"):
                for attempt in (1, 2):
                    failed = case == "refunded" and agent == "a"
                    entries = [
                        make_entry(0, "schema", "unmet" if failed else "met"),
                        make_entry(1, "tone", "informative"),
                    ]
                    fields = {"eval": eval_id, "agent": agent, "attempt": attempt, "assertions": entries}
                    fields |= {"case": case} if case else {}
                    attempts.append(make_attempt(number, "failed" if failed else "passed", **fields))
                    number += 1
    random.Random(7).shuffle(attempts)
    header = {"evals": [*CASES, {"id": "greets"}], "agents": ["b", "a"], "attempts": 2}
    opened: Record = answers(attempts, **header)
    return opened


def test_attempts_come_in_the_plan_s_order_whichever_ended_first(mixed: Record) -> None:
    assert [int(attempt.id, 16) for attempt in mixed.attempts()] == list(range(16))


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"verdict": "failed"}, [6, 7]),
        ({"eval": "greets"}, [12, 13, 14, 15]),
        ({"eval": "orders/order_lookup[late]"}, [8, 9, 10, 11]),
        ({"eval": "orders"}, []),
        ({"agent": "a", "eval": "greets"}, [14, 15]),
        ({"agent": "nobody"}, []),
        ({"limit": 3}, [0, 1, 2]),
        ({"limit": 0}, []),
        ({"verdict": "passed", "agent": "a", "limit": 2}, [2, 3]),
    ],
)
def test_attempts_are_filtered(mixed: Record, filters: dict[str, Any], found: list[int]) -> None:
    assert [int(attempt.id, 16) for attempt in mixed.attempts(**filters)] == found


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"decision": "unmet"}, [(6, 0), (7, 0)]),
        ({"key": "tone", "limit": 2}, [(0, 1), (1, 1)]),
        ({"key": "schema", "decision": "informative"}, []),
        ({"limit": 3}, [(0, 0), (0, 1), (1, 0)]),
    ],
)
def test_assertions_are_filtered(mixed: Record, filters: dict[str, Any], found: list[tuple[int, int]]) -> None:
    assert [(int(item.attempt_id, 16), item.order) for item in mixed.assertions(**filters)] == found


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda record: record.attempts(verdict="failing"), "verdict must be one of passed, failed, .*'failing'"),
        (lambda record: record.attempts(limit=-1), "limit must be a whole number of 0 or more"),
        (lambda record: record.assertions(limit=1.5), "limit must be a whole number of 0 or more"),
        (lambda record: record.assertions(decision="no"), "decision must be one of met, unmet"),
    ],
)
def test_bad_filters_are_refused(mixed: Record, ask: Callable[[Record], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ask(mixed)


def test_rows_are_a_sequence(mixed: Record) -> None:
    rows = mixed.attempts()
    assert len(rows) == 16
    assert rows[-1] == rows[15]
    assert [row.id for row in rows[2:4]] == [rows[2].id, rows[3].id]
    assert rows == list(rows)
    assert rows[0].assertions[0] == mixed.assertions()[0]
    with pytest.raises(IndexError):
        rows[16]
    with pytest.raises(TypeError, match="cannot be hashed"):
        hash(rows)


def test_rows_turn_into_tables(mixed: Record) -> None:
    dicts = mixed.requirements().to_dicts()
    assert dicts[0] == {"key": "schema", "failed": 2, "decided": 16, "errored": 0, "not_reached": 0, "rate": 14 / 16}
    assert json.loads(json.dumps(mixed.attempts().to_dicts()))[0]["assertions"][0]["requirement"] == "schema"
    frame = mixed.attempts().to_polars()
    assert frame.height == 16
    assert frame["started"].dtype.is_temporal()
    assert json.loads(frame["assertions"][0])[0]["order"] == 0
    table = mixed.requirements().to_pandas()
    assert list(table["key"]) == ["schema"]
    assert mixed.pass_rates().evals.to_polars()["rate"].to_list() == [1.0, 4 / 6, 1.0, 1.0]


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_missing_table_library_is_named_with_its_remedy(
    mixed: Record, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == library:
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf'to_{library}\(\) needs {library}.*install "niceeval\[dataframes\]"'):
        getattr(mixed.attempts(), f"to_{library}")()


@pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "disk"])
def test_a_run_s_result_agrees_with_the_record(root: Path, mixed: Record, in_memory: bool) -> None:
    header = {"evals": [*CASES, {"id": "greets"}], "agents": ["b", "a"], "attempts": 2}
    writer = MemoryWriter(header) if in_memory else RunWriter.create(root.with_name("other"), header)
    for line in Path(next(mixed.run().folder.glob("attempts-*.jsonl"))).read_text().splitlines():
        writer.append(line)
    writer.seal()
    result = RunResult.from_writer(writer)
    assert result.rates == mixed.pass_rates()
    assert result.attempts == tuple(mixed.attempts())
    assert result.statuses == {"passed": 14, "failed": 2}
    assert (result.id, result.status, result.planned) == (writer.id, "sealed", 16)
    assert result.folder == writer.folder
    with pytest.raises(TypeError, match="no truth value"):
        bool(result)


def test_rates_of_a_result_build_no_assertion(
    write_run: Any, make_attempt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = write_run([make_attempt(1), make_attempt(2, "failed", attempt=2)], attempts=2)

    def refuse(*args: object) -> None:
        raise AssertionError("rates need no models")

    monkeypatch.setattr("niceeval.record.run.attempt_from_document", refuse)
    assert RunResult.from_writer(writer).rates.overall.rate == 0.5


def test_the_same_questions_give_the_same_answers_from_any_order_of_lines(mixed: Record, root: Path) -> None:
    folder = mixed.run().folder
    (path,) = folder.glob("attempts-*.jsonl")
    before = [mixed.attempts().to_dicts(), mixed.requirements().to_dicts(), mixed.pass_rates()]
    lines = path.read_text().splitlines(keepends=True)
    path.unlink()
    (folder / "attempts-aa.jsonl").write_text("".join(reversed(lines[:7])))
    (folder / "attempts-bb.jsonl").write_text("".join(lines[7:]))
    with Record.open(root) as record:
        assert [record.attempts().to_dicts(), record.requirements().to_dicts(), record.pass_rates()] == before


def test_a_rate_keeps_its_fields_through_a_round_trip(mixed: Record) -> None:
    rate = mixed.pass_rates().overall
    assert Rate.model_validate_json(rate.model_dump_json()) == rate
