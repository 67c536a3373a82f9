"""A support assistant's 150 answers, held against five requirements, recorded, broken down and gated.

Of the answers 131 break nothing; 19 break 21 requirements, since two of them break two.
"""

from pathlib import Path
from typing import Any

import attrs
import pytest

from niceeval import EvalContext, ScriptedAgent, define_eval, run_eval
from niceeval.record import Record
from niceeval_expect import cites_only, every_claim_cited, forbids, length, pattern

pytestmark = pytest.mark.anyio

SOUND = "Your parcel can be sent back within 30 days [{0}]. A refund takes 5 working days [{1}]."
UNCITED = "Your parcel can be sent back within 30 days [{0}]. A refund takes 5 working days."
INVENTED = "Your parcel can be sent back within 30 days [{0}]. A refund takes 5 working days [9901]."
BOTH = "Your parcel can be sent back within 30 days [9901]. A refund takes 5 working days."
BARE = "Your parcel can be sent back within 30 days."
LONG = " ".join([SOUND] * 14)
ANSWERS = [UNCITED] * 9 + [INVENTED] * 5 + [LONG] * 3 + [BARE] + [BOTH] + [SOUND] * 131
BREAKDOWN = {
    "every claim cited": 11,
    "cites what was retrieved": 6,
    "at most 1200 characters": 3,
    "cites a document": 1,
    "no stock phrase": 0,
}


@attrs.frozen
class Question:
    id: str
    text: str
    retrieved: list[int]
    answer: str


QUESTIONS = [
    Question(f"q{number:03}", f"How do returns work for order {number}?", [2000 + number, 3000 + number], answer)
    for number, answer in enumerate(ANSWERS)
]


async def support(t: EvalContext, question: Question) -> None:
    turn = await t.send(question.text)
    t.check(turn.message, pattern(r"\[\d+\]")).key("cites a document")
    t.check(turn.message, cites_only(question.retrieved)).key("cites what was retrieved")
    t.check(turn.message, every_claim_cited(is_claim="statement")).key("every claim cited")
    t.check(turn.message, forbids(["language model", "not able to", "see a solicitor"], casefold=True)).key(
        "no stock phrase"
    )
    t.check(turn.message, length(at_most=1200)).key("at most 1200 characters")


async def recorded(root: Path) -> Record:
    agent = ScriptedAgent({each.text: each.answer.format(*each.retrieved) for each in QUESTIONS})
    evaluated = define_eval("support", test=support, cases={each.id: each for each in QUESTIONS})
    await run_eval(evaluated, agent=agent, record=root)
    return Record.open(root)


async def test_the_breakdown_says_what_broke_and_how_often(tmp_path: Path) -> None:
    with await recorded(tmp_path) as record:
        overall = record.pass_rates().overall
        requirements = {each.key: each for each in record.requirements()}
        failed = record.attempts(verdict="failed")
        broken = [len({each.requirement for each in attempt.failures}) for attempt in failed]

    assert (overall.passed, overall.decided, overall.errored) == (131, 150, 0)
    assert f"{overall.rate:.3f}" == "0.873"
    assert {key: each.failed for key, each in requirements.items()} == BREAKDOWN
    assert {each.decided for each in requirements.values()} == {150}
    assert (len(broken), sum(broken), broken.count(2)) == (19, 21, 2)


@pytest.mark.parametrize(
    ("min_rate", "decision", "needed"),
    [(0.8, "pass", 89), (0.85, "inconclusive", 659), (0.9, "inconclusive", 395), (0.92, "fail", 120)],
)
async def test_the_gate_says_what_150_answers_can_tell(
    tmp_path: Path, min_rate: float, decision: str, needed: int
) -> None:
    with await recorded(tmp_path) as record:
        found = record.gate(min_rate=min_rate)
    (condition,) = found.conditions
    shown: dict[str, Any] = condition.model_dump()
    assert found.decision == shown["decision"] == decision
    assert (round(shown["low"], 3), round(shown["high"], 3)) == (0.82, 0.915)
    assert shown["interval"] == pytest.approx((0.811, 0.917), abs=5e-4)
    assert shown["needed"] == needed


async def test_a_requirement_has_a_gate_of_its_own(tmp_path: Path) -> None:
    with await recorded(tmp_path) as record:
        found = record.gate(requirements={"cites what was retrieved": 0.98, "no stock phrase": 0.98})
    assert [each.decision for each in found.conditions] == ["inconclusive", "pass"]
    assert found.decision == "inconclusive"
