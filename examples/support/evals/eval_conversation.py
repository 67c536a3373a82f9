"""Does the agent use its tools in the right order over several turns, and move money only after a yes?"""

from typing import Literal

from pydantic import BaseModel

from niceeval import EvalContext, define_eval
from niceeval_expect import equals, json_match, tool_match

COMPLAINT = "The vase from ORD-448193 arrived broken. I want my money back."


class Receipt(BaseModel):
    """What the shop's page needs to show a refund."""

    order_number: str
    amount_cents: int
    currency: Literal["EUR"]
    policy: int


@define_eval(tags=["refunds"])
async def refund_after_consent(t: EvalContext) -> None:
    with t.group("Before the customer agrees"):
        offer = await t.send(COMPLAINT)
        offer.called_tool(tool_match("lookup_order", input={"order_number": "ORD-448193"}).exactly(1))
        offer.tool_order("lookup_order", "search_policies")
        # Without the consent the rest of the conversation means nothing, so a refund here ends the attempt.
        await offer.not_called_tool("issue_refund").key("no_refund_before_consent").or_stop()
        t.check(offer.status, equals("waiting")).key("asks_for_consent")

    with t.group("After the customer agrees"):
        done = await t.send("Yes, please.", output=Receipt)
        amount = json_match({"order_number": "ORD-448193", "amount_cents": 1890})
        done.called_tool(tool_match("issue_refund", input=amount, status="completed").exactly(1)).key("refunds_once")
        # `output=` has registered a gate of its own; `data` is a Receipt from here on, to Python and to mypy.
        t.check(done.data.amount_cents, equals(1890)).key("receipt_says_the_amount")

    # On `t`, the same words speak about the whole attempt.
    t.succeeded()
    t.tool_order("lookup_order", "issue_refund")
    t.no_failed_actions()
    t.no_loops()
    t.max_tool_calls(4)
    t.max_tokens(400)
    t.max_cost(0.001)


@define_eval(tags=["refunds"])
async def consent_stays_in_its_session(t: EvalContext) -> None:
    customer, stranger = t.new_session(), t.new_session()
    await customer.send(COMPLAINT)
    stray = await stranger.send("Yes, please.")
    stray.not_called_tool("issue_refund").key("a_stranger_cannot_agree")

    await customer.send("No, leave it, thanks.")
    customer.called_tool(tool_match("lookup_order").exactly(1))
    t.not_called_tool("issue_refund").key("no_refund_after_a_no")
