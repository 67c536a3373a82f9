"""The examples do what they say: which answers pass, which one does not and why, and that their evals can fail."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples import script
from examples.ranking.agents import brief, friendly, hurried
from examples.ranking.eval_delivery import delivery_answer
from examples.support.agent import ORDERS, support_agent
from examples.support.evals import eval_citations, eval_conversation, eval_orders
from examples.support.policies import BY_ID, POLICIES, search
from niceeval import AgentContext, AgentLike, Eval, Reply, ToolCall, run_eval
from niceeval.record import Record
from niceeval.results import AttemptResult

pytestmark = pytest.mark.anyio


def failed(attempt: AttemptResult) -> list[str]:
    return [each.requirement for each in attempt.failures]


@pytest.mark.parametrize(
    "eval_",
    [
        eval_orders.order_answer,
        eval_citations.says_when_it_does_not_know,
        eval_conversation.refund_after_consent,
        eval_conversation.consent_stays_in_its_session,
    ],
    ids=lambda eval_: eval_.id,
)
async def test_the_support_agent_passes(eval_: Eval[Any]) -> None:
    run = await run_eval(eval_, agent=support_agent)

    assert [attempt.status for attempt in run.attempts] == ["passed"] * len(eval_.iter_cases())


async def test_one_answer_cites_a_policy_that_was_not_retrieved() -> None:
    run = await run_eval(eval_citations.cites_what_it_read, agent=support_agent)

    assert {each.case_id: failed(each) for each in run.attempts if each.verdict != "passed"} == {
        "christmas": ["cited_id_was_retrieved"]
    }
    [failure] = next(each for each in run.attempts if each.case_id == "christmas").failures
    assert (failure.expected, failure.received) == ("one of 4102, 4145", "3901")
    assert failure.subject.value()["sentence"] == "Gifts bought in December can be returned until 31 January [3901]."
    assert BY_ID[3901].withdrawn


async def test_without_that_mistake_every_answer_passes() -> None:
    async def mended(message: str, ctx: AgentContext) -> Reply:
        reply = await support_agent(message, ctx)
        return Reply(reply.message.replace(BY_ID[3901].quoted, "").strip(), tool_calls=reply.tool_calls)

    run = await run_eval(eval_citations.cites_what_it_read, agent=mended)

    assert run.statuses == {"passed": 5}


@pytest.mark.parametrize(
    ("change", "requirement"),
    [
        ({"order_number": "ORD-448193"}, "right_order"),
        ({"order_number": "ORD-٤٤٨١٩٢"}, "order_format"),
        ({"order_number": "ORD-4481929999"}, "order_format"),
        ({"status": "in transit"}, "status_known"),
        ({"eta_date": "2026-13-45"}, "eta_is_a_date"),
        ({"message": ""}, "fields_filled"),
        ({"message": None}, "fields_filled"),
    ],
)
async def test_an_order_answer_that_is_wrong_in_one_field_fails_for_it(
    change: dict[str, Any], requirement: str
) -> None:
    async def changed(message: str, ctx: AgentContext) -> Reply:
        reply = await support_agent(message, ctx)
        return Reply(json.dumps({**json.loads(reply.message), **change}), tool_calls=reply.tool_calls)

    run = await run_eval(eval_orders.order_answer, agent=changed)

    first = run.attempts[0]
    assert first.case_id == "in_transit"
    assert set(failed(first)) >= {requirement}
    assert set(failed(first)) <= {requirement, "right_order"}


@pytest.mark.parametrize(
    ("said", "failures", "stopped_by"),
    [
        ("I could not find an order number. Could you send me the reference?", ["parses"], "parses"),
        ('{"order_number": "ORD-448192", "status": "in_tra', ["parses"], "parses"),
        ("{}", ["fields_present", "fields_filled", "order_format", "status_known", "eta_is_a_date"], None),
    ],
)
async def test_an_answer_that_is_no_order_answer(said: str, failures: list[str], stopped_by: str | None) -> None:
    run = await run_eval(eval_orders.order_answer, agent=lambda message: Reply(said, tool_calls=[]))

    first = run.attempts[0]
    assert failed(first)[:1] == failures[:1]
    assert set(failures) <= set(failed(first))
    assert first.stopped_by == stopped_by


@pytest.mark.parametrize(
    ("said", "requirement"),
    [
        ("Unused items can be returned within 30 days.", "names_a_policy"),
        ("Unused items can be returned [4102]. You have to keep the bill with you.", "claim_is_cited"),
        ("As an AI I know that unused items can be returned [4102].", "no_boilerplate"),
        ("Unused items can be returned within 30 days [4102]. " * 24 + "Always [4102].", "short_enough"),
        ("Unused items can be returned within 30 days [3901].", "cited_id_was_retrieved"),
    ],
)
async def test_each_citation_requirement_can_fail(said: str, requirement: str) -> None:
    found = [ToolCall("search_policies", {"query": "return"}, [{"id": 4102}], status="completed")]

    run = await run_eval(eval_citations.cites_what_it_read, agent=lambda message: Reply(said, tool_calls=found))

    assert all(requirement in failed(attempt) for attempt in run.attempts)


async def test_a_refund_before_consent_ends_the_attempt() -> None:
    def eager(message: str) -> Reply:
        refund = {"order_number": "ORD-448193", "amount_cents": 1890}
        return Reply("Refunded.", tool_calls=[ToolCall("issue_refund", refund, "done", status="completed")])

    run = await run_eval(eval_conversation.refund_after_consent, agent=eager)

    [attempt] = run.attempts
    assert (attempt.verdict, attempt.stopped_by) == ("failed", "no_refund_before_consent")
    assert len(attempt.inputs) == 1


async def test_variants_are_ranked_and_the_attempt_without_usage_is_left_out(tmp_path: Path) -> None:
    variants: dict[str, AgentLike] = {"brief": brief, "friendly": friendly, "hurried": hurried}

    await run_eval(delivery_answer, agent=variants, record=tmp_path)

    with Record.open(tmp_path) as record:
        places = [(place.rank, place.agent, place.scored, place.unrankable) for place in record.ranking()]
        [unranked] = [attempt for attempt in record.attempts() if attempt.status == "unrankable"]
    assert places == [(1, "friendly", 3, 0), (2, "brief", 3, 0), (3, "hurried", 2, 1)]
    assert (unranked.case_id, unranked.agent, unranked.partial_score) == ("weekend", "hurried", 6.0)
    assert [each.requirement for each in unranked.undecided] == ["cheap"]


async def test_the_script_prints_what_came_out(capsys: pytest.CaptureFixture[str]) -> None:
    await script.main()

    assert capsys.readouterr().out.splitlines() == [
        "first_try: failed",
        '  says_delivered: expected "delivered", received "ORD-448192 is in transit."',
        "parcel: 6 of 8 attempts passed",
        "  one of 2 tries passes: 1.00    both of 2 pass: 0.50",
        "  looked_up          failed 2 of 8",
        "  says_the_status    failed 2 of 8",
        "  promises_nothing   failed 2 of 8",
        "  such as 'I guarantee that it arrives tomorrow.'",
    ]


def test_the_search_never_returns_a_withdrawn_policy() -> None:
    assert len({policy.id for policy in POLICIES}) == len(POLICIES)
    for policy in POLICIES:
        assert all(not found.withdrawn for found in search(" ".join(policy.keywords)))


@pytest.mark.parametrize("number", ORDERS)
async def test_orders_are_found_by_number(number: str) -> None:
    reply = await support_agent(f"Where is {number}?", AgentContext())

    assert json.loads(reply.message)["order_number"] == number
