"""Names of MCP tools: a server and a tool where that is known, and never a guess."""

from typing import Any

import pytest

from niceeval import Reply, ScriptedAgent, ToolCall, ToolNames, attempt
from niceeval_expect import Absent, tool_match

pytestmark = pytest.mark.anyio

KNOWN = ToolNames(
    {"github": ["search", "create_issue"], "docs": ["search", "read.page"], "files": None}, local=["plan"]
)


@pytest.mark.parametrize(
    ("reported", "server", "tool"),
    [
        # The convention of MCP clients.
        ("mcp__github__search", "github", "search"),
        ("mcp__docs__read.page", "docs", "read.page"),
        ("mcp__files__read", "files", "read"),
        ("mcp__files__read__fast", "files", "read__fast"),
        ("mcp__github__delete_repo", None, "mcp__github__delete_repo"),
        ("mcp__other__search", None, "mcp__other__search"),
        ("mcp__files__", None, "mcp__files__"),
        # Other ways to write a pair.
        ("github.search", "github", "search"),
        ("github__create_issue", "github", "create_issue"),
        ("github/search", "github", "search"),
        ("github:search", "github", "search"),
        ("github-search", None, "github-search"),
        ("files.read", None, "files.read"),
        ("github.read", None, "github.read"),
        ("hub.search", None, "hub.search"),
        # Bare names.
        ("create_issue", "github", "create_issue"),
        ("read.page", "docs", "read.page"),
        ("search", None, "search"),
        ("plan", None, "plan"),
        ("unheard_of", None, "unheard_of"),
        ("Create_Issue", None, "Create_Issue"),
    ],
)
async def test_a_name_is_resolved_only_where_one_reading_is_left(reported: str, server: str | None, tool: str) -> None:
    assert KNOWN.resolve(reported) == (server, tool)


async def test_a_name_with_two_readings_stays_as_it_is() -> None:
    two = ToolNames({"a": None, "a__b": None})
    assert two.resolve("mcp__a__b__c") == (None, "mcp__a__b__c")
    assert two.resolve("mcp__a__c") == ("a", "c")
    assert ToolNames({"a": ["b.c"], "a.b": ["c"]}).resolve("a.b.c") == (None, "a.b.c")
    # An own tool of that name makes a bare one ambiguous.
    assert ToolNames({"github": ["search"]}, local=["search"]).resolve("search") == (None, "search")
    assert ToolNames({"github": ["search"]}, local=["search"]).resolve("mcp__github__search") == ("github", "search")


async def test_a_reported_server_decides() -> None:
    assert KNOWN.resolve("search", "docs") == ("docs", "search")
    assert KNOWN.resolve("mcp__docs__search", "docs") == ("docs", "search")
    assert KNOWN.resolve("mcp__docs__search", "github") == ("github", "mcp__docs__search")
    assert KNOWN.resolve("anything", "elsewhere") == ("elsewhere", "anything")


async def test_nothing_declared_resolves_nothing() -> None:
    for name in ("mcp__github__search", "github.search", "search"):
        assert ToolNames().resolve(name) == (None, name)


async def test_a_call_keeps_everything_but_its_name() -> None:
    calls = [
        ToolCall("github.search", {"q": 1}, ["a"], status="failed", id="c1"),
        ToolCall("github.search", {"q": 1}),
        ToolCall("github.search", output="a"),
        ToolCall("github.search", {}, status="completed"),
        ToolCall.unreadable("github.search", '{"q', "cut", "a", status="failed", id="c1"),
    ]
    for call in calls:
        named = KNOWN.named(call)
        assert (named.server, named.name) == ("github", "search")
        assert (named.input, named.output, named.status) == (call.input, call.output, call.status)
        assert (named.id, named.raw_input) == (call.id, call.raw_input)
    plain = ToolCall("lookup", {})
    assert KNOWN.named(plain) is plain


async def test_a_name_that_is_not_resolved_makes_denials_unavailable() -> None:
    async def outcomes(name: str, names: ToolNames) -> dict[str, str]:
        call = names.named(ToolCall(name, {}, "ok", status="completed"))
        async with attempt(agent=ScriptedAgent([Reply("", tool_calls=[call])])) as t:
            turn = await t.send("go")
            turn.not_called_tool("delete").key("no delete")
            turn.called_tool(tool_match("delete", server="files")).key("deleted")
        return {entry.requirement: entry.evaluation.outcome for entry in t.result.assertions}

    assert await outcomes("mcp__files__delete", ToolNames()) == {"no delete": "unavailable", "deleted": "unavailable"}
    assert await outcomes("mcp__files__delete", KNOWN) == {"no delete": "mismatched", "deleted": "matched"}
    assert await outcomes("mcp__files__read", KNOWN) == {"no delete": "matched", "deleted": "mismatched"}


@pytest.mark.parametrize(
    ("servers", "options", "error", "words"),
    [
        ("github", {}, TypeError, "servers takes a list of names, got 'github'"),
        ({"github": "search"}, {}, TypeError, r"servers\['github'\] takes a list of names, got 'search'"),
        ({"github": [7]}, {}, TypeError, "takes names as text, got 7"),
        ({" ": ["a"]}, {}, ValueError, "servers has a blank name"),
        ([], {"local": "plan"}, TypeError, "local takes a list of names"),
    ],
)
async def test_mistakes_are_said_where_they_are_made(
    servers: Any, options: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ToolNames(servers, **options)


async def test_what_is_known_cannot_be_changed_from_outside() -> None:
    tools = ["search"]
    names = ToolNames({"github": tools})
    tools.append("delete")
    assert names.resolve("delete") == (None, "delete")
    assert names == ToolNames({"github": ["search"]})
    assert isinstance(names.named(ToolCall("search")).input, Absent)
