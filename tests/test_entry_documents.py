"""The two ways to write an entry say the same: as data, and as text put together from parts that do not change."""

import json
from typing import Any

import anyio

from niceeval import Reply, ToolCall, attempt
from niceeval.entry_documents import entry_document, entry_text
from niceeval_expect import equals, includes, json_text, length, matches, satisfies, similarity, tool_match


def always(value: object) -> bool:
    return True


async def _entries() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    both: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def agent(message: str) -> Reply:
        return Reply('{"a": 1}', tool_calls=[ToolCall("x", {"q": 1}, "ok"), ToolCall("y", {}, "ok")])

    async with attempt(agent=agent) as t:
        for number in range(2):
            turn = await t.send(f"hi {number}")
            t.check(turn.message, includes("a")).key("keyed")
            t.check(turn.message, includes("a")).label("labelled")
            t.check(turn.message, includes("a"))
            t.check(turn.message, json_text(equals({"a": 1}))).key("made anew").label("both")
            t.check(number, equals(number)).key("another match each time")
            t.check(number, equals(number))
            t.check(turn.message, json_text(matches(dict[str, int])))
            t.check(turn.message, satisfies("always", always)).key("code")
            t.check(turn.message, length(at_least=100)).key("mismatched")
            t.check(turn.message, similarity("x").at_least(0.0)).gate()
            turn.called_tool(tool_match("x").exactly(1)).key("tool")
            t.called_tool("y")
            with t.group("a group"):
                t.check("é\ud83d", equals("é\ud83d"))
        log = t._state.log
        for entry in log.entries:
            first: dict[str, str] = {}
            second: dict[str, str] = {}
            text = json.loads(entry_text(log, entry, first))
            data = json.loads(json.dumps(entry_document(log, entry, second)))
            assert first == second
            both.append((text, data))
    return both


def test_text_and_data_agree_whatever_was_put_together_before() -> None:
    for _ in range(2):
        entries = anyio.run(_entries)
        assert len(entries) == 26
        for text, data in entries:
            assert text == data
