"""Agents behind an HTTP endpoint: what is sent, what is read, and what each fault means."""

import base64
import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import parse_qs, quote

import anyio
import pytest

from niceeval import (
    AgentContext,
    AgentLike,
    AgentUnavailable,
    CallPaths,
    HttpAgent,
    Reply,
    ReplyPaths,
    RunResult,
    StreamPaths,
    ToolNames,
    attempt,
    define_eval,
    run_eval,
)
from niceeval.agents._http_errors import retry_after
from niceeval.agents.http import BadReply
from niceeval.redaction import current_redactor, forget_secrets
from niceeval_expect import Absent, equals, includes, tool_match
from tests.agents.contract import (
    RETRY_AFTER,
    SENTENCE,
    Call,
    Exchange,
    NotApplicable,
    Scenario,
    check_contract,
    each_scenario,
)
from tests.servers.scripted import (
    Answer,
    Dropped,
    Events,
    Plain,
    Request,
    ScriptedServer,
    as_json,
    html,
    scripted_server,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_secrets() -> Iterator[None]:
    yield
    forget_secrets()


# -- the contract of all adapters

CALLS = CallPaths(
    "steps",
    name="tool",
    input="arguments",
    output="result",
    status="state",
    statuses={"ok": "completed", "error": "failed"},
    id="call_id",
)
PATHS = ReplyPaths(
    "answer.text", tool_calls=CALLS, input_tokens="usage.in", output_tokens="usage.out", session={"id": "conversation"}
)
STREAM = StreamPaths(
    text="delta", calls="piece", id="call_id", index="number", name="tool", arguments="json", done="finished"
)


def step(call: Call) -> dict[str, Any]:
    return {
        "tool": call.name,
        "arguments": call.arguments,
        "result": call.output,
        "state": "error" if call.failed else "ok",
        "call_id": call.id,
    }


def usage(exchange: Exchange) -> dict[str, Any]:
    used = exchange.usage
    return {} if used is None else {"usage": {"in": used.input_tokens, "out": used.output_tokens}}


def whole(exchange: Exchange) -> Answer:
    body = {"answer": {"text": exchange.text}, "steps": [step(call) for call in exchange.calls], "conversation": "s-1"}
    return as_json({**body, **usage(exchange)})


def events(exchange: Exchange, *, cut: bool = False) -> Answer:
    """The calls in pieces, their results, the text in pieces, and the end."""
    sent: list[Any] = []
    for model_step in exchange.steps:
        for number, call in enumerate(model_step.calls):
            half = len(call.arguments) // 2
            sent.append({"piece": {"call_id": call.id, "number": number, "tool": call.name, "json": ""}})
            sent.append({"piece": {"number": number, "json": call.arguments[:half]}})
            sent.append({"piece": [{"number": number, "json": call.arguments[half:]}]})
        for call in model_step.calls:
            result = step(call)
            sent.append({"steps": [{key: result[key] for key in ("result", "state", "call_id")}]})
    sent.extend({"delta": word} for word in exchange.text.replace(" ", " \n").split("\n"))
    if not cut:
        sent.append({"steps": [], "conversation": "s-1", **usage(exchange)})
        sent.append("finished")
    return Events(sent, cut=cut)


def answer_to(scenario: Scenario, server: ScriptedServer) -> Callable[[Request], Answer]:
    faults: dict[str, Answer] = {
        "rate-limited": as_json({"error": "too many"}, 429, retry_after=f"{RETRY_AFTER:g}"),
        "server-error": as_json({"error": "broken"}, 500),
        "gateway-page": html(502),
        "silent": server.silent(),
        "dropped": Dropped(),
        "bad-key": as_json({"error": "who are you"}, 401),
        "bad-request": as_json({"error": SENTENCE}, 400),
        "page-for-an-answer": html(200),
    }

    def answer(request: Request) -> Answer:
        exchange = next(each for each in scenario.exchanges if each.message == request.json["question"])
        if exchange.fault is not None and exchange.fault != "cut":
            return faults[exchange.fault]
        return events(exchange, cut=exchange.fault == "cut") if scenario.stream else whole(exchange)

    return answer


def build(scenario: Scenario) -> AbstractContextManager[AgentLike] | NotApplicable:
    @contextmanager
    def wired() -> Iterator[AgentLike]:
        with scripted_server() as server:
            server.answer = answer_to(scenario, server)
            yield HttpAgent(
                f"{server.url}/chat",
                request={"question": "{message}", "conversation": "{session.id}"},
                reply=PATHS,
                stream=STREAM if scenario.stream else None,
            )

    return wired()


@each_scenario
async def test_it_keeps_the_contract_of_all_adapters(scenario: Scenario) -> None:
    await check_contract(scenario, build, sees_pages=True)


# -- helpers


async def ask(agent: HttpAgent, *messages: str, ctx: AgentContext | None = None) -> list[Reply]:
    ctx = ctx or AgentContext()
    try:
        return [await agent.reply(message, ctx.for_turn(ctx.output_schema)) for message in messages]
    finally:
        await agent.aclose()


async def asked(answer: Answer, **options: Any) -> Reply:
    with scripted_server(answer) as server:
        return (await ask(HttpAgent(server.url, **options), "hi"))[0]


# -- what is sent


async def test_values_are_filled_in_with_their_types_and_what_is_not_there_is_left_out() -> None:
    template = {
        "text": "{message}",
        "who": "user says: {message}",
        "literal": "{{message}} and {not a name}",
        "model": "{model}",
        "schema": "{output_schema}",
        "try": "{attempt}",
        "settings": ["{flags.depth}", "{flags.absent}", "{flags}", 7, None, True],
        "history": "{history}",
        "messages": "{messages}",
    }
    with scripted_server(as_json({"message": "one"}), as_json({"message": "two"})) as server:
        agent = HttpAgent(server.url, request=template)
        await ask(agent, 'say "a"', "again", ctx=AgentContext(flags={"depth": 3}, attempt=2))
        first, second = (request.json for request in server.requests)
    said = [{"role": "user", "content": 'say "a"'}, {"role": "assistant", "content": "one"}]
    assert first == {
        "text": 'say "a"',
        "who": 'user says: say "a"',
        "literal": "{message} and {not a name}",
        "try": 2,
        "settings": [3, {"depth": 3}, 7, None, True],
        "history": [],
        "messages": said[:1],
    }
    assert second["history"] == said
    assert second["messages"] == [*said, {"role": "user", "content": "again"}]


async def test_a_made_up_session_id_stays_the_same_within_a_session_only() -> None:
    with scripted_server() as server:
        server.answer = lambda request: as_json({"message": request.json["s"]})
        agent = HttpAgent(server.url, request={"s": "{session.id}"})
        ours = await ask(agent, "1", "2")
        theirs = await ask(agent, "1")
    assert ours[0].message == ours[1].message != theirs[0].message


async def test_what_the_service_names_its_session_is_sent_back() -> None:
    with scripted_server(as_json({"message": "a", "conv": {"id": 7}}), as_json({"message": "b"})) as server:
        paths = ReplyPaths(session={"id": "conv.id"})
        await ask(HttpAgent(server.url, request={"q": "{message}", "conv": "{session.id}"}, reply=paths), "1", "2")
        assert [request.json for request in server.requests] == [{"q": "1"}, {"q": "2", "conv": 7}]


async def test_cookies_belong_to_a_session() -> None:
    with scripted_server() as server:
        server.answer = lambda request: Plain(
            json.dumps({"message": request.headers.get("cookie", "none")}),
            headers={"Set-Cookie": f"who={request.json['message']}; Path=/"},
        )
        agent, first, second = HttpAgent(server.url), AgentContext(), AgentContext()
        replies = [await agent.reply(text, ctx) for text, ctx in (("a", first), ("b", second), ("c", first))]
        await agent.aclose()
    assert [reply.message for reply in replies] == ["none", "none", "who=a"]


async def test_the_address_has_values_quoted_and_a_get_has_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server(as_json({"message": "a"})) as server:
        monkeypatch.setenv("SHOP_URL", server.url)
        agent = HttpAgent("{env:SHOP_URL}/ask?q={message}&s={flags.shop}", method="get")
        await ask(agent, "a/b & c://d?", ctx=AgentContext(flags={"shop": 7}))
        request = server.requests[0]
    assert (request.method, request.path) == ("GET", "/ask?q=a%2Fb%20%26%20c%3A%2F%2Fd%3F&s=7")
    assert request.body == b""


async def test_a_function_may_make_the_request_and_another_may_read_the_answer() -> None:
    async def make(message: str, ctx: AgentContext) -> Any:
        return [message, ctx.attempt]

    def read(body: Any, ctx: AgentContext) -> Reply:
        return Reply(f"{body['n']} for {ctx.attempt}", tool_calls=[])

    with scripted_server(as_json({"n": 1})) as server:
        (reply,) = await ask(HttpAgent(server.url, request=make, reply=read), "hi")
        assert server.requests[0].json == ["hi", 1]
    assert (reply.message, reply.coverage["tool_calls"]) == ("1 for 1", "complete")


async def test_a_key_from_the_environment_is_sent_and_kept_out_of_what_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_LOGIN", "opensesame-12345\n")
    monkeypatch.setenv("SHOP_REGION", "eu")
    with scripted_server() as server:
        server.answer = lambda request: as_json({"message": f"you sent {request.headers['authorization']}"})
        agent = HttpAgent(
            server.url, headers={"Authorization": "Bearer {env:SHOP_LOGIN}", "X-Region": "{env:SHOP_REGION}"}
        )
        run = await run_eval(says("opensesame-12345"), agent=agent)
        assert server.requests[0].headers["x-region"] == "eu"
    attempt = run.attempts[0]
    assert attempt.status == "passed"
    stored = attempt.model_dump_json()
    assert "opensesame" not in stored
    assert base64.b64encode(b"opensesame-12345").decode()[:12] not in stored
    assert "you sent Bearer [redacted:SHOP_LOGIN]" in stored
    # A short value is no secret: it would take ordinary words with it.
    assert current_redactor().redact_text("eu")[0] == "eu"


def says(text: str) -> Any:
    @define_eval
    async def eval_(t: Any) -> None:
        turn = await t.send("hi")
        t.check(turn.message, includes(text))

    return eval_


async def test_a_variable_that_is_not_set_is_said_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_KEY", raising=False)
    with scripted_server() as server:
        with pytest.raises(AgentUnavailable, match="SHOP_KEY is not set") as caught:
            await ask(HttpAgent(server.url, headers={"Authorization": "{env:SHOP_KEY}"}), "hi")
        assert server.requests == []
    assert caught.value.retryable is False


async def test_a_value_that_is_not_there_cannot_stand_within_a_text() -> None:
    with pytest.raises(AgentUnavailable, match=r"has \{model\} within a text") as caught:
        await ask(HttpAgent("http://127.0.0.1:9", request={"m": "use {model}"}), "hi")
    assert caught.value.retryable is False


async def test_a_header_that_cannot_be_sent_is_said() -> None:
    with pytest.raises(AgentUnavailable, match="cannot be sent") as caught:
        await ask(HttpAgent("http://127.0.0.1:9", headers={"X-Name": "\udcff"}), "hi")
    assert caught.value.retryable is False


async def test_a_request_that_is_no_json_is_said() -> None:
    for made in ({"a", "b"}, float("nan")):

        def make(message: str, ctx: AgentContext, made: Any = made) -> Any:
            return [made]

        with pytest.raises(AgentUnavailable, match="cannot be sent") as caught:
            await ask(HttpAgent("http://127.0.0.1:9", request=make), "hi")
        assert caught.value.retryable is False
    with pytest.raises(AgentUnavailable, match="cannot be sent"):
        await ask(HttpAgent("http://127.0.0.1:9/{message}"), "\ud800")


# -- what is read


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"text": "hi"}, r"\$\.message is missing; the object has 'text'"),
        ({"message": None}, "the message at 'message' is null"),
        ({"message": {"text": "hi"}}, "the message at 'message' is "),
        (["hi"], r"\$\.message is missing; the list has 1 item"),
        ("hi", "which has nothing inside"),
    ],
)
async def test_a_message_that_is_not_there_is_unreported(body: Any, reason: str) -> None:
    reply = await asked(as_json(body))
    assert reply.coverage["messages"] == "none"
    assert reply.status == "completed"
    assert re.search(reason, reply.reasons["messages"])


async def test_several_messages_are_all_kept() -> None:
    reply = await asked(as_json({"message": ["One moment.", "It is on its way."]}))
    assert reply.message == "It is on its way."
    assert [event.text for event in reply.events or ()] == ["One moment.", "It is on its way."]


async def test_calls_that_are_not_there_are_unreported_unless_the_author_knows_better() -> None:
    for body in ({"message": "hi"}, {"message": "hi", "tool_calls": None}):
        unreported = await asked(as_json(body), reply=ReplyPaths(tool_calls="tool_calls"))
        assert unreported.tool_calls is None
        assert "tool_calls" in unreported.reasons
        none = await asked(as_json(body), reply=ReplyPaths(tool_calls="tool_calls", no_calls="none"))
        assert none.tool_calls == ()
    unmapped = await asked(as_json({"message": "hi", "tool_calls": []}))
    assert (unmapped.tool_calls, unmapped.coverage["tool_calls"]) == (None, "none")


async def test_calls_that_cannot_be_read_leave_the_rest_and_a_note() -> None:
    body = {"message": "hi", "tool_calls": [{"name": "search", "input": {"q": 1}}, {"input": {}}, "refund"]}
    reply = await asked(as_json(body), reply=ReplyPaths(tool_calls="tool_calls"))
    assert [call.name for call in reply.tool_calls or ()] == ["search"]
    assert reply.coverage["tool_calls"] == "partial"
    assert "a call without a name" in reply.reasons["tool_calls"]
    wrong = await asked(as_json({"message": "hi", "tool_calls": "search"}), reply=ReplyPaths(tool_calls="tool_calls"))
    assert (wrong.tool_calls, wrong.coverage["tool_calls"]) == (None, "none")


async def test_text_that_looks_like_a_call_makes_the_calls_partial() -> None:
    body = {"message": '<tool_call name="refund" args={"id":1}', "tool_calls": []}
    reply = await asked(as_json(body), reply=ReplyPaths(tool_calls="tool_calls"))
    assert reply.coverage["tool_calls"] == "partial"


async def test_what_calls_returned_is_as_far_known_as_it_is_mapped() -> None:
    calls = [
        {"name": "a", "input": {}, "output": None},
        {"name": "b", "input": {}},
        {"name": "c", "input": {}, "error": "broken"},
        {"name": "d", "input": {}, "output": 7, "status": "pending"},
        {"name": "e", "input": {}, "output": "x", "status": "fine"},
        {"name": "f", "status": "rejected", "server": "files"},
    ]
    answer = as_json({"message": "", "tool_calls": calls})
    mapped = CallPaths(output="output", error="error", status="status", server="server")
    known = (await asked(answer, reply=ReplyPaths(tool_calls=mapped))).tool_calls or ()
    assert [call.status for call in known] == [None, "pending", "failed", None, None, "rejected"]
    assert [call.output for call in known[:4]] == [None, Absent("no result yet"), "broken", 7]
    assert (known[5].server, isinstance(known[5].input, Absent)) == ("files", True)
    # Nothing says what they returned: that is not the same as having no result yet.
    unmapped = (await asked(answer, reply=ReplyPaths(tool_calls=CallPaths()))).tool_calls or ()
    assert {call.status for call in unmapped} == {None}
    assert {call.output for call in unmapped} == {Absent("the agent does not report what its tools return")}


@pytest.mark.parametrize(
    ("counts", "tokens", "noted"),
    [
        ({"in": 3, "out": 4}, (3, 4), False),
        ({"in": 0, "out": None}, (0, None), False),
        ({"in": -1, "out": 2}, (None, 2), True),
        ({"in": "3", "out": True}, None, True),
        ({}, None, False),
    ],
)
async def test_usage_is_what_is_reported(counts: Any, tokens: Any, noted: bool) -> None:
    paths = ReplyPaths(input_tokens="usage.in", output_tokens="usage.out", cost_usd="usage.cost")
    reply = await asked(as_json({"message": "", "usage": counts}), reply=paths)
    found = None if reply.usage is None else (reply.usage.input_tokens, reply.usage.output_tokens)
    assert found == tokens
    assert ("usage" in reply.reasons) == noted


async def test_the_status_is_what_the_service_says_in_its_own_words() -> None:
    paths = ReplyPaths(status="state", statuses={"done": "completed", "asks": "waiting", False: "failed"})
    for state, status in (("done", "completed"), ("asks", "waiting"), (False, "failed"), (0, None), ("odd", None)):
        assert (await asked(as_json({"message": "m", "state": state}), reply=paths)).status == status
    assert (await asked(as_json({"message": "m"}), reply=paths)).status is None


async def test_data_is_read_where_it_is_and_null_is_a_value() -> None:
    paths = ReplyPaths(None, data="data")
    assert (await asked(as_json({"data": {"a": 1}}), reply=paths)).data == {"a": 1}
    assert (await asked(as_json({"data": None}), reply=paths)).data is None
    assert isinstance((await asked(as_json({}), reply=paths)).data, Absent)


async def test_text_is_the_message_as_it_is() -> None:
    reply = await asked(Plain("Grüße\n", type="text/plain; charset=utf-8"), output="text")
    assert reply.message == "Grüße\n"
    latin = await asked(Plain("Grüße".encode("latin-1"), type="text/plain; charset=latin-1"), output="text")
    assert latin.message == "Grüße"
    broken = await asked(Plain(b"Gr\xfc\xdfe", type="text/plain"), output="text")
    assert broken.message == "Gr\\xfc\\xdfe"


async def test_names_of_mcp_tools_are_resolved_where_they_are_known() -> None:
    calls = [{"name": "mcp__github__search", "input": {}}, {"name": "other__search", "input": {}}]
    reply = await asked(
        as_json({"message": "", "tool_calls": calls}),
        reply=ReplyPaths(tool_calls="tool_calls"),
        tool_names=ToolNames(["github"]),
    )
    assert [(call.server, call.name) for call in reply.tool_calls or ()] == [
        ("github", "search"),
        (None, "other__search"),
    ]


# -- faults

UNREACHED = {408: True, 425: True, 429: True, 500: True, 502: True, 503: True, 529: True} | dict.fromkeys(
    (301, 302, 401, 403, 404, 405, 407, 410), False
)


@pytest.mark.parametrize(("status", "retryable"), UNREACHED.items())
async def test_some_statuses_say_that_the_agent_cannot_be_reached(status: int, retryable: bool) -> None:
    with pytest.raises(AgentUnavailable, match=f"^POST http://127.0.0.1:[0-9]+ answered {status}.*busy") as caught:
        await asked(as_json({"error": "busy"}, status))
    assert (caught.value.retryable, caught.value.retry_after) == (retryable, None)


@pytest.mark.parametrize("status", [400, 402, 409, 413, 422, 451])
async def test_other_statuses_are_the_answer_to_this_case(status: int) -> None:
    with pytest.raises(BadReply, match=f"answered {status}.*too long"):
        await asked(as_json({"error": "too long"}, status))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "9" * 400}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "Tue, 01 Dec 2026 10:00:09 GMT", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 9),
        ({"Retry-After": "Tue, 01 Dec 2026 09:00:00 GMT", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 0),
    ],
)
async def test_when_to_try_again_is_a_number_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after({name.lower(): value for name, value in headers.items()}) == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b'{"message": "hi"', "not JSON.*message"),
        (b'{"message": NaN}', "not JSON"),
        (b'{"message": "\xff"}', "not JSON"),
    ],
)
async def test_a_body_that_is_not_json_is_the_agents_failure(body: bytes, words: str) -> None:
    with pytest.raises(BadReply, match=f"(?s){words}"):
        await asked(Plain(body))


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "application/json"])
async def test_a_stream_is_known_by_what_it_says_where_its_type_does_not(kind: str) -> None:
    said = 'data: {"delta": "Hi "}\n\ndata: {"delta": "there"}\n\n'
    with scripted_server(Plain(f"{said}data: [DONE]\n\n", type=kind), Plain(said, type=kind)) as server:
        agent = HttpAgent(server.url, stream="sse")
        assert (await ask(agent, "hi"))[0].message == "Hi there"
        with pytest.raises(AgentUnavailable, match="ended before its last event"):
            await ask(agent, "hi")


@pytest.mark.parametrize("charset", ["utf-8", "idna", "undefined", "hex", "nonsense"])
async def test_a_byte_order_mark_and_a_strange_charset_do_no_harm(charset: str) -> None:
    reply = await asked(Plain(b'\xef\xbb\xbf{"message": "hi"}', type=f"application/json; charset={charset}"))
    assert reply.message == "hi"


@pytest.mark.parametrize("proxy", ["notaurl://", "socks9://127.0.0.1:9"])
async def test_a_proxy_that_nobody_can_use_is_no_result(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(AgentUnavailable, match="no client can be made") as caught:
        await ask(HttpAgent("http://127.0.0.1:1"), "hi")
    assert not caught.value.retryable


async def test_a_password_in_the_address_is_not_shown() -> None:
    with scripted_server() as server:
        url = server.url.replace("//", "//shop:hunter2@")
    with pytest.raises(AgentUnavailable) as caught:
        await ask(HttpAgent(url), "hi")
    assert "hunter2" not in str(caught.value)


async def test_a_function_that_reads_answers_returns_text_or_a_reply() -> None:
    with scripted_server(as_json({"answer": "hi"})) as server, pytest.raises(TypeError, match="returned None"):
        await ask(HttpAgent(server.url, reply=lambda body, ctx: body.get("message")), "hi")


async def test_a_key_in_the_address_arrives_as_it_is_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    key = 'sk-a/b+c&d"e=='
    monkeypatch.setenv("SHOP_KEY", key)
    with scripted_server(as_json({}, 503)) as server:
        async with attempt(agent=HttpAgent(f"{server.url}/chat?key={{env:SHOP_KEY}}")) as t:
            with pytest.raises(AgentUnavailable):
                await t.send("hi")
    assert parse_qs(server.requests[0].path.partition("?")[2]) == {"key": [key]}
    assert "[redacted:SHOP_KEY]" in str(t.result.reason)
    assert quote(key, safe="") not in t.result.model_dump_json()


async def test_a_long_page_is_cut_and_marked() -> None:
    with pytest.raises(BadReply) as caught:
        await asked(Plain("<p>" + "x" * 100_000))
    assert len(str(caught.value)) < 600
    assert str(caught.value).endswith("…")


async def test_a_turn_that_takes_too_long_is_given_up() -> None:
    with scripted_server() as server:
        server.script.append(server.silent())
        with pytest.raises(AgentUnavailable, match=r"was not answered within 0\.1 s") as caught:
            await ask(HttpAgent(server.url, timeout=0.1), "hi")
    assert caught.value.retryable is True


async def test_nobody_at_the_address_is_no_result() -> None:
    with scripted_server() as server:
        url = server.url
    with pytest.raises(AgentUnavailable, match=f"^POST {url}.*Connect"):
        await ask(HttpAgent(url), "hi")


# -- streams


async def streamed(*sent: Any, cut: bool = False, **options: Any) -> Reply:
    with scripted_server(Events(sent, cut=cut)) as server:
        return (await ask(HttpAgent(server.url, stream=options.pop("stream", "sse"), **options), "hi"))[0]


async def test_pieces_of_text_are_joined_and_the_whole_text_takes_their_place() -> None:
    assert (await streamed({"delta": "On "}, {"delta": "its way."}, "[DONE]")).message == "On its way."
    twice = await streamed({"delta": "On "}, {"delta": "its way."}, {"message": "On its way."}, "[DONE]")
    assert (twice.message, twice.events) == ("On its way.", None)


async def test_text_before_and_after_a_call_are_two_messages() -> None:
    piece = {"call": {"id": "c", "name": "search", "arguments": "{}"}}
    reply = await streamed(
        {"delta": "Let me look."}, piece, {"delta": "Found."}, "[DONE]", stream=StreamPaths(calls="call")
    )
    assert [(event.kind, event.text) for event in reply.events or ()] == [
        ("message", "Let me look."),
        ("tool_call_started", None),
        ("message", "Found."),
    ]


async def test_pieces_of_calls_belong_by_id_then_by_index_then_to_the_last() -> None:
    pieces = [
        {"id": "a", "index": 0, "name": "one", "arguments": '{"x"'},
        {"id": "b", "index": 1, "name": "two", "arguments": ""},
        {"index": 0, "arguments": ": 1"},
        {"id": "b", "arguments": '{"y": 2'},
        {"arguments": "}"},
        {"id": "a", "index": 1, "arguments": "}"},
        # The next step begins to count anew.
        {"id": "c", "index": 0, "name": "three", "arguments": "{}"},
        {"index": 0, "arguments": " "},
    ]
    reply = await streamed(*({"call": piece} for piece in pieces), "[DONE]", stream=StreamPaths(calls="call"))
    assert [(call.id, call.name, call.input) for call in reply.tool_calls or ()] == [
        ("a", "one", {"x": 1}),
        ("b", "two", {"y": 2}),
        ("c", "three", {}),
    ]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [{"index": 0, "id": "a", "name": "f", "arguments": {"x": 1}}],
            [("f", {"x": 1})],
            id="arguments that are an object",
        ),
        pytest.param(
            [
                {"index": 0, "id": "a", "name": "f", "arguments": '{"x": 1}'},
                {"index": 1, "id": "a", "name": "f", "arguments": '{"x": 2}'},
            ],
            [("f", {"x": 1}), ("f", {"x": 2})],
            id="one id for two calls",
        ),
        pytest.param(
            [
                {"index": 0, "id": "a", "name": "f", "arguments": ""},
                {"index": 1, "id": "a", "name": "g", "arguments": ""},
                {"index": 0, "id": "a", "arguments": '{"x": 1}'},
                {"index": 1, "id": "a", "arguments": '{"y": 2}'},
            ],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="one id for two calls, interleaved",
        ),
        pytest.param(
            [{"index": 0, "id": "a", "name": "f", "arguments": '{"x": 1}'}] * 2, [("f", {"x": 1})], id="a piece again"
        ),
        pytest.param(
            [{"name": "f", "arguments": '{"x": 1}'}, {"name": "f", "arguments": '{"x": 2}'}],
            [("f", {"x": 1}), ("f", {"x": 2})],
            id="two whole calls with nothing to tell them apart",
        ),
        pytest.param(
            [{"index": 0, "name": "f", "arguments": '{"x": 1}'}, {"index": 0, "name": "g", "arguments": '{"y": 2}'}],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="an index used again",
        ),
        pytest.param(
            [{"id": "a", "name": "f", "arguments": '{"x": "\ud83d'}, {"id": "a", "arguments": '\ude00"}'}],
            [("f", {"x": "\U0001f600"})],
            id="a character cut in two",
        ),
    ],
)
async def test_a_piece_with_a_name_begins_a_call(pieces: list[Any], expected: list[Any]) -> None:
    reply = await streamed(*({"call": piece} for piece in pieces), "[DONE]", stream=StreamPaths(calls="call"))
    assert [(call.name, call.input) for call in reply.tool_calls or ()] == expected


async def test_a_character_that_is_cut_in_two_is_one() -> None:
    assert (await streamed({"delta": "Hi \ud83d"}, {"delta": "\ude00"}, "[DONE]")).message == "Hi \U0001f600"


async def test_the_type_of_a_stream_may_be_written_in_capitals() -> None:
    body = 'data: {"delta": "Hi"}\n\ndata: [DONE]\n\n'
    with scripted_server(Plain(body, type="Text/Event-Stream; charset=UTF-8")) as server:
        assert (await ask(HttpAgent(server.url, stream="sse"), "hi"))[0].message == "Hi"


async def test_an_id_used_again_in_one_stream_is_another_call() -> None:
    calls = CallPaths("call", output="output", id="id")
    sent = [
        {"call": {"id": "c1", "name": "read", "input": {"path": "a"}}},
        {"call": {"id": "c1", "output": "A"}},
        {"call": {"id": "c1", "name": "read", "input": {"path": "a"}}},
        {"call": {"id": "c1", "output": "A"}},
        {"call": {"id": "c9", "output": "nobody asked"}},
    ]
    reply = await streamed(*sent, "[DONE]", reply=ReplyPaths(tool_calls=calls))
    assert [(call.input, call.output) for call in reply.tool_calls or ()] == [({"path": "a"}, "A")] * 2
    assert "a result without an unanswered call" in reply.reasons["tool_calls"]


async def test_a_stream_that_ends_before_its_end_is_no_answer() -> None:
    with pytest.raises(AgentUnavailable, match="ended before its last event"):
        await streamed({"delta": "On "})
    assert (await streamed({"delta": "On "}, stream=StreamPaths(done=None))).message == "On "
    named = Events([{"type": "text", "delta": "Hi"}, {"type": "end", "usage": {"in": 3}}], named=True)
    reply = await asked(named, stream=StreamPaths(done="end"), reply=ReplyPaths(input_tokens="usage.in"))
    assert (reply.message, reply.usage and reply.usage.input_tokens) == ("Hi", 3)
    at = await streamed({"delta": "Hi", "last": False}, {"last": True}, stream=StreamPaths(done=None, done_at="last"))
    assert at.message == "Hi"


async def test_what_came_of_a_stream_is_kept_when_the_time_is_up() -> None:
    class Stuck:
        def __init__(self, server: ScriptedServer) -> None:
            self.server = server

        def send(self, handler: Any) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.end_headers()
            for sent in ({"call": {"id": "c", "name": "search", "arguments": '{"q": "pa'}}, {"delta": "Let me"}):
                handler.wfile.write(f"data: {json.dumps(sent)}\r\n\r\n: still here\n\n".encode())
            handler.wfile.flush()
            self.server.silent().send(handler)

    with scripted_server() as server:
        server.script.append(Stuck(server))
        async with attempt(agent=HttpAgent(server.url, stream=StreamPaths(calls="call"))) as t:
            session = t.new_session()
            with pytest.raises(AgentUnavailable):
                await session.send("hi", timeout=0.5)
            (turn,) = session.turns
    (call,) = turn.tool_calls
    assert (call.name, call.raw_input, call.status) == ("search", '{"q": "pa', None)
    assert turn.messages == ("Let me",)


async def test_an_error_in_the_stream_is_the_agents_failure() -> None:
    with pytest.raises(BadReply, match="reported an error: out of cheese"):
        await streamed({"delta": "a"}, {"error": "out of cheese"}, stream=StreamPaths(error="error"))
    with pytest.raises(BadReply, match="sent an event and that is not JSON"):
        await streamed("hello")
    whole_answer = await asked(as_json({"message": "not streamed"}), stream="sse")
    assert whole_answer.message == "not streamed"


# -- connections


async def test_connections_are_shared_and_closed_at_the_end_of_a_run() -> None:
    with scripted_server() as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        server.answer = lambda request: as_json({"message": request.json["message"]})
        agent = HttpAgent(server.url)

        @define_eval(cases={str(number): str(number) for number in range(40)})
        async def echoes(t: Any, case: str) -> None:
            turn = await t.send(case)
            t.check(turn.message, equals(case))

        runs: list[RunResult] = []

        async def one() -> None:
            runs.append(await run_eval(echoes, agent=agent))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        # The end of one run does not end the requests of another, and the agent is good for more.
        reasons = {each.reason for run in runs for each in run.attempts if each.status != "passed"}
        assert (reasons, [run.statuses for run in runs]) == (set(), [{"passed": 40}] * 2)
        assert (await run_eval(echoes, agent=agent)).statuses == {"passed": 40}
        assert agent._clients._by_loop == {}


# -- mistakes

MAYBE: Any = {"no_calls": "maybe"}
WRONG: Any = "done"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"request": {"q": "{mesage}"}}, ValueError, r"has \{mesage\}, and what can be filled in is \{message\}"),
        ({"request": {1: "a"}}, TypeError, "whose keys are text, got the key 1"),
        ({"request": {"q": {1, 2}}}, TypeError, "made of JSON values"),
        ({"headers": {"X": 7}}, TypeError, "maps names to texts, got 7 for 'X'"),
        ({"headers": "X: y"}, TypeError, "maps names to texts, got 'X: y'"),
        ({"headers": {"X": "{nobody}"}}, ValueError, r"headers= has \{nobody\}"),
        ({"reply": 7}, TypeError, "reply= takes ReplyPaths, the path of the message, or a function"),
        ({"reply": "a..b"}, ValueError, r"ReplyPaths\(\) message="),
        ({"output": "xml"}, ValueError, "'json' or 'text'"),
        ({"output": "text", "reply": "a"}, ValueError, "leave reply= and stream= out"),
        ({"stream": "websocket"}, TypeError, "stream= is StreamPaths, 'sse' or None"),
        ({"stream": "sse", "reply": lambda body, ctx: "x"}, ValueError, "a stream is read event by event"),
        ({"timeout": 0}, ValueError, "timeout= is a number of seconds above 0"),
    ],
)
async def test_mistakes_are_said_where_they_are_made(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        HttpAgent("http://localhost/chat", **options)


async def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="starts with http:// or https://"):
        HttpAgent("localhost:8000/chat")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CallPaths(statuses={"ok": WRONG}), "maps 'ok' to 'done'"),
        (lambda: CallPaths("a[*]"), "no wildcards"),
        (lambda: ReplyPaths(statuses={"ok": WRONG}), "maps 'ok' to 'done'"),
        (lambda: ReplyPaths(**MAYBE), "'unreported' or 'none'"),
        (lambda: StreamPaths(text=""), r"StreamPaths\(\) text= takes a path"),
    ],
)
async def test_paths_are_checked_where_they_are_written(make: Callable[[], object], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        make()


async def test_checks_over_an_endpoint_read_like_any_other() -> None:
    calls = [{"name": "lookup_order", "input": {"id": "ORD-1"}, "output": "in transit"}]
    with scripted_server(as_json({"message": "On its way.", "tool_calls": calls})) as server:
        agent = HttpAgent(server.url, reply=ReplyPaths(tool_calls=CallPaths(output="output")))
        async with attempt(agent=agent) as t:
            turn = await t.send("Where is ORD-1?")
            turn.called_tool(tool_match("lookup_order", input={"id": "ORD-1"}, output="in transit").exactly(1))
            turn.not_called_tool("refund")
            turn.max_tokens(100).key("cheap")
    assert [(entry.requirement, entry.reason) for entry in t.result.undecided] == [
        ("cheap", "turn 1 of 1 reported no usage, so no total is known")
    ]
