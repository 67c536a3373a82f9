"""Files of conversations: what they hold is found out, and what cannot be read is said with its place."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from niceeval import ToolNames, read_jsonl
from niceeval.agents._steps import Knowledge
from niceeval.errors import EvalLoadError
from niceeval.transcripts._scanning import elements_of
from niceeval.transcripts.files import Shape, Source, open_source
from niceeval.transcripts.formats import format_of


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": f"{text}!"}]


def write(path: Path, *values: object) -> Path:
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in values))
    return path


def source(path: Path, **shape: Any) -> Source:
    return open_source(path, path.name, Shape(**shape))


def inputs(found: Source) -> list[str]:
    return [turn.input for index in range(len(found)) for turn in found.load(index, Knowledge()).turns]


def ids(found: Source) -> list[str | None]:
    return [found.id(index) for index in range(len(found))]


def test_a_line_is_a_conversation_with_an_id_or_without(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.jsonl", {"id": "a1", "messages": said("One")}, "", said("Two"), {"messages": said("Three")}
    )
    found = list(read_jsonl(path))
    assert [(name, transcript.turns[0].input) for name, transcript in found] == [
        ("a1", "One"), (f"{path}:3", "Two"), (f"{path}:4", "Three"),
    ]  # fmt: skip


def test_a_line_is_a_message_of_the_conversation_that_it_names(tmp_path: Path) -> None:
    one, two = said("One"), said("Two")
    lines = [{**one[0], "thread_id": "a"}, {**two[0], "thread_id": "b"}, {**one[1], "thread_id": "a"},
             {**two[1], "thread_id": "b"}]  # fmt: skip
    found = dict(read_jsonl(write(tmp_path / "x.jsonl", *lines)))
    assert {name: (turn.turns[0].input, turn.turns[0].messages) for name, turn in found.items()} == {
        "a": ("One", ("One!",)),
        "b": ("Two", ("Two!",)),
    }
    wrapped = [{"meta": {"chat": 7}, "body": message} for message in one]
    path = write(tmp_path / "y.jsonl", *wrapped)
    ((name, transcript),) = read_jsonl(path, group_by="meta.chat", messages="body")
    assert (name, transcript.turns[0].messages) == ("7", ("One!",))


def test_messages_without_a_conversation_are_asked_about(tmp_path: Path) -> None:
    with pytest.raises(EvalLoadError, match=r"x.jsonl:1 is a single message; say by which field"):
        list(read_jsonl(write(tmp_path / "x.jsonl", *said("One"))))


def test_a_message_that_does_not_say_where_it_belongs_is_not_dropped(tmp_path: Path) -> None:
    one = [{**message, "thread_id": "a"} for message in said("One")]
    found = source(write(tmp_path / "x.jsonl", *one, said("Two")[0], "{", one[0]))
    assert ids(found) == ["a", None, None]
    for index, sentence in ((1, "x.jsonl:3 does not say which conversation"), (2, "x.jsonl:4 is not JSON")):
        with pytest.raises(EvalLoadError, match=sentence):
            found.load(index, Knowledge())


def test_ids_and_messages_are_where_they_are_said_to_be(tmp_path: Path) -> None:
    records = [{"task": 1, "trial": trial, "run": {"traj": said(f"{trial}")}} for trial in (0, 1)]
    found = source(write(tmp_path / "x.json", json.dumps(records)), messages="run.traj", ids=("task", "trial"))
    assert (ids(found), inputs(found)) == (["1-0", "1-1"], ["0", "1"])
    assert [found.place(index) for index in range(2)] == ["x.json row 1", "x.json row 2"]
    nowhere = source(tmp_path / "x.json", messages="run.messages")
    with pytest.raises(EvalLoadError, match=r"x.json row 1 has no messages at 'run.messages'"):
        nowhere.load(0, Knowledge())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (said("One"), ["One"]),
        ({"messages": said("One")}, ["One"]),
        ([said("One"), said("Two")], ["One", "Two"]),
        ([{"messages": said("One")}, {"messages": said("Two")}], ["One", "Two"]),
        ([], []),
    ],
)
def test_what_a_json_file_holds_is_found_out(tmp_path: Path, content: Any, expected: Sequence[str]) -> None:
    for text in (json.dumps(content), "\ufeff \n" + json.dumps(content, indent=2) + "\n"):
        assert inputs(source(write(tmp_path / "x.json", text))) == expected


def test_json_lines_are_found_out_under_any_name(tmp_path: Path) -> None:
    found = source(write(tmp_path / "x.log", {"messages": said("One")}, {"messages": said("Two")}))
    assert inputs(found) == ["One", "Two"]


def test_what_cannot_be_read_is_said_with_its_place(tmp_path: Path) -> None:
    found = source(
        write(tmp_path / "x.jsonl", {"messages": said("One")}, '{"messages": [', {"messages": [7]}, {"a": 1})
    )
    assert len(found) == 4
    for index, sentence in enumerate(
        ["x.jsonl:2 is not JSON", "x.jsonl:3 cannot be read: its messages are in none", "no list of messages"], 1
    ):
        with pytest.raises(EvalLoadError, match=sentence):
            found.load(index, Knowledge())


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("x.json", "", "x.json: the file is empty"),
        ("x.json", '[{"messages": []},', "x.json: the file ends within the array"),
        ("x.json", "[1] [2]", "x.json: something follows the array, at byte 5"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    with pytest.raises(EvalLoadError, match=sentence):
        source(write(tmp_path / name, text))
    with pytest.raises(EvalLoadError, match=r"cannot read nothing.json: No such file"):
        source(tmp_path / "nothing.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\[]{},:\u00e9\n'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='k"\\,]', max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(values=st.lists(json_values, max_size=6), indent=st.sampled_from([None, 1]), ascii=st.booleans())
def test_the_elements_of_an_array_are_found_without_parsing_it(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], indent: int | None, ascii: bool
) -> None:
    path = tmp_path_factory.mktemp("array") / "x.json"
    path.write_text(json.dumps(values, indent=indent, ensure_ascii=ascii), encoding="utf-8")
    places = elements_of(path)
    with path.open("rb") as file:
        assert [json.loads(places.read(file, index)) for index in range(len(places))] == values


def test_elements_are_found_across_the_pieces_that_a_file_is_read_in(tmp_path: Path) -> None:
    values = [{"text": '\\"' * 400_000, "n": 1}, "[" * 700_000, [{"deep": "\\" * 900_000}]]
    path = write(tmp_path / "x.json", json.dumps(values))
    places = elements_of(path)
    with path.open("rb") as file:
        assert [json.loads(places.read(file, index)) for index in range(len(places))] == values


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [
        (said("x"), "openai"),
        ([{"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f"}}]}], "openai"),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}], "anthropic"),
        ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}], "anthropic"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}], "responses"),
        ([{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "c", "name": "f"}], "responses"),
        ({"output": [{"type": "message", "role": "assistant", "content": []}]}, "responses"),
        ([{"type": "human", "content": "x"}], "langchain"),
        ([{"type": "system", "data": {"content": "x"}}], "langchain"),
        ({"values": {"messages": []}}, "langchain"),
        ([{"kind": "request", "parts": []}], "pydantic-ai"),
    ],
)
def test_the_format_is_found_out(conversation: Any, expected: str) -> None:
    assert format_of(conversation) == expected


def test_the_exports_of_a_file_are_joined_to_conversations(tmp_path: Path) -> None:
    def export(trace: str, start: int, conversation: str | None, text: str) -> dict[str, Any]:
        messages = {
            "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": text}]}],
            "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": f"{text}!"}]}],
        }
        named = {} if conversation is None else {"gen_ai.conversation.id": conversation}
        values = {"gen_ai.operation.name": "chat", **named, **{key: json.dumps(each) for key, each in messages.items()}}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
        span = {"traceId": trace, "spanId": "1", "startTimeUnixNano": start, "attributes": attributes}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}

    lines = [export("t1", 1, "a", "One"), export("t2", 2, None, "Other"), "{", export("t3", 3, "a", "Two")]
    found = source(write(tmp_path / "traces.json", *lines))
    assert ids(found) == ["a", "t2", None]
    assert [turn.input for turn in found.load(0, Knowledge()).turns] == ["One", "Two"]
    assert [turn.input for turn in found.load(1, Knowledge()).turns] == ["Other"]
    with pytest.raises(EvalLoadError, match=r"traces.json:3 is not JSON"):
        found.load(2, Knowledge())


def test_what_is_known_besides_reaches_the_reader(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "github__search", "arguments": "{}"}}
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "found"}]  # fmt: skip
    path = write(tmp_path / "x.jsonl", {"messages": messages})
    ((_, transcript),) = read_jsonl(
        path, tool_status=lambda call: "completed", turn_status=lambda turn: "waiting",
        tool_names=ToolNames({"github": ["search"]}),
    )  # fmt: skip
    (turn,) = transcript.turns
    assert turn.status == "waiting"
    assert [(call.server, call.name, call.status) for call in turn.tool_calls or ()] == [
        ("github", "search", "completed")
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"format": "carrier-pigeon"}, "format is one of openai"), ({"messages": " "}, "messages takes a path")],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_jsonl(tmp_path / "x.jsonl", **options)
