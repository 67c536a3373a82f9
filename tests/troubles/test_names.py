"""Names that are no file names, and names that are given twice, through a run and its record."""

from pathlib import Path

import pytest

from niceeval import EvalContext, define_eval, run_eval
from niceeval.record import Record
from niceeval_expect import equals, includes

pytestmark = pytest.mark.anyio

NAMES = [
    "a:b?*",
    "CON",
    "con.",
    "nul.txt",
    "Foo",
    "foo",
    "\u00e9",
    "e\u0301",
    "../x",
    "/etc/passwd",
    "C:\\x",
    "..",
    "x" * 300,
    "😀" * 100,
    "a[b]",
    "a ",
    "a",
    "%2e%2e",
    "-k",
    "half \ud83d",
]


async def same(t: EvalContext, case: str) -> None:
    t.check(case, equals(case)).label("same")
    t.check(case, includes(case.strip()[:1])).label("same")
    t.check("x" * 1_200_000, includes("x")).label("large")


async def test_case_ids_are_kept_verbatim_and_name_no_file(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "record"
    await run_eval(define_eval("names", test=same, cases={name: name for name in NAMES}), record=home)
    with Record.open(home) as record:
        attempts = record.attempts()
        assert [attempt.case_id for attempt in attempts] == NAMES
        assert [attempt.assertions[0].subject.value() for attempt in attempts] == NAMES
        rate = record.pass_rates().overall
        requirements = {item.key: (item.failed, item.decided) for item in record.requirements()}
    assert (rate.decided, rate.planned, rate.passed) == (len(NAMES), len(NAMES), len(NAMES))
    assert requirements == {"same": (0, len(NAMES)), "large": (0, len(NAMES))}
    files = {path.relative_to(home) for path in tmp_path.rglob("*") if path.is_file()}
    assert all(part.isascii() and len(part) < 100 for path in files for part in path.parts)
    assert all(name not in {part for path in files for part in path.parts} for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_an_eval_may_have_any_name(name: str, tmp_path: Path) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hello")
        t.check(turn.message, equals("hello")).label(name)

    await run_eval(define_eval(name, test=body), agent={name: lambda message: message}, record=tmp_path)
    with Record.open(tmp_path) as record:
        (attempt,) = record.attempts()
        (found,) = record.attempts(eval=name, agent=name)
    assert (attempt.eval_id, attempt.agent, attempt.assertions[0].label) == (name, name, name)
    assert found == attempt


async def test_checks_of_one_label_are_both_kept_with_their_place(tmp_path: Path) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", includes("a")).label("says it")
        t.check("b", includes("a")).label("says it")

    await run_eval(define_eval("twice", test=body), record=tmp_path)
    with Record.open(tmp_path) as record:
        entries = record.assertions()
        (requirement,) = record.requirements()
    assert [(item.order, item.label, item.decision) for item in entries] == [
        (0, "says it", "met"),
        (1, "says it", "unmet"),
    ]
    assert entries[0].source.line + 1 == entries[1].source.line
    assert (requirement.failed, requirement.decided) == (1, 1)
