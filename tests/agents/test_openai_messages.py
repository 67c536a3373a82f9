"""Reading chat-completions messages: which result belongs to which call, what is unknown, what is never invented."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval.agents import reply_from_openai, transcript_from_openai
from niceeval.transcript import Message, Thinking, ToolCall, TurnEvidence, Usage, turn_from_reply
from niceeval_expect._evaluation import Absent


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: Any, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}


def call(id: str | None, name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(id: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def only_turn(*messages: dict[str, Any]) -> TurnEvidence:
    (turn,) = transcript_from_openai(messages).turns
    return turn


def outputs(turn: TurnEvidence) -> list[Any]:
    return ["pending" if one.status == "pending" else one.output for one in turn.tool_calls or ()]


class TestTurns:
    def test_a_turn_runs_from_one_user_message_to_the_next(self) -> None:
        transcript = transcript_from_openai(
            [
                {"role": "system", "content": "be brief"},
                user("hi"),
                said("hello"),
                {"role": "developer", "content": "be polite"},
                user("where is it?"),
                said("let me see", call("c1", "lookup", '{"id": 1}')),
                result("c1", '{"status": "in transit"}'),
                said("on its way"),
            ]
        )
        first, second = transcript.turns
        assert (first.input, first.messages, first.tool_calls) == ("hi", ("hello",), ())
        assert second.messages == ("let me see", "on its way")
        assert second.tool_calls == (ToolCall("lookup", {"id": 1}, '{"status": "in transit"}', id="c1"),)
        assert [event.kind for event in second.events] == [
            "message",
            "message",
            "tool_call_started",
            "tool_call_finished",
            "message",
        ]

    def test_what_the_format_does_not_say_is_unknown(self) -> None:
        turn = only_turn(user("hi"), said("hello", call("c1")), result("c1", "x"))
        assert (turn.status, turn.usage, turn.failure) == (None, None, None)
        assert turn.tool_calls is not None
        assert turn.tool_calls[0].status is None
        assert turn.coverage == {"messages": "complete", "tool_calls": "complete", "usage": "none"}
        assert isinstance(turn.data, Absent)
        assert turn.reasons == {}

    def test_a_turn_that_was_answered_and_followed_is_completed(self) -> None:
        turns = transcript_from_openai([user("a"), said("one"), user("b"), user("c"), said("two")]).turns
        assert [turn.status for turn in turns] == ["completed", None, None]
        turns = transcript_from_openai([user("a"), said("let me see", call("c1")), user("b"), said("two")]).turns
        assert [turn.status for turn in turns] == [None, None]

    def test_turn_status_supplies_what_the_format_does_not_say(self) -> None:
        messages = [user("a"), said("one"), user("b"), said("Which order do you mean?")]
        ended = transcript_from_openai(messages, turn_status=lambda turn: "waiting").turns
        assert [turn.status for turn in ended] == ["completed", "waiting"]
        with pytest.raises(ValueError, match="turn_status returned 'done'"):
            transcript_from_openai(messages, turn_status=lambda turn: cast(Any, "done"))

    def test_a_conversation_that_ends_on_the_user(self) -> None:
        last = transcript_from_openai([user("hi"), said("hello"), user("###STOP###")]).turns[-1]
        assert (last.input, last.messages, last.tool_calls, last.status) == ("###STOP###", (), (), None)
        assert last.events == (Message("user", "###STOP###"),)

    def test_two_user_messages_in_a_row_are_two_turns(self) -> None:
        first, second = transcript_from_openai([user("hi"), user("are you there?"), said("yes")]).turns
        assert (first.input, first.messages) == ("hi", ())
        assert (second.input, second.messages) == ("are you there?", ("yes",))

    def test_an_agent_that_speaks_first(self) -> None:
        first, second = transcript_from_openai([said("how can I help?"), user("hi"), said("hello")]).turns
        assert (first.input, first.messages) == ("", ("how can I help?",))
        assert "opens with the agent" in first.reasons["input"]
        assert first.events == (Message("assistant", "how can I help?"),)
        assert second.reasons == {}

    def test_no_messages_no_turns(self) -> None:
        assert len(transcript_from_openai([])) == 0
        assert len(transcript_from_openai([{"role": "system", "content": "be brief"}])) == 0


class TestPairing:
    def test_parallel_calls_answered_out_of_order(self) -> None:
        turn = only_turn(user("go"), said(None, call("a"), call("b")), result("b", "B"), result("a", "A"), said("ok"))
        assert outputs(turn) == ["A", "B"]

    def test_an_id_reused_in_a_later_turn(self) -> None:
        first, second = transcript_from_openai(
            [
                user("1"),
                said(None, call("c1", "read_file", '{"path": "a"}')),
                result("c1", "A"),
                user("2"),
                said(None, call("c1", "write_file", '{"path": "b"}')),
                result("c1", "B"),
            ]
        ).turns
        assert first.tool_calls == (ToolCall("read_file", {"path": "a"}, "A", id="c1"),)
        assert second.tool_calls == (ToolCall("write_file", {"path": "b"}, "B", id="c1"),)

    def test_an_id_reused_within_a_turn_one_after_the_other(self) -> None:
        turn = only_turn(
            user("go"), said(None, call("c", "f")), result("c", "1"), said(None, call("c", "g")), result("c", "2")
        )
        assert outputs(turn) == ["1", "2"]

    def test_an_id_reused_while_the_first_call_is_open_goes_to_the_nearest_message(self) -> None:
        turn = only_turn(
            user("go"), said(None, call("c", "f")), said(None, call("c", "g")), result("c", "1"), result("c", "2")
        )
        assert outputs(turn) == ["2", "1"]

    def test_an_id_twice_in_one_message_is_answered_first_to_first(self) -> None:
        turn = only_turn(
            user("go"), said(None, call("c", "f"), call("d", "x"), call("c", "g")), result("c", "1"), result("c", "2")
        )
        assert outputs(turn) == ["1", "pending", "2"]

    def test_a_call_without_a_result_is_pending(self) -> None:
        turn = only_turn(user("delete 7"), said(None, call("c1", "delete_user", '{"id": 7}')))
        assert turn.tool_calls == (ToolCall("delete_user", {"id": 7}, id="c1"),)
        assert turn.tool_calls[0].output == Absent("no result yet")
        assert turn.messages == ()
        assert [event.kind for event in turn.events] == ["message", "tool_call_started"]

    def test_a_result_in_a_later_turn_does_not_cross_over(self) -> None:
        first, second = transcript_from_openai(
            [user("1"), said(None, call("c1")), user("2"), result("c1", "late"), said("ok")]
        ).turns
        assert outputs(first) == ["pending"]
        assert second.tool_calls == ()
        assert second.coverage["tool_calls"] == "partial"
        assert (
            second.reasons["tool_calls"]
            == "message 3 is a result without an unanswered call in its turn, call id 'c1': 'late'"
        )

    @pytest.mark.parametrize(
        "messages",
        [
            [said("x"), result("c9", "lost")],
            [said(None, call("c1")), result("c1", "1"), result("c1", "lost")],
            [said(None, call(None)), result("c1", "lost")],
            [said(None, call("c1")), result(None, "lost")],
            [{"role": "function", "name": "f", "content": "lost"}],
        ],
    )
    def test_a_result_without_a_call_is_kept_and_invents_nothing(self, messages: list[dict[str, Any]]) -> None:
        turn = only_turn(user("go"), *messages)
        assert "lost" not in outputs(turn)
        assert len(turn.tool_calls or ()) == sum(len(message.get("tool_calls") or ()) for message in messages)
        assert turn.coverage["tool_calls"] == "partial"
        assert "'lost'" in turn.reasons["tool_calls"]

    def test_many_lost_results_are_bounded(self) -> None:
        turn = only_turn(user("go"), *[result(f"c{number}", "x" * 10_000) for number in range(1_000)])
        assert "and 992 more" in turn.reasons["tool_calls"]
        assert len(turn.reasons["tool_calls"]) < 20_000

    def test_calls_without_ids_are_answered_by_name_else_in_order(self) -> None:
        turn = only_turn(
            user("go"),
            said(None, call(None, "f"), call(None, "g")),
            result(None, "G", name="g"),
            result(None, "F", name="f"),
            said(None, call(None, "h")),
            result(None, "H"),
        )
        assert outputs(turn) == ["F", "G", "H"]

    def test_the_legacy_function_format(self) -> None:
        turn = only_turn(
            user("go"),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
            {"role": "function", "name": "f", "content": "F"},
            said("done"),
        )
        assert turn.tool_calls == (ToolCall("f", {"a": 1}, "F"),)
        assert turn.messages == ("done",)

    @given(st.lists(st.sampled_from(["call a", "call b", "call aa", "result a", "result b", "user"]), max_size=30))
    def test_no_call_and_no_result_is_ever_lost_or_made_up(self, steps: list[str]) -> None:
        messages: list[dict[str, Any]] = [user("go")]
        for number, step in enumerate(steps):
            kind, _, ids = step.partition(" ")
            if kind == "call":
                messages.append(said(None, *[call(one) for one in ids]))
            else:
                messages.append(result(ids, number) if kind == "result" else user("next"))
        turns = transcript_from_openai(messages).turns
        calls = [one for turn in turns for one in turn.tool_calls or ()]
        results = [message["content"] for message in messages if message["role"] == "tool"]
        answered = [one.output for one in calls if one.status != "pending"]
        lost = [number for number in results if number not in answered]
        assert len(calls) == sum(len(message.get("tool_calls") or ()) for message in messages)
        assert len(set(answered)) == len(answered)
        assert set(answered) <= set(results)
        assert any(turn.coverage["tool_calls"] == "partial" for turn in turns) == bool(lost)


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "value"),
        [
            ('{"city": "Oslo"}', {"city": "Oslo"}),
            ("", {}),
            (" \n", {}),
            ("{}", {}),
            ("null", None),
            ("[1]", [1]),
            ("7", 7),
            ({"city": "Oslo"}, {"city": "Oslo"}),
            ({}, {}),
        ],
    )
    def test_readable_arguments(self, arguments: Any, value: Any) -> None:
        turn = only_turn(user("go"), said(None, call("c", "weather", arguments)))
        assert turn.tool_calls is not None
        assert turn.tool_calls[0].input == value
        assert turn.tool_calls[0].raw_input is None

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            ('{"city": "Par', "input ended at character 13 inside a string"),
            ('{}""', "a second JSON value starts at character 2"),
            ('{"a": 1}{"a": 1}', "a second JSON value"),
            ('"{\\"city\\":\\"Oslo\\"}"', "JSON encoded twice"),
            ('{"a": 1, "a": 2}', "'a' appears twice"),
            ('{"a": NaN}', "NaN"),
            ('{"a": Infinity}', "Infinity"),
            ("{'a': 1}", "single quotes"),
            ('{"a": 1,}', "trailing comma"),
            ("[" * 100_000, "levels deep"),
            ("city=Oslo", "not JSON"),
        ],
    )
    def test_a_call_with_unreadable_arguments_exists_and_is_never_empty(self, arguments: str, reason: str) -> None:
        turn = only_turn(user("go"), said(None, call("c", "weather", arguments)), result("c", "4 °C"))
        assert turn.tool_calls is not None
        (one,) = turn.tool_calls
        assert (one.name, one.output, one.raw_input) == ("weather", "4 °C", arguments)
        assert isinstance(one.input, Absent)
        assert one.input.reason.startswith("the arguments cannot be read: ")
        assert reason in one.input.reason
        # The call is there, so the channel is complete: only its input is unknown.
        assert turn.coverage["tool_calls"] == "complete"

    def test_arguments_that_are_not_there_are_not_empty(self) -> None:
        turn = only_turn(user("go"), said(None, {"id": "c", "function": {"name": "f"}}, call("d", "g", None)))
        assert turn.tool_calls is not None
        assert [one.input for one in turn.tool_calls] == [Absent("the call's input was not reported")] * 2

    def test_a_custom_tool_takes_free_text(self) -> None:
        custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
        assert only_turn(user("go"), said(None, custom)).tool_calls == (ToolCall("sql", "SELECT 1", id="c"),)

    def test_a_call_without_a_name_leaves_the_calls_partial(self) -> None:
        turn = only_turn(user("go"), said(None, call("c", ""), call("d", "f")))
        assert [one.name for one in turn.tool_calls or ()] == ["f"]
        assert turn.coverage["tool_calls"] == "partial"
        assert "message 1 has a call without a name" in turn.reasons["tool_calls"]


class TestContent:
    @pytest.mark.parametrize(
        ("messages", "texts"),
        [
            ([said("a"), said("b")], ("a", "b")),
            ([said(None, call("c")), result("c", "x")], ()),
            ([said("", call("c"))], ()),
            ([said("\n\n", call("c"))], ()),
            ([said("")], ("",)),
            ([said("let me see", call("c")), result("c", "x"), said(None)], ("let me see", "")),
            ([said([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])], ("ab",)),
            ([said([{"type": "refusal", "refusal": "I cannot."}])], ("I cannot.",)),
            ([{**said(None), "refusal": "I cannot."}], ("I cannot.",)),
            ([said(["a", "b"])], ("ab",)),
        ],
    )
    def test_what_the_assistant_said(self, messages: list[dict[str, Any]], texts: tuple[str, ...]) -> None:
        turn = only_turn(user("go"), *messages)
        assert turn.messages == texts
        assert turn.coverage["messages"] == "complete"

    def test_parts_that_are_not_text_are_noted(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        turn = only_turn(
            user([{"type": "text", "text": "what is "}, image, {"type": "text", "text": "this?"}]), said([image])
        )
        assert turn.input == "what is this?"
        assert turn.reasons["input"] == "message 0 has a part of type 'image_url', which is not text"
        assert turn.messages == ()
        assert turn.coverage["messages"] == "partial"

    def test_audio_is_noted(self) -> None:
        turn = only_turn(user("go"), {**said(None), "audio": {"id": "a1"}})
        assert (turn.messages, turn.coverage["messages"]) == ((), "partial")

    @pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
    def test_reasoning_is_thinking_and_no_message(self, key: str) -> None:
        turn = only_turn(user("go"), {**said("done"), key: "hm"})
        assert turn.events[1] == Thinking("hm")
        assert turn.messages == ("done",)

    @pytest.mark.parametrize(
        "text",
        [
            '<tool_call name="refund" args={"id":1}',
            'Sure.\n<tool_call>\n{"name": "refund"}\n</tool_call>',
            '<function=refund>{"id": 1}</function>',
            '[TOOL_CALLS][{"name": "refund"}]',
            '<|python_tag|>{"name": "refund"}',
            '<function_calls>\n<invoke name="refund">',
            "<TOOL_CALL>refund",
            "<tool_use><name>refund</name>",
            '```tool_call\n{"name": "refund"}\n```',
            '{"name": "refund", "arguments": {"id": 1}}',
            ' [{"name": "refund", "parameters": {"id": 1}}]\n',
            "[refund(id=1), notify()]",
            'functions.refund({"id": 1})',
            'assistant to=functions.refund {"id": 1}',
            'Thought: refund it\nAction: refund\nAction Input: {"id": 1}',
        ],
    )
    def test_text_that_looks_like_a_call_nobody_parsed(self, text: str) -> None:
        turn = only_turn(user("go"), said(text))
        assert turn.tool_calls == ()
        assert turn.coverage["tool_calls"] == "partial"
        assert "looks like a tool call nobody parsed" in turn.reasons["tool_calls"]
        assert turn.messages == (text,)

    @pytest.mark.parametrize(
        "text",
        [
            "abc",
            "use the tool_call tag",
            "a < b",
            "<toolbox>",
            "[1] TOOL CALLS",
            "[the policy](https://example.com/policy?id=1)",
            "[1](a=b) is a link.",
            '{"name": "Ana"}',
            '{"name": "Ana", "arguments": "none", "verdict": "lost"}',
            '[{"id": 1}]',
            "Action: none needed.",
            "refund(id=1)",
        ],
    )
    def test_other_text_does_not(self, text: str) -> None:
        assert only_turn(user("go"), said(text)).coverage["tool_calls"] == "complete"

    @pytest.mark.parametrize(
        ("content", "output"),
        [
            ('{"a": 1}', '{"a": 1}'),
            ("", ""),
            (None, None),
            ({"a": 1}, {"a": 1}),
            ([], []),
            ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
            ([{"type": "image", "data": "AA"}], [{"type": "image", "data": "AA"}]),
        ],
    )
    def test_tool_outputs_stay_what_they_were(self, content: Any, output: Any) -> None:
        assert outputs(only_turn(user("go"), said(None, call("c")), result("c", content))) == [output]


class TestToolStatus:
    def test_the_reader_says_what_the_format_does_not(self) -> None:
        asked: list[str | None] = []

        def status(one: ToolCall) -> Any:
            asked.append(one.id)
            return {"E": "failed", "R": "rejected", "U": None}.get(one.output, "completed")

        ids = ["a", "b", "c", "d", "e"]
        messages = [user("go"), said(None, *[call(one) for one in ids])]
        messages += [result(one, content) for one, content in zip(ids, ["x", "E", "R", "U"], strict=False)]
        (turn,) = transcript_from_openai(messages, tool_status=status).turns
        assert [one.status for one in turn.tool_calls or ()] == ["completed", "failed", "rejected", None, "pending"]
        # A call without a result is pending whatever anybody says.
        assert asked == ["a", "b", "c", "d"]

    def test_unreadable_arguments_are_kept(self) -> None:
        messages = [user("go"), said(None, call("c", "f", "{")), result("c", "x")]
        (turn,) = transcript_from_openai(messages, tool_status=lambda one: "failed").turns
        assert turn.tool_calls is not None
        assert (turn.tool_calls[0].status, turn.tool_calls[0].raw_input) == ("failed", "{")

    @pytest.mark.parametrize("status", ["done", "pending", True, 1])
    def test_what_is_no_status_is_refused(self, status: Any) -> None:
        with pytest.raises(ValueError, match=r"tool_status returned .* for a call of f that has a result"):
            transcript_from_openai(
                [user("go"), said(None, call("c")), result("c", "x")], tool_status=lambda one: status
            )


class TestReply:
    def test_the_messages_of_a_turn(self) -> None:
        reply = reply_from_openai(
            [
                said("let me see", call("c1", "lookup", '{"id": 1}')),
                result("c1", "in transit"),
                said("on its way"),
            ],
            usage=Usage(input_tokens=10, output_tokens=5),
        )
        turn = turn_from_reply("where is it?", reply)
        assert turn.messages == ("let me see", "on its way")
        assert turn.tool_calls == (ToolCall("lookup", {"id": 1}, "in transit", id="c1"),)
        assert (turn.status, turn.usage) == ("completed", Usage(input_tokens=10, output_tokens=5))
        assert [event.kind for event in turn.events] == [
            "message",
            "message",
            "tool_call_started",
            "tool_call_finished",
            "message",
        ]

    def test_a_whole_conversation_is_read_from_its_last_user_message(self) -> None:
        history = [{"role": "system", "content": "x"}, user("1"), said("one", call("c")), user("2"), said("two")]
        reply = reply_from_openai(history)
        assert (reply.message, reply.tool_calls, reply.status) == ("two", (), "completed")

    @pytest.mark.parametrize("messages", [[said(None, call("c"))], [said(None, call("c")), result("c", "x")]])
    def test_a_reply_that_does_not_end_on_text_is_not_said_to_be_completed(self, messages: list[Any]) -> None:
        reply = reply_from_openai(messages)
        assert (reply.status, reply.usage) == (None, None)
        assert turn_from_reply("go", reply).messages == ()

    def test_an_empty_answer_is_an_answer(self) -> None:
        turn = turn_from_reply("go", reply_from_openai([said("hm", call("c")), result("c", "x"), said("")]))
        assert turn.messages == ("hm", "")
        assert turn.status == "completed"

    def test_evidence_it_could_not_read_is_said(self) -> None:
        turn = turn_from_reply("refund", reply_from_openai([said('<tool_call name="refund" args={"id":1}')]))
        assert turn.coverage["tool_calls"] == "partial"
        assert "nobody parsed" in turn.reasons["tool_calls"]

    @pytest.mark.parametrize("messages", [[], [user("hi")], [said("old"), user("hi")], [{"role": "system"}]])
    def test_no_message_of_the_agent(self, messages: list[Any]) -> None:
        with pytest.raises(ValueError, match="append the response"):
            reply_from_openai(messages)


def as_objects(value: Any) -> Any:
    """Return dicts as the objects that an SDK has instead."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: as_objects(item) for key, item in value.items()})
    return [as_objects(item) for item in value] if isinstance(value, list) else value


def test_sdk_objects_read_like_dicts() -> None:
    messages = [
        {**said("let me see", call("c1", "f", '{"a": 1}')), "refusal": None, "audio": None, "function_call": None},
        result("c1", "x"),
        said([{"type": "text", "text": "done"}]),
    ]
    assert reply_from_openai(as_objects(messages)) == reply_from_openai(messages)
    # An agent's own list usually mixes both.
    assert reply_from_openai([as_objects(messages[0]), *messages[1:]]) == reply_from_openai(messages)


@pytest.mark.parametrize("read", [transcript_from_openai, reply_from_openai])
@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ("hello", r"takes a list of chat-completions messages, got str"),
        (None, "got NoneType"),
        ({"messages": []}, r'got dict: pass its "messages"'),
        (iter([]), "takes a list"),
        ([user("hi"), {"content": "x"}], r"messages\[1\] has no role, got dict"),
        ([user("hi"), "hello"], r"messages\[1\] has no role, got str"),
        ([user("hi"), said("a"), {"role": "human", "content": "x"}], r"messages\[2\] has the role 'human'"),
        ([SimpleNamespace(choices=[1])], r"messages\[0\] has no role, .*: pass .choices\[0\].message"),
        ([user("hi"), {"role": "assistant", "content": 7}], r"messages\[1\] content is text"),
        ([user({"text": "hi"})], r"messages\[0\] content is text"),
        ([user("hi"), {"role": "assistant", "tool_calls": {"id": "c"}}], r"messages\[1\] tool_calls is a list"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(read: Any, messages: Any, words: str) -> None:
    with pytest.raises(ValueError, match=rf"{read.__name__}\(\) .*{words}|{words}"):
        read(messages)


def test_ten_thousand_calls_are_read_in_linear_time() -> None:
    messages = [user("go")]
    for number in range(10_000):
        messages += [said(None, call("same", "ls", json.dumps({"n": number})))]
    messages += [result("same", number) for number in reversed(range(10_000))]
    turn = only_turn(*messages)
    assert [(one.input["n"], one.output) for one in turn.tool_calls or ()] == [(n, n) for n in range(10_000)]
