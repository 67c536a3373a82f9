"""What the tests of agents behind a provider's protocol share: faults of the far end, and turns with an agent."""

import json
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, final

import attrs

from niceeval import AgentContext, AgentLike, Reply
from niceeval.agents.function import as_agent
from tests.agents.contract import RETRY_AFTER, SENTENCE, Fault
from tests.servers.scripted import Answer, Dropped, Request, ScriptedServer, as_json, html


def fault_answer(fault: Fault, server: ScriptedServer, cut: Answer, kind: str = "invalid_request_error") -> Answer:
    """Return how a provider shows a fault; `cut` is the stream that ends in the middle."""
    answers: dict[Fault, Answer] = {
        "rate-limited": as_json(_error("rate_limit_error", "slow down"), 429, retry_after=f"{RETRY_AFTER:g}"),
        "server-error": as_json(_error("server_error", "it broke"), 500),
        "gateway-page": html(502),
        "silent": server.silent(),
        "dropped": Dropped(),
        "cut": cut,
        "bad-key": as_json(_error("authentication_error", "no such key"), 401),
        "bad-request": as_json(_error(kind, SENTENCE), 400),
        "page-for-an-answer": html(200),
    }
    return answers[fault]


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@final
@attrs.frozen
class Hanging:
    """The beginning of a stream, after which nothing comes until the server is closed."""

    events: Iterable[str | Mapping[str, Any]]
    server: ScriptedServer

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for event in self.events:
            data = event if isinstance(event, str) else json.dumps(event)
            handler.wfile.write(f"data: {data}\n\n".encode())
        handler.wfile.flush()
        self.server.silent().send(handler)


async def one_turn(agent: AgentLike, message: str = "Hello", ctx: AgentContext | None = None) -> Reply:
    """Return what an agent makes of one message."""
    reply = await as_agent(agent).reply(message, ctx or AgentContext())
    assert isinstance(reply, Reply)
    return reply


def sent_key(request: Request) -> str:
    """Return the header with the key; which one it is, the SDKs' versions decide."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return headers.get("authorization") or headers["x-api-key"]
