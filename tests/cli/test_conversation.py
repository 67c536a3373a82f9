"""One case of a recorded run: what was said and done in it, and how a person gets there."""

import re
from typing import Any

import pytest
from rich.cells import cell_len

from niceeval.record import Record

AGENT = """
from niceeval import Reply, ToolCall

def shop(message, ctx):
    if message == "thanks":
        return Reply("One line.\\nAnother line.", tool_calls=[], data={"rating": 5})
    calls = [
        ToolCall("lookup_order", {"id": "ORD-448192"}, {"status": "in_transit"}, status="completed"),
        ToolCall("notify", {"to": "lucia.f@example.com"}, "mailbox full", status="failed"),
        ToolCall("ship", {"id": "ORD-448192"}),
        ToolCall.unreadable("weather", '{"city": "Par', "the arguments end inside a string"),
    ]
    return Reply(message[:4000] + "\\x1b[31m", tool_calls=calls, status="waiting")
"""
EVALS = """
from niceeval import define_eval
from niceeval_expect import includes

@define_eval(cases={"short": "Where is it?", "long": "Where is it? " * 300})
async def parcel(t, message):
    turn = await t.send(message)
    await t.send("thanks")
    other = t.new_session()
    await other.send("thanks")
    t.check(turn.message, includes("delivered")).key("delivered")

@define_eval
async def silent(t):
    t.check("a", includes("a"))
"""


@pytest.fixture
def shop(project: Any) -> Any:
    project.write({"shop.py": AGENT, "evals/eval_orders.py": EVALS})
    assert project("run", "evals", "--agent", "shop:shop").code == 1
    return project


def conversation(lines: list[str]) -> list[str]:
    start = next(number for number, text in enumerate(lines) if text.startswith("CONVERSATION"))
    return lines[start : lines.index("", start)]


def test_a_single_case_shows_what_was_said_and_called(shop: Any) -> None:
    assert conversation(shop("show", "latest", "orders/parcel[short]").lines) == [
        "CONVERSATION orders/parcel[short]",
        "  session 1",
        "  user    Where is it?",
        '  call    lookup_order {"id": "ORD-448192"}',
        '          → {"status": "in_transit"}',
        '  call    notify {"to": "lucia.f@example.com"}',
        "          → (failed) mailbox full",
        '  call    ship {"id": "ORD-448192"}',
        "          → (pending)",
        '  call    weather (the arguments end inside a string) {"city": "Par',
        "          → (pending)",
        r"  agent   Where is it?\x1b[31m",
        "          (waiting)",
        "  user    thanks",
        "  agent   One line.",
        "          Another line.",
        '  data    {"rating": 5}',
        "  session 2",
        "  user    thanks",
        "  agent   One line.",
        "          Another line.",
        '  data    {"rating": 5}',
    ]


def test_long_texts_are_bounded_and_fit_the_terminal(shop: Any) -> None:
    lines = conversation(shop("show", "latest", "orders/parcel[long]").lines)
    assert len(lines) < 50
    assert all(cell_len(each) <= 80 for each in lines)


def test_a_run_of_several_cases_says_how_to_get_there(shop: Any) -> None:
    shown = shop("show").lines
    assert not any(each.startswith("CONVERSATION") for each in shown)
    assert shown[-1] == "next    niceeval show latest 'orders/parcel[short]'"
    assert shop("show", "latest", "orders/parcel").lines[-1] == shown[-1]
    assert not shop("show", "latest", "orders/parcel[short]").lines[-1].startswith("next")


def test_an_attempt_without_a_conversation_has_no_block(shop: Any) -> None:
    answer = shop("show", "latest", "orders/silent")
    assert answer.code == 0
    assert "CONVERSATION" not in answer.out


def test_a_conversation_whose_blob_is_gone_is_a_warning(project: Any) -> None:
    large = "def shop(message):\n    return 'x' * 1_200_000\n"
    evals = EVALS.replace('"delivered")', '"x" * 9)')
    project.write({"shop.py": large, "evals/eval_orders.py": evals})
    assert project("run", "evals", "--agent", "shop:shop", "-k", "short").code == 0
    whole = project("show", "latest", "orders/parcel[short]")
    assert "  agent   xxxx" in whole.out
    with Record.open() as record:
        folder = project.root / ".niceeval" / "runs" / record.run().id
    for blob in folder.glob("blobs/*"):
        blob.unlink()
    answer = project("show", "latest", "orders/parcel[short]")
    assert answer.code == 0
    assert re.search(r"warning .*[0-9a-f]{8}", answer.err)
