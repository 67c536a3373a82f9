"""Replies, tool calls and turns: what is said, what is unknown, and what is refused."""

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from niceeval.transcript import (
    ContextCompacted,
    ErrorEvent,
    Event,
    InputRequested,
    Message,
    Reply,
    SkillLoaded,
    Thinking,
    ToolCall,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
    turn_cut_off,
    turn_from_reply,
)
from niceeval_expect._evaluation import Absent

SEARCH = ToolCall("search", {"q": "cats"}, ["Tom"], status="completed", id="c1")


def kinds(events: Sequence[Event]) -> list[str]:
    return [event.kind for event in events]


class TestToolCall:
    def test_a_call_without_a_result_is_pending(self) -> None:
        call = ToolCall("delete_user", {"id": 7})
        assert call.status == "pending"
        assert call.output == Absent("no result yet")

    def test_an_output_without_a_status_is_of_unknown_status(self) -> None:
        assert ToolCall("find", {}, "found").status is None

    @pytest.mark.parametrize("status", ["completed", "failed", "rejected"])
    def test_a_status_without_an_output(self, status: Any) -> None:
        call = ToolCall("delete_user", {"id": 7}, status=status)
        assert call.status == status
        assert call.output == Absent("no output was reported")

    @pytest.mark.parametrize("value", [None, False, 0, "", [], {}])
    def test_falsy_inputs_and_outputs_are_values(self, value: Any) -> None:
        call = ToolCall("f", value, value)
        assert call.input == value
        assert call.output == value
        assert call.status is None

    def test_an_input_left_out_is_not_an_empty_one(self) -> None:
        assert ToolCall("f").input == Absent("the call's input was not reported")
        assert ToolCall("f") != ToolCall("f", {})

    def test_an_absent_output_says_nothing_about_the_status(self) -> None:
        assert ToolCall("f", {}, Absent("the log was cut")).status is None

    def test_unreadable_arguments_keep_their_text(self) -> None:
        call = ToolCall.unreadable("weather", '{"city": "Par', "it ends inside a string", "4 °C", id="c1")
        assert (call.raw_input, call.input) == ('{"city": "Par', Absent("it ends inside a string"))
        assert call.with_status("completed").raw_input == '{"city": "Par'

    def test_later_changes_do_not_reach_a_call(self) -> None:
        arguments: dict[str, Any] = {"ids": [1, {"a": 2}]}
        output: list[dict[str, list[str]]] = [{"rows": []}]
        call = ToolCall("f", arguments, output)
        arguments["ids"][1]["a"] = 3
        output[0]["rows"].append("x")
        assert call.input == {"ids": [1, {"a": 2}]}
        assert call.output == [{"rows": []}]

    def test_a_cycle_and_deep_nesting_are_kept(self) -> None:
        cycle: dict[str, Any] = {}
        cycle["self"] = cycle
        assert ToolCall("f", cycle).input["self"]["self"].keys() == {"self"}
        deep: list[Any] = []
        for _ in range(5_000):
            deep = [deep]
        assert ToolCall("f", deep).input is not None

    def test_equality_and_hash(self) -> None:
        first, second = ToolCall("f", {"a": [1]}, id="c"), ToolCall("f", {"a": [1]}, id="c")
        assert first == second
        assert len({first, second}) == 1
        assert first != ToolCall("f", {"a": [2]}, id="c")
        assert pickle.loads(pickle.dumps(first)) == first
        assert copy.deepcopy(first) == first

    @pytest.mark.parametrize(
        ("call", "text"),
        [
            (ToolCall("f"), "ToolCall('f')"),
            (ToolCall("f", {"a": 1}), "ToolCall('f', {'a': 1})"),
            (ToolCall("f", output=1), "ToolCall('f', output=1)"),
            (ToolCall("f", {}, "x", status="failed", id="c1"), "ToolCall('f', {}, 'x', status='failed', id='c1')"),
            (ToolCall("f", {}, status="rejected"), "ToolCall('f', {}, status='rejected')"),
            (ToolCall("f", {}, server="s"), "ToolCall('f', {}, server='s')"),
            (ToolCall.unreadable("f", "{", "cut"), "ToolCall('f', raw_input='{')"),
        ],
    )
    def test_repr_reads_like_the_call(self, call: ToolCall, text: str) -> None:
        assert repr(call) == text

    def test_repr_is_bounded(self) -> None:
        assert len(repr(ToolCall("f", {"text": "x" * 100_000}, "y" * 100_000))) < 600

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"name": ""}, ValueError, "name is blank"),
            ({"name": " \n"}, ValueError, "name is blank"),
            ({"name": None}, TypeError, "name is the tool's name as text, got NoneType"),
            ({"status": "done"}, ValueError, "got 'done'"),
            ({"output": "x", "status": "pending"}, ValueError, "has an output, so it is not pending"),
            ({"id": 7}, TypeError, "id=7"),
            ({"server": 7}, TypeError, "server=7"),
        ],
    )
    def test_bad_arguments(self, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            ToolCall(**{"name": "f", **arguments})


class TestUsage:
    def test_unknown_is_not_zero(self) -> None:
        assert Usage().total_tokens is None
        assert Usage(input_tokens=0).total_tokens is None
        assert Usage(input_tokens=0, output_tokens=0).total_tokens == 0

    @pytest.mark.parametrize(
        ("values", "error"),
        [
            ({"input_tokens": -1}, ValueError),
            ({"output_tokens": True}, TypeError),
            ({"output_tokens": 1.5}, TypeError),
            ({"cost_usd": -0.1}, ValueError),
            ({"cost_usd": float("nan")}, ValueError),
            ({"cost_usd": float("inf")}, ValueError),
            ({"cost_usd": "1"}, TypeError),
        ],
    )
    def test_bad_values(self, values: dict[str, Any], error: type[Exception]) -> None:
        with pytest.raises(error, match=next(iter(values))):
            Usage(**values)


class TestEvents:
    @pytest.mark.parametrize(
        ("event", "kind", "role", "text", "call"),
        [
            (Message("user", "hi"), "message", "user", "hi", None),
            (Message("assistant", ""), "message", "assistant", "", None),
            (ToolCallStarted(SEARCH), "tool_call_started", None, None, SEARCH),
            (ToolCallFinished(SEARCH), "tool_call_finished", None, None, SEARCH),
            (Thinking("hm"), "thinking", None, "hm", None),
            (InputRequested("may I?"), "input_requested", None, "may I?", None),
            (SkillLoaded("invoices"), "skill_loaded", None, "invoices", None),
            (ContextCompacted(), "context_compacted", None, None, None),
            (ErrorEvent("broken"), "error", None, "broken", None),
        ],
    )
    def test_every_event_answers_the_same_questions(
        self, event: Event, kind: str, role: str | None, text: str | None, call: ToolCall | None
    ) -> None:
        assert (event.kind, event.role, event.text, event.call) == (kind, role, text, call)

    @pytest.mark.parametrize(
        ("event", "arguments"),
        [
            (Message, ("system", "x")),
            (Message, ("user", None)),
            (ToolCallStarted, ("search",)),
            (ToolCallFinished, (None,)),
            (Thinking, (None,)),
            (InputRequested, (7,)),
            (SkillLoaded, (None,)),
            (ErrorEvent, (ValueError("x"),)),
        ],
    )
    def test_bad_arguments(self, event: Any, arguments: tuple[Any, ...]) -> None:
        with pytest.raises((TypeError, ValueError), match="got"):
            event(*arguments)


class TestReply:
    @pytest.mark.parametrize(
        ("reply", "coverage"),
        [
            (Reply("x"), ("complete", "none", "none")),
            (Reply("x", tool_calls=[]), ("complete", "complete", "none")),
            (Reply("x", tool_calls=[SEARCH], usage=Usage(input_tokens=1)), ("complete", "complete", "complete")),
            (Reply("x", usage=Usage()), ("complete", "none", "none")),
            (Reply("x", tool_calls=[], coverage={"tool_calls": "partial"}), ("complete", "partial", "none")),
            (Reply(status="failed"), ("none", "none", "none")),
            (Reply("half an ans", status="failed"), ("complete", "none", "none")),
            (Reply(coverage={"messages": "none"}), ("none", "none", "none")),
            (Reply("x", events=[ToolCallStarted(SEARCH)]), ("complete", "partial", "none")),
            (
                Reply("x", events=[ToolCallStarted(SEARCH)], coverage={"tool_calls": "complete"}),
                ("complete", "complete", "none"),
            ),
        ],
    )
    def test_coverage_follows_from_what_is_given(self, reply: Reply, coverage: tuple[str, str, str]) -> None:
        assert tuple(reply.coverage.values()) == coverage

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"message": None}, TypeError, "message is text, got NoneType"),
            ({"message": {"a": 1}}, TypeError, "structured output goes into data="),
            ({"status": "done"}, ValueError, "status is one of completed, failed, waiting, .*got 'done'"),
            ({"tool_calls": [{"name": "f"}]}, TypeError, r"tool_calls\[0\] is a ToolCall, got dict"),
            ({"tool_calls": "search"}, TypeError, "tool_calls is a list, got str"),
            ({"tool_calls": SEARCH}, TypeError, "tool_calls is a list, got ToolCall"),
            ({"events": ["x"]}, TypeError, r"events\[0\] is an event"),
            ({"usage": {"input_tokens": 1}}, TypeError, "usage is a Usage or None, got dict"),
            ({"coverage": {"tools": "none"}}, ValueError, "messages, tool_calls, usage; got 'tools'"),
            ({"coverage": {"usage": "some"}}, ValueError, "complete, partial, none; got 'some'"),
            ({"coverage": ["usage"]}, TypeError, "coverage is a mapping"),
            ({"tool_calls": [SEARCH], "coverage": {"tool_calls": "none"}}, ValueError, "say 'partial'"),
            ({"message": "x", "coverage": {"messages": "none"}}, ValueError, "say 'partial'"),
            ({"coverage": {"tool_calls": "complete"}}, ValueError, r"say tool_calls=\[\]"),
            ({"coverage": {"usage": "complete"}}, ValueError, "say usage=Usage"),
        ],
    )
    def test_bad_arguments(self, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            Reply(**arguments)

    def test_later_changes_do_not_reach_a_reply(self) -> None:
        data, calls = {"items": [1]}, [SEARCH]
        reply = Reply(data=data, tool_calls=calls)
        data["items"].append(2)
        calls.clear()
        assert reply.data == {"items": [1]}
        assert reply.tool_calls == (SEARCH,)

    def test_data_that_is_null_is_data(self) -> None:
        assert Reply(data=None).data is None
        assert Reply().data == Absent("no data was reported")


class TestTurnFromReply:
    def test_text_reports_no_calls(self) -> None:
        turn = turn_from_reply("hi", "hello")
        assert (turn.input, turn.status, turn.messages) == ("hi", "completed", ("hello",))
        assert turn.tool_calls is None
        assert turn.coverage == {"messages": "complete", "tool_calls": "none", "usage": "none"}
        assert turn.events == (Message("user", "hi"), Message("assistant", "hello"))

    @pytest.mark.parametrize(
        ("reply", "messages"),
        [
            (Reply(""), ("",)),
            (Reply("", status="waiting"), ("",)),
            (Reply("", status="failed"), ()),
            (Reply("half", status="failed"), ("half",)),
            (Reply("", status=None), ()),
            (Reply(coverage={"messages": "none"}), None),
            (Reply("b", events=[Message("assistant", "a"), Message("assistant", "b")]), ("a", "b")),
            (Reply("c", events=[Message("assistant", "a"), Message("user", "b")]), ("a", "c")),
            (Reply(events=[Message("assistant", "a")]), ("a",)),
            (Reply(events=[Message("assistant", "a")], status="failed"), ("a",)),
        ],
    )
    def test_messages(self, reply: Reply, messages: tuple[str, ...] | None) -> None:
        assert turn_from_reply("hi", reply).messages == messages

    def test_events_follow_from_calls(self) -> None:
        waiting = ToolCall("delete", {"id": 7})
        turn = turn_from_reply("go", Reply("done", tool_calls=[SEARCH, waiting]))
        assert turn.events == (
            Message("user", "go"),
            ToolCallStarted(SEARCH),
            ToolCallFinished(SEARCH),
            ToolCallStarted(waiting),
            Message("assistant", "done"),
        )

    def test_given_events_are_kept_and_completed(self) -> None:
        turn = turn_from_reply("go", Reply("done", events=[Thinking("hm"), SkillLoaded("s")]))
        assert kinds(turn.events) == ["message", "thinking", "skill_loaded", "message"]
        turn = turn_from_reply("go", Reply(events=[Message("user", "GO"), Message("assistant", "done")]))
        assert kinds(turn.events) == ["message", "message"]

    def test_calls_known_from_events_only_are_partial(self) -> None:
        started, finished = ToolCallStarted(ToolCall("f", {}, id="c1")), ToolCallFinished(ToolCall("f", {}, 1, id="c1"))
        turn = turn_from_reply("go", Reply("x", events=[started, finished]))
        assert turn.tool_calls == (ToolCall("f", {}, 1, id="c1"),)
        assert turn.coverage["tool_calls"] == "partial"
        assert "nobody said that they are all" in turn.reasons["tool_calls"]

    def test_a_started_call_that_shows_its_result_already_is_one_call(self) -> None:
        turn = turn_from_reply("go", Reply(events=[ToolCallStarted(SEARCH), ToolCallFinished(SEARCH)]))
        assert turn.tool_calls == (SEARCH,)

    def test_emitted_calls_stand_in_where_the_reply_reports_none(self) -> None:
        emitted = [ToolCall("f", {}, id="c1"), ToolCall("f", {}, id="c1"), ToolCall("f", {}, 1, id="c1")]
        turn = turn_from_reply("go", "done", emitted)
        assert turn.tool_calls == (emitted[2], emitted[0])
        assert turn.coverage["tool_calls"] == "partial"
        assert [event.call.status for event in turn.events if event.call] == ["pending", "pending", None]
        assert turn.messages == ("done",)

    def test_the_reply_decides_over_what_was_emitted(self) -> None:
        other = ToolCall("other", {})
        turn = turn_from_reply("go", Reply("done", tool_calls=[SEARCH, other]), [SEARCH, Thinking("hm")])
        assert turn.tool_calls == (SEARCH, other)
        assert turn.coverage["tool_calls"] == "complete"
        assert kinds(turn.events) == [
            "message",
            "thinking",
            "tool_call_started",
            "tool_call_finished",
            "tool_call_started",
            "message",
        ]

    @pytest.mark.parametrize("reply", [None, 7, {"message": "x"}])
    def test_something_else_is_refused(self, reply: Any) -> None:
        with pytest.raises(TypeError, match="text or a Reply"):
            turn_from_reply("hi", reply)


class TestTurnCutOff:
    def test_what_was_reported_is_kept_and_nothing_is_complete(self) -> None:
        turn = turn_cut_off("go", [SEARCH, Message("assistant", "one moment")], "no reply within 2 s")
        assert turn.tool_calls == (SEARCH,)
        assert turn.messages == ("one moment",)
        assert turn.coverage == {"messages": "partial", "tool_calls": "partial", "usage": "none"}
        assert set(turn.reasons.values()) == {"no reply within 2 s"}
        assert kinds(turn.events) == ["message", "tool_call_started", "tool_call_finished", "message"]

    def test_nothing_reported_is_not_no_calls(self) -> None:
        turn = turn_cut_off("go", [], "the agent broke")
        assert turn.tool_calls is None
        assert set(turn.coverage.values()) == {"none"}
        assert (turn.status, turn.failure) == ("failed", "the agent broke")
