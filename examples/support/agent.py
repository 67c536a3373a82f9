"""A support agent for a small shop: it looks up orders, answers from policies, and refunds what arrived broken.

It stands in for a real one: deterministic and offline, with code where a model would decide. What it reports is what
any agent should report: its tool calls with inputs and outputs, what it used, and whether it waits for an answer.
"""

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from examples.support.policies import BY_ID, search
from niceeval import AgentContext, Reply, ToolCall, Usage


@dataclass(frozen=True)
class Order:
    """What the shop knows about an order."""

    order_number: str
    customer: str
    status: str
    eta_date: str
    total_cents: int


ORDERS = {
    order.order_number: order
    for order in (
        Order("ORD-448192", "lucia.f@example.com", "in_transit", "2026-08-14", 4200),
        Order("ORD-448193", "tomas.k@example.com", "delivered", "2026-08-02", 1890),
        Order("ORD-448207", "tomas.k@example.com", "processing", "2026-08-19", 12900),
        Order("ORD-448215", "mei.l@example.com", "lost", "2026-07-20", 3550),
    )
}
ORDER_NUMBER = re.compile(r"ORD-[0-9]{6}")
EMAIL = re.compile(r"[\w.]+@[\w.]+\w")


@dataclass
class Work:
    """What one turn did, collected for its reply."""

    message: str
    calls: list[ToolCall] = field(default_factory=list)

    def lookup_order(self, order_number: str) -> Order | None:
        order = ORDERS.get(order_number)
        given = {"order_number": order_number}
        if order is None:
            self.calls.append(ToolCall("lookup_order", given, "no such order", status="failed"))
        else:
            self.calls.append(ToolCall("lookup_order", given, asdict(order), status="completed"))
        return order

    def find_orders(self, email: str) -> list[str]:
        found = [order.order_number for order in ORDERS.values() if order.customer == email]
        self.calls.append(ToolCall("find_orders", {"email": email}, found, status="completed"))
        return found

    def search_policies(self, query: str) -> list[int]:
        found = search(query)
        output = [{"id": policy.id, "title": policy.title} for policy in found]
        self.calls.append(ToolCall("search_policies", {"query": query}, output, status="completed"))
        return [policy.id for policy in found]

    def issue_refund(self, order: Order) -> None:
        given = {"order_number": order.order_number, "amount_cents": order.total_cents}
        self.calls.append(ToolCall("issue_refund", given, {"refund": "RF-1"}, status="completed"))

    def reply(self, text: str, **rest: Any) -> Reply:
        # A stand-in for the provider's count: a token per word, and a price per token.
        read, written = len(self.message.split()) + 40 * len(self.calls), len(text.split())
        usage = Usage(input_tokens=read, output_tokens=written, cost_usd=(read + 4 * written) / 1_000_000)
        return Reply(text, tool_calls=self.calls, usage=usage, **rest)


async def support_agent(message: str, ctx: AgentContext) -> Reply:
    """Answer one message of a customer."""
    work = Work(message)
    offered: Order | None = ctx.session.pop("offered_refund", None)
    if offered is not None:
        return settle_refund(work, offered)
    if named := ORDER_NUMBER.findall(message):
        if re.search(r"broken|damaged|money back", message):
            return offer_refund(work, named[-1], ctx)
        return order_status(work, named[-1])
    if email := EMAIL.search(message):
        found = work.find_orders(email[0])
        return order_status(work, found[-1]) if found else work.reply("I found no order for that address.")
    return answer_question(work)


def order_status(work: Work, order_number: str) -> Reply:
    """Answer with an object that the shop's page can show, as its contract with the page says."""
    order = work.lookup_order(order_number)
    if order is None:
        return work.reply("I could not find an order with that number. Could you check the confirmation email?")
    said = f"Your order {order.order_number} is {order.status.replace('_', ' ')}; the date for it is {order.eta_date}."
    answer = {
        "order_number": order.order_number,
        "status": order.status,
        "eta_date": order.eta_date,
        "message": said,
    }
    return work.reply(json.dumps(answer))


def answer_question(work: Work) -> Reply:
    """Answer from the policies that the search returns, and cite them."""
    found = work.search_policies(work.message)
    quoted = [BY_ID[policy_id].quoted for policy_id in found]
    if "christmas" in work.message.lower():
        # The mistake that the demo is about: a withdrawn policy, remembered and cited as if the search had returned it.
        quoted.append(BY_ID[3901].quoted)
    if not quoted:
        return work.reply("I have no policy about that. May I pass your question to a colleague?", status="waiting")
    return work.reply(f"Happy to help! {' '.join(quoted)}")


def offer_refund(work: Work, order_number: str, ctx: AgentContext) -> Reply:
    """Say what a refund would be, and wait for the customer's consent: money moves only after a yes."""
    order = work.lookup_order(order_number)
    if order is None:
        return work.reply("I could not find an order with that number. Could you check the confirmation email?")
    work.search_policies("damaged refund")
    ctx.session["offered_refund"] = order
    offer = f"Sorry about that! {BY_ID[4188].quoted} Shall I refund {order.total_cents / 100:.2f} EUR to your card?"
    return work.reply(offer, status="waiting")


def settle_refund(work: Work, order: Order) -> Reply:
    """Refund after a yes, and after nothing else."""
    if not re.match(r"\s*(yes|please do)\b", work.message, re.IGNORECASE):
        return work.reply("Then I leave it as it is.")
    work.issue_refund(order)
    receipt = {"order_number": order.order_number, "amount_cents": order.total_cents, "currency": "EUR", "policy": 4188}
    return work.reply(f"Done. {BY_ID[4256].quoted}", data=receipt)
