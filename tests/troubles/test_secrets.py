"""A registered secret is in no byte of a run's folder and in nothing that is printed, in any form it takes."""

import base64
import gzip
import html
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from niceeval import (
    CommandResult,
    ErrorEvent,
    EvalContext,
    Event,
    Message,
    Reply,
    Thinking,
    ToolCall,
    define_eval,
    register_secret,
    run_eval,
)
from niceeval.cli import main
from niceeval.record import Record
from niceeval.redaction import forget_secrets
from niceeval_expect import command_succeeded, equals, includes, json_match, pattern, satisfies, tool_match

SECRET = 'sk-test/AB+cd"ef=='
PICTURE = base64.b64encode(bytes(range(256)) * 8_000).decode()

pytestmark = pytest.mark.anyio


def encoded(prefix: str = "", suffix: str = "") -> str:
    return base64.b64encode(f"{prefix}{SECRET}{suffix}".encode()).decode()


FORMS = {
    "raw": SECRET,
    "json": json.dumps(SECRET)[1:-1],
    "json in json": json.dumps(json.dumps({"key": SECRET})),
    "json in json in json": json.dumps(json.dumps(json.dumps({"key": SECRET}))),
    "json with slashes escaped": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "url": quote(SECRET, safe=""),
    "path of a url": quote(SECRET),
    "form of a url": quote_plus(SECRET),
    "url in lower case": quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d"),
    "url in a url": quote(quote(SECRET, safe=""), safe=""),
    "json in a url": quote(json.dumps({"key": SECRET}), safe=""),
    "base64": encoded(),
    "base64 without padding": encoded().rstrip("="),
    "base64 for urls": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "base64 after one": encoded("u"),
    "base64 after two": encoded("us"),
    "credentials": f"Basic {encoded('user:')}",
    "base64 of json": encoded('{"key": "', '", "n": 1}'),
    "shell": shlex.quote(SECRET),
    "python": repr(SECRET + "'"),
    "html": html.escape(SECRET),
    "cut json": json.dumps({"key": SECRET})[:-1],
}


@pytest.fixture(autouse=True)
def _one_secret() -> Iterator[None]:
    forget_secrets()
    register_secret("DEMO", SECRET)
    yield
    forget_secrets()


def leaks(text: str) -> list[str]:
    """Name the forms that stand in a text, as they are or escaped once or twice more."""
    found = []
    for name, form in FORMS.items():
        once = json.dumps(form)[1:-1]
        if any(written in text for written in (form, once, json.dumps(once)[1:-1])):
            found.append(name)
    return found


def bytes_of(folder: Path) -> str:
    parts = []
    for path in folder.rglob("*"):
        parts.append(str(path.relative_to(folder)))
        if path.is_file():
            data = path.read_bytes()
            parts.append((gzip.decompress(data) if path.suffix == ".gz" else data).decode())
    return "\n".join(parts)


def tells(message: str) -> Reply:
    call = ToolCall(
        "curl", {"headers": {"Authorization": f"Bearer {SECRET}"}, SECRET: 1}, list(FORMS.values()), id=SECRET
    )
    said: list[Event] = [Thinking(SECRET), ErrorEvent(SECRET), Message("assistant", f"key {SECRET}")]
    return Reply(f"key {SECRET}", data={"keys": [SECRET]}, tool_calls=[call, ToolCall(SECRET, {})], events=said)


def breaks(_: object) -> bool:
    raise RuntimeError(f"401 for {SECRET}")


async def everywhere(t: EvalContext, case: object) -> None:
    t.log(f"using {SECRET}", key=SECRET)
    turn = await t.send(f"use {SECRET}")
    for form in FORMS.values():
        t.check(form, includes("something else"))
        t.check("something else", includes(form))
    t.check(turn.message, equals(f"key {SECRET}")).key("equal")
    t.check(turn.message, equals("key sk-test/other")).key(f"differs from {SECRET}")
    t.check(turn.message, pattern("AB.cd")).label(f"has {SECRET}")
    t.check({"parts": ["sk-test/AB", '+cd"ef==']}, json_match({"parts": [SECRET, includes("cd")]}))
    t.check(CommandResult(["curl", "-H", FORMS["shell"]], 1, stderr=f"401 {SECRET}"), command_succeeded())
    t.check(Path("/tmp") / SECRET, equals(1))
    t.check(SECRET.encode(), equals(b""))
    t.check(ValueError(SECRET), equals(1))
    t.check("a", satisfies(f"works with {SECRET}", breaks)).key("breaks")
    turn.called_tool(tool_match("curl", input=json_match({"headers": {"Authorization": f"Bearer {SECRET}x"}})))
    turn.called_tool(tool_match(f"{SECRET}x"))
    with t.group(SECRET):
        t.check(PICTURE, equals(PICTURE)).key("picture")
    raise ValueError(f"the end of {SECRET}")


@pytest.mark.parametrize("name", ["plain", SECRET])
async def test_no_form_of_it_is_stored_or_printed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents: dict[str, Any] = {name: tells}
    live = await run_eval(define_eval(name, test=everywhere, cases={name: 1}), agent=agents, record=tmp_path)
    assert leaks(bytes_of(tmp_path)) == []
    assert leaks(repr(live.attempts[0]) + live.attempts[0].model_dump_json()) == []
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit):
            main(["show", str(tmp_path), *options])
        printed = capsys.readouterr()
        assert leaks(printed.out + printed.err) == []
        assert "[redacted:DEMO]" in printed.out


async def test_decisions_are_made_on_the_real_value_and_the_entry_says_so(tmp_path: Path) -> None:
    await run_eval(define_eval("plain", test=everywhere, cases={"a": 1}), agent=tells, record=tmp_path)
    with Record.open(tmp_path) as record:
        (attempt,) = record.attempts()
        by_name = {item.requirement: item for item in attempt.assertions}
        equal, picture = by_name["equal"], by_name["picture"]
        assert (equal.decision, equal.subject.value(), equal.rederivable) == ("met", "key [redacted:DEMO]", "redacted")
        assert equal.subject.redacted == ("DEMO",)
        assert (by_name["breaks"].evaluation.outcome, by_name["breaks"].decision) == ("errored", "undecided")
        assert (picture.decision, picture.subject.redacted, picture.rederivable) == ("met", (), "yes")
        assert picture.subject.value() == PICTURE
    assert attempt.reason == "ValueError: the end of [redacted:DEMO]"


async def test_two_pieces_of_a_stream_spell_it_nowhere(tmp_path: Path) -> None:
    first, second = SECRET[:11], SECRET[11:]

    def streams(message: str) -> Reply:
        said: list[Event] = [
            Thinking(f"try {first}"),
            Thinking(f"{second}!"),
            Message("assistant", first),
            Message("assistant", second),
        ]
        return Reply(second, events=said, tool_calls=[ToolCall("curl", {"parts": [first, second]}, [first, second])])

    async def body(t: EvalContext) -> None:
        turn = await t.send("go")
        t.check([first, second], equals([first, second])).key("pieces")
        t.check(turn.messages, equals([first, second])).key("messages")

    live = await run_eval(define_eval("stream", test=body), agent=streams, record=tmp_path)
    assert live.attempts[0].verdict == "passed"
    stored = bytes_of(tmp_path)
    assert "[redacted:DEMO]" in stored
    assert second not in stored
    assert json.dumps(second)[1:-1] not in stored
    assert {item.rederivable for item in live.attempts[0].assertions} == {"redacted"}


async def test_one_that_becomes_known_in_an_attempt_is_in_no_file_of_the_run(tmp_path: Path) -> None:
    late = "late-secret-0123456789"

    async def body(t: EvalContext, case: str) -> None:
        register_secret("LATE", late)
        t.check(case, equals(late))

    await run_eval(define_eval("logs_in", test=body, cases={late: late}), record=tmp_path)
    stored = bytes_of(tmp_path)
    assert late not in stored
    assert "[redacted:LATE]" in stored
    with Record.open(tmp_path) as record:
        assert record.attempts()[0].name == "logs_in[[redacted:LATE]]"
        assert record.run().planned == 1
