"""What holds in every format: the same conversation is the same evidence, whoever wrote it down."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from niceeval import ToolCall, Transcript, attempt
from niceeval_expect import CountedToolMatch, ToolMatch, json_match, tool_match
from tests.transcripts.told import FORMATS, Calls, NotSayable, Result, Says, Told, User, call

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the libraries that write the formats
]

Tell: TypeAlias = Callable[[Sequence[Told]], Transcript]
# Formats whose results always say whether the tool succeeded.
SAYS_STATUS = ("langchain", "pydantic-ai", "inspect")


@pytest.fixture(params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tell(name: str, tmp_path: Path) -> Tell:
    def told(conversation: Sequence[Told]) -> Transcript:
        try:
            return FORMATS[name](conversation, tmp_path)
        except NotSayable as why:
            pytest.skip(f"{name}: {why}")

    return told


async def outcomes(transcript: Transcript, *checks: tuple[str, Any]) -> dict[str, str]:
    """Return what each check over the observed conversation comes to."""
    async with attempt() as t:
        session = t.observe(transcript)
        for label, check in checks:
            check(session).label(label)
    return {entry.label or "": entry.evaluation.outcome for entry in t.result.assertions}


def called(match: ToolMatch | CountedToolMatch | str) -> Callable[[Any], Any]:
    return lambda scope: scope.called_tool(match)


def not_called(match: ToolMatch | str) -> Callable[[Any], Any]:
    return lambda scope: scope.not_called_tool(match)


async def test_turns_texts_calls_and_results_are_the_same(name: str, tell: Tell) -> None:
    transcript = tell(
        [
            User("Where is ORD-1?"),
            Calls([("c1", "lookup", '{"id": "ORD-1"}'), ("c2", "weather", '{"city": "Oslo"}')]),
            Result("c2", "rain"),
            Result("c1", "in transit"),
            Says("It is on its way."),
            User("Thanks"),
            Says("You are welcome."),
        ]
    )
    first, second = transcript.turns
    assert (first.input, first.messages) == ("Where is ORD-1?", ("It is on its way.",))
    assert first.tool_calls is not None
    assert [(each.name, each.input, each.output, each.id) for each in first.tool_calls] == [
        ("lookup", {"id": "ORD-1"}, "in transit", "c1"),
        ("weather", {"city": "Oslo"}, "rain", "c2"),
    ]
    assert {each.status for each in first.tool_calls} == {"completed" if name in SAYS_STATUS else None}
    assert [event.kind for event in first.events] == [
        "message", "tool_call_started", "tool_call_started", "tool_call_finished", "tool_call_finished", "message",
    ]  # fmt: skip
    assert first.status == "completed"
    assert (second.input, second.messages, second.tool_calls) == ("Thanks", ("You are welcome.",), ())
    assert second.status is None, "how the last turn ended, nobody said"
    for turn in transcript.turns:
        assert (turn.coverage["messages"], turn.coverage["tool_calls"]) == ("complete", "complete"), turn.reasons
        assert (turn.usage, turn.coverage["usage"]) == (None, "none")


async def test_an_id_that_a_later_turn_reuses_belongs_to_each_turn_apart(tell: Tell) -> None:
    transcript = tell(
        [
            User("Read"), call("c1", "read_file", '{"path": "a"}'), Result("c1", "A"), Says("Read."),
            User("Write"), call("c1", "write_file", '{"path": "b"}'), Result("c1", "B"), Says("Written."),
        ]
    )  # fmt: skip
    pairs = [[(each.name, each.output) for each in turn.tool_calls or ()] for turn in transcript.turns]
    assert pairs == [[("read_file", "A")], [("write_file", "B")]]
    found = await outcomes(
        transcript,
        ("read A", called(tool_match("read_file", output="A").exactly(1))),
        ("not in the second", lambda session: session.turns[1].not_called_tool("read_file")),
    )
    assert found == {"read A": "matched", "not in the second": "matched"}


async def test_an_id_that_one_turn_reuses_pairs_in_order(tell: Tell) -> None:
    transcript = tell(
        [
            User("Go"),
            call("c1", "step", '{"n": 1}'), Result("c1", "one"),
            call("c1", "step", '{"n": 2}'), Result("c1", "two"),
            Says("Done."),
        ]
    )  # fmt: skip
    calls = transcript.turns[0].tool_calls or ()
    assert [(each.input, each.output) for each in calls] == [({"n": 1}, "one"), ({"n": 2}, "two")]


async def test_a_call_without_a_result_is_pending(tell: Tell) -> None:
    transcript = tell([User("Delete user 7"), call("c1", "delete_user", '{"id": 7}')])
    (pending,) = transcript.turns[0].tool_calls or ()
    assert pending == ToolCall("delete_user", {"id": 7}, id="c1")
    assert pending.status == "pending"
    assert transcript.turns[0].status is None
    found = await outcomes(
        transcript,
        ("not done", not_called(tool_match("delete_user", status="completed"))),
        ("pending", called(tool_match("delete_user", status="pending"))),
        ("its output", called(tool_match("delete_user", output="ok"))),
    )
    assert found == {"not done": "matched", "pending": "matched", "its output": "unavailable"}


async def test_a_failed_call_that_is_made_again_can_be_told(name: str, tell: Tell) -> None:
    if name in ("openai", "responses"):
        pytest.skip(f"{name} does not say how a tool ended")
    transcript = tell(
        [
            User("Go"),
            call("c1", "step", '{"n": 1}'), Result("c1", "no", failed=True),
            call("c2", "step", '{"n": 1}'), Result("c2", "yes", failed=False),
            Says("Done."),
        ]
    )  # fmt: skip
    assert [each.status for each in transcript.turns[0].tool_calls or ()] == ["failed", "completed"]
    failed, done = tool_match("step", status="failed"), tool_match("step", status="completed")
    found = await outcomes(
        transcript,
        ("failed, then done", lambda session: session.tool_order(failed, done)),
        ("done, then failed", lambda session: session.tool_order(done, failed)),
        ("none failed", lambda session: session.no_failed_actions()),
    )
    assert found == {"failed, then done": "matched", "done, then failed": "mismatched", "none failed": "mismatched"}


@pytest.mark.parametrize("text", ['{"city": "Par', '{}""', '"{\\"city\\":\\"Oslo\\"}"', '{"a": 1}{"b": 2}'])
async def test_arguments_that_cannot_be_read_leave_the_call_and_its_text(name: str, tell: Tell, text: str) -> None:
    transcript = tell([User("Weather?"), call("c1", "weather", text), Result("c1", "rain"), Says("Rain.")])
    (found,) = transcript.turns[0].tool_calls or ()
    if name in ("langchain", "inspect") and isinstance(found.input, dict):
        pytest.skip(f"{name} mended {text!r} before it wrote it down, as {found.input!r}")
    assert found.name == "weather"
    assert found.raw_input == text
    assert found.output == "rain"
    said = await outcomes(
        transcript,
        ("called", called("weather")),
        ("with a city", called(tool_match("weather", input=json_match({"city": "Oslo"})))),
        ("without arguments", called(tool_match("weather", input={}))),
    )
    assert said == {"called": "matched", "with a city": "unavailable", "without arguments": "unavailable"}


async def test_no_arguments_are_an_empty_object(tell: Tell) -> None:
    transcript = tell([User("Go"), call("c1", "now", ""), Result("c1", "noon"), Says("Noon.")])
    (found,) = transcript.turns[0].tool_calls or ()
    assert (found.input, found.raw_input) == ({}, None)


async def test_a_call_that_nobody_parsed_is_no_call_and_not_nothing(tell: Tell) -> None:
    unparsed = tell([User("Refund"), Says('<tool_call name="refund" args={"id":1}'), User("?"), Says("abc")])
    first, second = unparsed.turns
    assert first.coverage["tool_calls"] == "partial"
    assert "looks like a tool call nobody parsed" in first.reasons["tool_calls"]
    assert second.coverage["tool_calls"] == "complete"
    found = await outcomes(
        unparsed,
        ("first", lambda session: session.turns[0].used_no_tools()),
        ("second", lambda session: session.turns[1].used_no_tools()),
    )
    assert found == {"first": "unavailable", "second": "matched"}


async def test_a_result_that_nobody_asked_for_is_said(tell: Tell) -> None:
    (turn,) = tell([User("Go"), Says("Hm."), Result("c9", "surprise"), Says("Done.")]).turns
    assert turn.tool_calls == ()
    assert turn.coverage["tool_calls"] == "partial"
    assert "c9" in turn.reasons["tool_calls"]
    assert "surprise" in turn.reasons["tool_calls"]


async def test_an_answer_of_nothing_is_an_empty_text(tell: Tell) -> None:
    (turn,) = tell([User("Hello"), Says("")]).turns
    assert (turn.messages, turn.coverage["messages"]) == (("",), "complete")
