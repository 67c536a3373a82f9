"""Does an answer about an order give the shop's page what it needs, and is it about the right order?"""

from datetime import date

from pydantic import BaseModel

from niceeval import EvalContext, define_eval, load_cases
from niceeval_expect import at, has_keys, json_text, matches, non_empty, one_of, pattern, tool_match

FIELDS = ("order_number", "status", "eta_date", "message")
STATUSES = ("processing", "in_transit", "delivered", "lost")


class OrderCase(BaseModel):
    """One row of orders.jsonl: what the customer asks, and the order that it is about."""

    id: str
    question: str
    order_number: str


@define_eval(cases=load_cases("orders.jsonl", OrderCase), tags=["orders"])
async def order_answer(t: EvalContext, case: OrderCase) -> None:
    turn = await t.send(case.question)
    await turn.succeeded().or_stop()

    # Parsing is a claim of its own: what does not parse has no fields to ask about, so the rest is not even tried.
    answer = await t.check(turn.message, json_text()).key("parses").or_stop()

    # Present and empty are different failures with different owners, so they are different requirements. Checks that
    # share a key are one requirement: it fails once, however many of the fields are empty.
    t.check(answer, has_keys(*FIELDS)).key("fields_present")
    for name in FIELDS:
        t.check(answer, at(name, non_empty())).key("fields_filled")

    t.check(answer, at("order_number", pattern(r"ORD-\d{6}", full=True, ascii=True))).key("order_format")
    t.check(answer, at("status", one_of(STATUSES))).key("status_known")
    t.check(answer, at("eta_date", matches(date))).key("eta_is_a_date")

    # So far the answer has only been compared with itself. These two reach outside: to what the case knows, and to what
    # the agent did. An order number that was never looked up is a guess, even a lucky one.
    t.check(answer, at("order_number", case.order_number)).key("right_order")
    turn.called_tool(tool_match("lookup_order", input={"order_number": case.order_number}).exactly(1)).key("looked_up")
