"""What a result keeps: subjects as they were, once, whole or not at all, and without a secret in any byte."""

import base64
import gzip
import json
import math
import string
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from niceeval import (
    AgentContext,
    AgentFailed,
    AttemptResult,
    EvalContext,
    Reply,
    RunResult,
    ScriptedAgent,
    ToolCall,
    attempt,
    define_eval,
    register_secret,
    register_snapshot,
    run_eval,
)
from niceeval.record import Record
from niceeval.redaction import forget_secrets
from niceeval_expect import (
    equals,
    excludes,
    includes,
    is_defined,
    json_match,
    length,
    pattern,
    satisfies,
    tool_match,
)

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Awaitable[None]]

SECRET = 'sk-test/AB+cd"ef=='


@pytest.fixture(autouse=True)
def _no_secrets() -> Iterator[None]:
    forget_secrets()
    yield
    forget_secrets()


async def run(body: Body, agent: Any = None, *, record: Path | None = None, **options: Any) -> RunResult:
    async def test(t: EvalContext) -> None:
        await body(t)

    return await run_eval(define_eval(test), agent=agent, record=record, **options)


async def one(body: Body, agent: Any = None, *, record: Path | None = None) -> AttemptResult:
    (only,) = (await run(body, agent, record=record)).attempts
    return only


def line_of(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("runs/*/attempts-*.jsonl")
    document: dict[str, Any] = json.loads(file.read_text("ascii"))
    return document


# -- subjects


async def test_the_stored_value_is_the_one_that_was_checked() -> None:
    async def body(t: EvalContext) -> None:
        subject: dict[str, Any] = {"items": [1, 2]}
        t.check(subject, equals({"items": [1, 2]})).key("first")
        subject["items"].append(3)
        t.check(subject, equals({"items": [1, 2, 3]})).key("second")
        subject.clear()

    result = await one(body)
    assert result.status == "passed"
    assert [item.subject.value() for item in result.assertions] == [{"items": [1, 2]}, {"items": [1, 2, 3]}]


async def test_or_stop_returns_the_live_subject() -> None:
    class Order:
        pass

    register_snapshot(Order, lambda order: {"id": 1})

    async def body(t: EvalContext) -> None:
        order = Order()
        assert await t.check(order, is_defined()).or_stop() is order
        rows = [1]
        assert await t.check(rows, satisfies("one", lambda value: len(value) == 1)).or_stop() is rows

    assert (await one(body)).status == "passed"


@pytest.mark.parametrize(
    "value", [{1, 2}, frozenset({1}), (1, 2), {"a": {1}}, [{2}], bytearray(b"x"), datetime.now(UTC)]
)
async def test_predicates_see_values_of_the_type_that_was_given(value: Any) -> None:
    seen: list[Any] = []

    def look(given_value: Any) -> bool:
        seen.append(given_value)
        return True

    async def body(t: EvalContext) -> None:
        t.check(value, satisfies("look", look))

    await one(body)
    assert type(seen[0]) is type(value)
    assert seen[0] == value
    if isinstance(value, dict):
        assert type(seen[0]["a"]) is set


async def test_a_cycle_can_be_checked_and_kept(tmp_path: Path) -> None:
    async def body(t: EvalContext) -> None:
        ring: dict[str, Any] = {"name": "ring"}
        ring["self"] = ring
        t.check(ring, satisfies("named", lambda value: value["name"] == "ring")).key("predicate")
        t.check(ring, has_name).key("plain")

    has_name = json_match({"name": "ring"})
    result = await one(body, record=tmp_path)
    assert [item.evaluation.outcome for item in result.assertions] == ["matched", "matched"]
    with Record.open(tmp_path) as record:
        (entry, _) = record.assertions()
        assert entry.subject.value()["name"] == "ring"


async def test_a_subject_is_stored_once_however_many_checks_read_it(tmp_path: Path) -> None:
    text = "a text that many checks read " * 20

    async def body(t: EvalContext) -> None:
        turn = await t.send("x")
        for number in range(50):
            t.check(turn.message, excludes(str(number)))
        t.check({"text": text}, is_defined())
        t.check({"text": text}, is_defined())

    result = await one(body, ScriptedAgent([text]), record=tmp_path)
    assert result.status == "passed"
    (file,) = tmp_path.glob("runs/*/attempts-*.jsonl")
    assert file.read_text().count("a text that many checks read a text") <= 2 * 20
    document = line_of(tmp_path)
    assert len(document["subjects"]) == 2
    assert len({item.subject.digest for item in result.assertions[:50]}) == 1
    assert result.assertions[0].subject.value() == text


async def test_a_large_subject_is_a_blob_and_a_large_conversation_too(tmp_path: Path) -> None:
    text = "".join(chr(97 + n % 26) for n in range(1_100_000))

    async def body(t: EvalContext) -> None:
        turn = await t.send(text)
        t.check(turn.message, length(exactly=len(text)))
        t.check(turn.message, includes("xyz"))
        t.check([turn.message], length(exactly=1))

    for record in (None, tmp_path):
        result = await one(body, lambda message: message, record=record)
        assert (result.status, result.reason) == ("passed", None)
        assert result.assertions[0].subject.value() == text
        assert result.inputs == (text,)
        assert result.assertions[0].subject.digest == result.assertions[1].subject.digest
    blobs = list(tmp_path.glob("runs/*/blobs/*"))
    assert len(blobs) == 3
    assert line_of(tmp_path)["subjects"]
    assert sum(len(json.dumps(value)) for value in line_of(tmp_path).values()) < 10_000
    with Record.open(tmp_path) as opened:
        assert opened.assertions()[2].subject.value() == [text]


class Opaque:
    def __init__(self) -> None:
        self.rows = 3


async def test_what_cannot_be_kept_is_unavailable_and_says_what_to_do() -> None:
    called: list[object] = []

    def has_rows(value: Any) -> bool:
        called.append(value)
        return True

    async def body(t: EvalContext) -> None:
        t.check(Opaque(), satisfies("has rows", has_rows)).key("opaque")
        t.check({"deep": [Opaque()]}, is_defined()).key("deep")
        t.check(Opaque(), ~is_defined()).key("denied")
        t.check(Opaque(), satisfies("kept", lambda v: v.rows == 3, evidence=lambda v: v.rows)).key("kept")
        t.check(Opaque(), ~satisfies("kept", lambda v: v.rows == 4, evidence=lambda v: v.rows)).key("kept and denied")
        t.check(
            Opaque(),
            satisfies("kept", lambda v: v.rows == 3, evidence=lambda v: v.rows) & is_defined(),
        ).key("kept in part")

    result = await one(body)
    outcomes = {item.requirement: item.evaluation.outcome for item in result.assertions}
    assert outcomes == {
        "opaque": "unavailable",
        "deep": "unavailable",
        "denied": "unavailable",
        "kept": "matched",
        "kept and denied": "matched",
        "kept in part": "matched",
    }
    assert called == []
    for item in result.assertions[:3]:
        assert item.evaluation.diagnostic.code == "subject-not-retainable"
        assert "register_snapshot(Opaque" in (item.reason or "")
        assert item.rederivable != "yes"
    assert "/deep/0" in (result.assertions[1].reason or "")
    assert result.assertions[3].subject.value() == 3
    assert result.assertions[3].rederivable == "code"
    assert result.status == "errored"


async def test_a_registered_type_can_be_kept() -> None:
    class Frame:
        rows = ((1, 2), (3, 4))

    register_snapshot(Frame, lambda frame: {"rows": frame.rows})

    async def body(t: EvalContext) -> None:
        t.check(Frame(), satisfies("two rows", lambda frame: len(frame.rows) == 2))
        t.check({"frame": Frame()}, is_defined())

    result = await one(body)
    assert result.status == "passed"
    assert result.assertions[0].subject.value()["rows"] == ((1, 2), (3, 4))
    assert {item.rederivable for item in result.assertions} == {"code"}


async def test_an_evidence_function_that_breaks_is_an_errored_check() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", satisfies("x", lambda value: True, evidence=lambda value: value.rows)).key("broken")
        t.check("a", equals("a")).key("after")

    result = await one(body)
    assert [item.evaluation.outcome for item in result.assertions] == ["errored", "matched"]
    assert "AttributeError" in (result.assertions[0].reason or "")


async def test_an_object_whose_repr_breaks_harms_nothing() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison")

        def __hash__(self) -> int:
            return 1

    def rude(value: Any) -> Any:
        return Rude()

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a")).key("plain")
        t.check(Rude(), equals("a")).key("rude")
        t.check("a", satisfies("rude", rude)).key("rude answer")
        t.log("a rude note", it=Rude())

    result = await one(body)
    assert len(result.assertions) == 3
    assert result.status == "errored"


@attrs.frozen
class Point:
    x: int
    y: float


VALUES: list[Any] = [
    "plain",
    "lone \ud800 surrogate \udfff",
    "\ud83d\ude00",
    "\u2028 \x00 \x1b[31m",
    float("nan"),
    float("inf"),
    -0.0,
    10**5000,
    Decimal("1.10"),
    b"\x00\xff",
    {1, "a", None},
    frozenset({(1, 2)}),
    (1, [2, {"k": (3,)}]),
    {1: "one", "1": "text", None: "none", (1, 2): "pair"},
    {"$": "tag-like", "value": 1},
    {"": "", "\ud800": 1},
    [],
    {},
    None,
    False,
    0,
    "",
    Path("a/b"),
    datetime(2026, 8, 1, tzinfo=UTC),
]


@pytest.mark.parametrize("value", VALUES, ids=[type(value).__name__ for value in VALUES])
async def test_a_value_survives_a_whole_run_and_comes_back(value: Any, tmp_path: Path) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("x")
        t.check(value, equals(value)).key("value")
        t.check(turn.data, equals(value)).key("data")
        t.check({"inside": [value]}, equals({"inside": [value]})).key("inside")
        t.check(turn.tool_calls[0].output, equals(value)).key("output")
        t.check(value, equals("something else")).key("unequal")
        turn.called_tool(tool_match("tool", output=equals(value))).key("tool")
        t.log("note", value=value)

    agent = ScriptedAgent([Reply("x", data=value, tool_calls=[ToolCall("tool", {"value": value}, value)])])
    live = await one(body, agent, record=tmp_path)
    assert [item.evaluation.outcome for item in live.assertions] == ["matched"] * 4 + ["mismatched", "matched"]
    for path in tmp_path.rglob("*.json*"):
        content = path.read_bytes()
        assert content.isascii()
        for row in content.splitlines() if path.suffix == ".jsonl" else [content]:
            json.loads(row, parse_constant=pytest.fail)
    with Record.open(tmp_path) as record:
        stored = record.assertions()
        assert list(stored) == list(live.assertions)
        back = stored[0].subject.value()
    assert type(back) is type(value) or isinstance(value, Path)
    assert back == value or math.isnan(back)
    assert math.copysign(1, back) == math.copysign(1, value) if isinstance(value, float) else True


@pytest.mark.parametrize("depth", [100, 900, 1_500, 5_000])
async def test_values_nested_deeply_do_not_break_a_run(depth: int, tmp_path: Path) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a")).key("plain")
        turn = await t.send("x")
        t.check(turn.data, is_defined()).key("data")
        t.check(value, is_defined()).key("deep")
        t.log("deep", value=value)
        t.check("a", equals("a")).key("after")

    def agent(message: str) -> Reply:
        return Reply("x", data=value, tool_calls=[ToolCall("tool", {"value": value}, value)])

    result = await run(body, agent, record=tmp_path)
    assert result.status == "sealed"
    (only,) = result.attempts
    outcomes = {item.requirement: item.evaluation.outcome for item in only.assertions}
    assert (outcomes["plain"], outcomes["after"]) == ("matched", "matched")


async def test_every_entry_names_its_place() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("x")
        t.check("a", equals("a"))
        turn.succeeded()

        def helper() -> None:
            t.check("b", equals("b"))

        helper()
        async with anyio.create_task_group() as group:

            async def task() -> None:
                t.check("c", equals("c"))

            group.start_soon(task)

    result = await one(body, lambda message: "hi")
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert [lines[item.source.line - 1].strip() for item in result.assertions] == [
        't.check("a", equals("a"))',
        "turn.succeeded()",
        't.check("b", equals("b"))',
        't.check("c", equals("c"))',
    ]
    assert {item.source.file for item in result.assertions} == {"tests/test_evidence.py"}


# -- secrets


def forms(secret: str) -> Iterator[str]:
    """Yield the forms of a secret that no stored byte may hold."""
    yield secret
    escaped = secret
    for _ in range(3):
        escaped = json.dumps(escaped)[1:-1]
        yield escaped
    yield quote(secret, safe="")
    yield quote(secret)
    for before in range(3):
        encoded = base64.b64encode(b"x" * before + secret.encode()).decode().rstrip("=")
        core = encoded[-(-8 * before // 6) : 8 * (before + len(secret.encode())) // 6]
        if len(core) >= 8:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def assert_nowhere(folder: Path, secret: str, *texts: str) -> None:
    found = []
    for path in folder.rglob("*"):
        assert secret not in path.name
        if path.is_file():
            data = path.read_bytes()
            content = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "surrogateescape")
            found.append((str(path), content))
    found += [("text", text) for text in texts]
    for where, content in found:
        for form in forms(secret):
            assert form not in content, f"{form!r} is in {where}: …{content[max(0, content.find(form) - 80) :][:200]}"


async def test_a_secret_is_in_no_byte_of_the_record(tmp_path: Path) -> None:
    register_secret("API", SECRET)
    encoded = base64.b64encode(SECRET.encode()).decode()

    def agent(message: str, ctx: AgentContext) -> Reply:
        if message == "break":
            raise RuntimeError(f"refused the key {SECRET}")
        call = ToolCall("fetch", {"url": f"https://x.org/?key={quote(SECRET, safe='')}", SECRET: 1}, f"Bearer {SECRET}")
        ctx.emit(ToolCall("curl", {"header": SECRET}, SECRET))
        return Reply(f"the key is {SECRET}", data={"key": SECRET, "raw": SECRET.encode()}, tool_calls=[call])

    def divide(value: Any) -> Any:
        return 1 / 0

    def look_up(value: Any) -> Any:
        return dict[str, bool]()[SECRET]

    @define_eval(id=f"eval-{SECRET}", tags=[SECRET], cases={f"case {SECRET}": f"tell me {SECRET}"})
    async def leaky(t: EvalContext, case: str) -> None:
        turn = await t.send(case)
        t.check(turn.message, includes(SECRET)).key("includes")
        t.check(turn.message, equals(SECRET)).key(f"key {SECRET}").label(f"label {SECRET}")
        t.check(turn.message, excludes(SECRET)).key("excludes")
        t.check({"nested": json.dumps({"inner": json.dumps({"key": SECRET})})}, equals({"nested": SECRET})).key(
            "nested"
        )
        t.check(f"Basic {encoded}", pattern("^Basic$")).key("base64")
        t.check(["x" * 500 + SECRET], equals(["x" * 500])).key("late difference")
        t.check(turn.data, equals({"key": SECRET})).key("data")
        t.check("big " * 300_000 + SECRET, excludes(SECRET)).key("blob")
        t.check(SECRET, satisfies(f"is {SECRET}", divide)).key("raises")
        t.check("x", satisfies("raises it", look_up)).key("raises it")
        turn.called_tool(tool_match("fetch", input={"url": SECRET})).key("tool")
        with t.group(f"group {SECRET}"):
            t.check("a", equals("a")).key("clean")
        t.log(f"the key is {SECRET}", key=SECRET, nested={SECRET: [SECRET]})
        with pytest.raises(AgentFailed):
            await t.send("break")
        await t.send("break")

    result = await run_eval(leaky, agent=agent, record=tmp_path)
    (only,) = result.attempts
    assert_nowhere(tmp_path, SECRET, repr(only), only.model_dump_json(), repr(result))
    decided = {item.requirement: item.evaluation.outcome for item in only.assertions}
    assert decided == {
        "includes": "matched",
        "key [redacted:API]": "mismatched",
        "excludes": "mismatched",
        "nested": "mismatched",
        "base64": "mismatched",
        "late difference": "mismatched",
        "data": "mismatched",
        "blob": "mismatched",
        "raises": "errored",
        "raises it": "errored",
        "tool": "mismatched",
        "clean": "matched",
    }
    assert only.status == "failed"
    assert only.case_id == "case [redacted:API]"
    assert "[redacted:API]" in (only.reason or "")
    by_name = {item.requirement: item for item in only.assertions}
    assert by_name["includes"].subject.redacted == ("API",)
    assert by_name["includes"].subject.value() == "the key is [redacted:API]"
    assert by_name["includes"].rederivable == "redacted"
    assert by_name["tool"].rederivable == "redacted"
    assert by_name["clean"].rederivable == "yes"
    with Record.open(tmp_path) as record:
        assert record.attempts()[0].status == "failed"
        assert list(record.assertions()) == list(only.assertions)


async def test_secrets_of_the_environment_and_of_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_API_KEY", "wx-0123456789-secret")
    monkeypatch.setenv("RETRY_TOKEN", "1234567890")
    monkeypatch.setenv("USE_SECRET", "true")
    monkeypatch.setenv("SHORT_KEY", "abc")
    async with attempt(
        agent=lambda message: f"{message} 1234567890 true abc", name="x wx-0123456789-secret", record=tmp_path
    ) as t:
        turn = await t.send("wx-0123456789-secret")
        t.check(turn.message, includes("wx-0123456789-secret"))
    assert t.result.verdict == "passed"
    assert t.result.assertions[0].subject.value() == "[redacted:WEATHER_API_KEY] 1234567890 true abc"
    assert t.result.eval_id == "x [redacted:WEATHER_API_KEY]"
    assert_nowhere(tmp_path, "wx-0123456789-secret", t.result.model_dump_json())


async def test_a_secret_that_becomes_known_during_the_attempt(tmp_path: Path) -> None:
    async def body(t: EvalContext) -> None:
        t.check("token tk-9876543210-late", includes("tk-")).key("before")
        register_secret("LATE", "tk-9876543210-late")
        t.check("token tk-9876543210-late", includes("tk-")).key("after")

    result = await one(body, record=tmp_path)
    assert result.status == "passed"
    assert_nowhere(tmp_path, "tk-9876543210-late", result.model_dump_json())


async def test_a_result_that_is_awaited_shows_no_secret_either() -> None:
    register_secret("API", SECRET)
    async with attempt() as t:
        result = await t.check(f"the key is {SECRET}", equals(SECRET)).key(f"key {SECRET}")
        assert result.evaluation.outcome == "mismatched"
        assert_nowhere(
            Path("/nonexistent"), SECRET, repr(result), result.model_dump_json(), str(result.subject.value())
        )
        assert result.rederivable == "redacted"
        again = await t.check(f"the key is {SECRET}", includes(SECRET))
    assert t.result.assertions[0] == result
    assert t.result.assertions[1] == again


@pytest.mark.parametrize("offset", range(180, 260, 7))
async def test_a_secret_that_a_diagnostic_cuts_in_two_is_not_there_in_part(offset: int, tmp_path: Path) -> None:
    secret = "sk-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefgh"
    register_secret("API", secret)

    async def body(t: EvalContext) -> None:
        text = "." * offset + secret + "." * 400
        t.check(text, equals("x" * len(text))).key("equals")
        t.check(text, includes("nothing")).key("includes")
        t.check([text], equals([1])).key("list")

    result = await one(body, record=tmp_path)
    assert result.status == "failed"
    (file,) = tmp_path.glob("runs/*/attempts-*.jsonl")
    content = file.read_text()
    for start in range(len(secret) - 12):
        assert secret[start : start + 12] not in content


ALPHABET = string.ascii_letters + string.digits + "+/=-_\"'\\ %&?\n\té"
# The digit, because words of the document's own, such as "assertions", stand in every record.
SECRETS = (
    st.text(ALPHABET, min_size=10, max_size=40)
    .filter(lambda text: len(text.strip()) >= 10)
    .map(lambda text: f"{text[:5]}7{text[5:]}")
)


@settings(max_examples=40)
@given(SECRETS, st.data())
def test_no_form_of_any_secret_is_stored(
    tmp_path_factory: pytest.TempPathFactory, secret: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("record")
    before = data.draw(st.text(ALPHABET, max_size=5))
    depth = data.draw(st.integers(0, 2))
    text = before + secret
    for _ in range(depth):
        text = json.dumps({"k": text})

    async def body(t: EvalContext) -> None:
        turn = await t.send(text)
        t.check(turn.message, equals(secret)).key("equals")
        t.check(turn.message, includes(text)).key("includes")
        t.check({text: [text.encode(), base64.b64encode(text.encode()).decode()]}, is_defined()).key("structure")
        t.check(turn.tool_calls[0].input, equals({"url": secret})).key("input")
        raise ValueError(text)

    def agent(message: str) -> Reply:
        return Reply(message, tool_calls=[ToolCall("fetch", {"url": quote(text)}, text)], data=[text])

    forget_secrets()
    register_secret("S", secret)
    result = anyio.run(lambda: one(body, agent, record=folder))
    assert result.status == "errored"
    assert [item.evaluation.outcome for item in result.assertions][1:3] == ["matched", "matched"]
    assert_nowhere(folder, secret.strip(), result.model_dump_json())
