"""Logs that inspect_ai writes."""

from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalError, EvalSample, EvalSampleLimit
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentToolUse,
    ModelOutput,
    StopReason,
)
from inspect_ai.tool import ToolCall as InspectCall
from inspect_ai.tool import ToolCallError

from niceeval import ErrorEvent, Thinking, transcripts_from_inspect
from niceeval.errors import EvalLoadError
from tests.transcripts.told import write_inspect_log

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library itself

CALLS = ChatMessageAssistant(
    content=[ContentReasoning(reasoning="Look it up."), ContentText(text="One moment.")],
    tool_calls=[InspectCall(id="c1", function="lookup", arguments={"id": "ORD-1"})],
)


def sample(id: str | int, *messages: object, reason: StopReason = "stop", epoch: int = 1) -> EvalSample:
    said = [message for message in messages if isinstance(message, ChatMessageAssistant)]
    output = ModelOutput(
        model="m", choices=[ChatCompletionChoice(message=said[-1], stop_reason=reason)] if said else []
    )
    return EvalSample.model_validate(
        {"id": id, "epoch": epoch, "input": "", "target": "", "messages": list(messages), "output": output}
    )


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_every_sample_is_a_conversation(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.{ending}"
    write_inspect_log(
        path,
        [
            sample(
                "a", ChatMessageSystem(content="Be kind."), ChatMessageUser(content="Where is ORD-1?"), CALLS,
                ChatMessageTool(content="in transit", tool_call_id="c1", function="lookup"),
                ChatMessageAssistant(content="On its way."),
            ),
            sample(2, ChatMessageUser(content="Hi"), ChatMessageAssistant(content="Hello")),
        ],
    )  # fmt: skip
    found = dict(transcripts_from_inspect(path))
    assert set(found) == {"a", "2"}
    (turn,) = found["a"].turns
    assert (turn.messages, turn.status) == (("One moment.", "On its way."), "completed")
    assert Thinking("Look it up.") in turn.events
    assert [(call.name, call.output, call.status) for call in turn.tool_calls or ()] == [
        ("lookup", "in transit", "completed")
    ]
    assert (turn.usage, turn.coverage["usage"]) == (None, "none")


def test_epochs_are_told_apart(tmp_path: Path) -> None:
    said = (ChatMessageUser(content="Hi"), ChatMessageAssistant(content="Hello"))
    write_inspect_log(tmp_path / "log.eval", [sample("a", *said), sample("a", *said, epoch=2)])
    assert list(dict(transcripts_from_inspect(tmp_path / "log.eval"))) == ["a/1", "a/2"]


@pytest.mark.parametrize(("kind", "status"), [("approval", "rejected"), ("timeout", "failed")])
def test_an_error_of_a_tool_says_how_its_call_ended(tmp_path: Path, kind: Any, status: str) -> None:
    error = ToolCallError(kind, "no")
    answer = ChatMessageTool(content="", tool_call_id="c1", function="lookup", error=error)
    write_inspect_log(tmp_path / "log.eval", [sample("a", ChatMessageUser(content="Hi"), CALLS, answer)])
    (turn,) = dict(transcripts_from_inspect(tmp_path / "log.eval"))["a"].turns
    assert [(call.output, call.status) for call in turn.tool_calls or ()] == [("no", status)]


def test_a_sample_that_broke_off_has_a_failed_turn(tmp_path: Path) -> None:
    said = (ChatMessageUser(content="Hi"), ChatMessageAssistant(content="Hello"))
    broken = sample("broken", *said)
    broken.error = EvalError(message="out of order", traceback="", traceback_ansi="")
    limited = sample("limited", *said)
    limited.limit = EvalSampleLimit(type="token", limit=100)
    cut = sample("cut", *said, reason="max_tokens")
    write_inspect_log(tmp_path / "log.eval", [broken, limited, cut])
    found = {name: transcript.turns[-1] for name, transcript in transcripts_from_inspect(tmp_path / "log.eval")}
    assert {turn.status for turn in found.values()} == {"failed"}
    assert ErrorEvent("the sample ended in an error: out of order") in found["broken"].events
    assert ErrorEvent("the sample ended at its limit of token: 100") in found["limited"].events
    assert found["cut"].coverage["messages"] == "partial"


def test_calls_on_the_providers_servers_are_calls_and_images_are_said(tmp_path: Path) -> None:
    search = ContentToolUse(
        tool_type="mcp_call", id="s1", name="search", context="docs", arguments='{"q": "x"}', result="found"
    )
    failed = ContentToolUse(tool_type="web_search", id="s2", name="web", arguments="{}", result="", error="down")
    said = ChatMessageAssistant(content=[search, failed, ContentImage(image="data:image/png;base64,eA==")])
    write_inspect_log(tmp_path / "log.eval", [sample("a", ChatMessageUser(content="Hi"), said)])
    (turn,) = dict(transcripts_from_inspect(tmp_path / "log.eval"))["a"].turns
    assert [(call.server, call.name, call.output, call.status) for call in turn.tool_calls or ()] == [
        ("docs", "search", "found", "completed"),
        (None, "web", "down", "failed"),
    ]
    assert "'image'" in turn.reasons["messages"]


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_text("nothing of the kind")
    with pytest.raises(EvalLoadError, match="cannot be read as a log of inspect_ai"):
        list(transcripts_from_inspect(tmp_path / "log.eval"))
