"""Answers of a model server, as the two protocols have them."""

import json
from collections.abc import Callable
from typing import Any

from niceeval import JudgeConfig
from tests.servers.scripted import Answer, Plain, Request, ScriptedServer, as_json

KEY = "sk-judge-key-0123456789"
VARIABLE = "JUDGE_TEST_KEY"


def chat(text: str | None, *, finish: str = "stop", refusal: str | None = None, usage: bool = True) -> Plain:
    """A chat completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body: dict[str, Any] = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small-2026",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47}
    return as_json(body)


def message(text: str, *, stop: str = "end_turn", **more: Any) -> Plain:
    """A message of Anthropic's protocol."""
    return as_json({
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": "small-2026",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 40, "output_tokens": 7},
        **more,
    })  # fmt: skip


def choice(letter: str, rationale: str = "since it is so") -> str:
    """A structured answer."""
    return json.dumps({"rationale": rationale, "choice": letter})


def prompt_of(request: Request) -> str:
    """The text that a judge was given, without what stands before every rule."""
    messages = request.json["messages"]
    return str(messages[-1]["content"])


def header(request: Request, name: str) -> str | None:
    """A header, however its name is written."""
    return next((value for key, value in request.headers.items() if key.lower() == name), None)


def answered(server: ScriptedServer, by: Callable[[Request], Answer] | Answer) -> None:
    """Answer every request the same way, or by a function."""
    server.answer = by if callable(by) else lambda request: by


def judge(server: ScriptedServer, **options: Any) -> JudgeConfig:
    """A judge of this server."""
    path = "" if options.get("provider") == "anthropic" else "/v1"
    given = {"model": "small", "base_url": f"{server.url}{path}", "key_variable": VARIABLE, "retries": 0, **options}
    return JudgeConfig(**given)
