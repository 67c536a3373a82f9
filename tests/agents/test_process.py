"""Agents behind a command line: what they are given, what is read, and that nothing of them is left over."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from niceeval import (
    AgentContext,
    AgentFailed,
    AgentLike,
    AgentUnavailable,
    CallPaths,
    ProcessAgent,
    Reply,
    ReplyPaths,
    StreamPaths,
    attempt,
    define_eval,
    run_eval,
)
from niceeval.agents.http import BadReply
from niceeval.redaction import forget_secrets
from niceeval_expect import equals, includes
from tests.agents.contract import (
    SENTENCE,
    Call,
    Exchange,
    NotApplicable,
    Scenario,
    check_contract,
    each_scenario,
)

pytestmark = pytest.mark.anyio

FAR_END = Path(__file__).parent / "far_end.py"
PYTHON = [sys.executable, "-S", "-E", "-c"]


@pytest.fixture(autouse=True)
def nothing_is_left_over() -> Iterator[None]:
    """No process, zombies included, and no file stays open."""
    before = len(os.listdir("/proc/self/fd"))
    yield
    forget_secrets()
    assert_no_children()
    assert len(os.listdir("/proc/self/fd")) <= before


def assert_no_children() -> None:
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


# -- the contract of all adapters

PATHS = ReplyPaths(
    "say",
    tool_calls=CallPaths(
        "calls", output="result", status="state", statuses={"ok": "completed", "error": "failed"}, id="id"
    ),
    input_tokens="used.in",
    output_tokens="used.out",
)
NO_STATUS = NotApplicable("a program answers without an HTTP status")
HAS_NONE = {
    "rate-limited": NO_STATUS,
    "server-error": NO_STATUS,
    "gateway-page": NO_STATUS,
    "bad-key": NO_STATUS,
    "dropped": NotApplicable("there is no connection to lose: a program that ends has failed"),
    "cut": NotApplicable("there is no connection to lose: the end of the output is the end"),
}


def lines_of(exchange: Exchange, *, stream: bool) -> list[Any]:
    def called(call: Call) -> dict[str, Any]:
        return {
            "name": call.name,
            "input": call.arguments,
            "result": call.output,
            "state": "error" if call.failed else "ok",
            "id": call.id,
        }

    calls = [called(call) for call in exchange.calls]
    used = exchange.usage
    end = {} if used is None else {"used": {"in": used.input_tokens, "out": used.output_tokens}}
    if not stream:
        return [{"say": exchange.text, "calls": calls, **end}]
    return [
        *({"calls": call} for call in calls),
        *({"delta": letter} for letter in exchange.text),
        {"calls": [], **end},
    ]


@pytest.fixture
def build(tmp_path: Path) -> Callable[[Scenario], AbstractContextManager[AgentLike] | NotApplicable]:
    def built(scenario: Scenario) -> AbstractContextManager[AgentLike] | NotApplicable:
        if scenario.fault in HAS_NONE:
            return HAS_NONE[scenario.fault]

        @contextmanager
        def wired() -> Iterator[AgentLike]:
            turns = {
                exchange.message: {
                    "fault": exchange.fault,
                    "sentence": SENTENCE,
                    "lines": lines_of(exchange, stream=scenario.stream),
                }
                for exchange in scenario.exchanges
            }
            file = tmp_path / "scenario.json"
            file.write_text(json.dumps(turns))
            yield ProcessAgent(
                [sys.executable, "-S", "-E", FAR_END, str(file)],
                input="json",
                output="jsonl" if scenario.stream else "json",
                reply=PATHS,
            )

        return wired()

    return built


@each_scenario
async def test_it_keeps_the_contract_of_all_adapters(scenario: Scenario, build: Any) -> None:
    await check_contract(scenario, build)


# -- helpers


def program(code: str, **options: Any) -> ProcessAgent:
    return ProcessAgent([*PYTHON, code], **options)


async def ask(agent: ProcessAgent, message: str = "hi", ctx: AgentContext | None = None) -> Reply:
    return await agent.reply(message, ctx or AgentContext())


ECHO = "import sys; sys.stdout.write(sys.stdin.read())"


# -- one process for each turn


async def test_text_goes_in_and_comes_out() -> None:
    reply = await ask(program(ECHO), "Grüße \ud800\nand more\n\n")
    assert reply.message == "Grüße \\xed\\xa0\\x80\nand more"
    assert (reply.status, reply.coverage["tool_calls"], reply.usage) == ("completed", "none", None)


async def test_a_word_of_the_command_may_be_the_message() -> None:
    code = "import sys; print(sys.argv[1], repr(sys.stdin.read()))"
    agent = ProcessAgent([*PYTHON, code, "q={message}", "{{message}}"])
    assert (await ask(agent, "two words; $(rm)")).message == "q=two words; $(rm) ''"


async def test_json_goes_in_and_comes_out() -> None:
    code = "import json, sys; d = json.load(sys.stdin); print(json.dumps({'out': d, 'n': 7}, indent=1))"
    agent = program(code, input="json", output="json", request={"q": "{message}", "h": "{history}"}, reply="out.q")
    ctx = AgentContext()
    assert (await ask(agent, "one", ctx)).message == "one"
    counted = program(code, input="json", output="json", reply=lambda value, ctx: Reply(f"n is {value['n']}"))
    assert (await ask(counted, "one", ctx)).message == "n is 7"


async def test_events_line_by_line_are_put_together() -> None:
    code = """
import json
for event in [
    {"type": "start"},
    {"message": "Let me look."},
    {"call": {"name": "search", "input": {"q": "parcel"}, "id": "c1"}},
    {"call": {"id": "c1", "output": ["p-1"]}},
    {"message": "Found it.", "usage": {"in": 3, "out": 4}},
]:
    print(json.dumps(event))
print()
print('{"bye": 1}', end="")
"""
    paths = ReplyPaths(
        tool_calls=CallPaths("call", output="output", id="id"), input_tokens="usage.in", output_tokens="usage.out"
    )
    reply = await ask(program(code, output="jsonl", reply=paths))
    assert reply.message == "Found it."
    assert [event.kind for event in reply.events or ()] == [
        "message",
        "tool_call_started",
        "tool_call_finished",
        "message",
    ]
    assert [(call.name, call.output) for call in reply.tool_calls or ()] == [("search", ["p-1"])]
    assert reply.usage is not None
    assert reply.usage.total_tokens == 7


async def test_it_runs_where_and_with_what_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_OUTSIDE", "outer")
    code = "import os; print(os.getcwd(), os.environ['FROM_OUTSIDE'], os.environ['MODE'])"
    agent = program(code, cwd=tmp_path, env={"MODE": "{flags.mode}-{attempt}"})
    reply = await ask(agent, ctx=AgentContext(flags={"mode": "quiet"}))
    assert reply.message == f"{tmp_path} outer quiet-1"


async def test_secrets_of_its_environment_are_kept_out_of_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTER_LOGIN", "opensesame-12345")

    @define_eval
    async def leaks(t: Any) -> None:
        turn = await t.send("hi")
        t.check(turn.message, includes("sk-inner-67890 opensesame-12345"))

    code = "import os; print(os.environ['INNER_KEY'], os.environ['LOGIN'])"
    agent = program(code, env={"INNER_KEY": "sk-inner-67890", "LOGIN": "{env:OUTER_LOGIN}"})
    (result,) = (await run_eval(leaks, agent=agent)).attempts
    assert result.status == "passed"
    stored = result.model_dump_json()
    assert "[redacted:INNER_KEY] [redacted:OUTER_LOGIN]" in stored
    assert "inner-67890" not in stored
    assert "opensesame" not in stored


async def test_a_function_that_reads_answers_returns_text_or_a_reply() -> None:
    with pytest.raises(TypeError, match=r"ProcessAgent\(\) reply= .* returned a list"):
        await ask(program("print([1] * 99)", output="json", reply=lambda value, ctx: value))


async def test_bytes_that_are_no_text_stay_visible() -> None:
    reply = await ask(program("import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb')"))
    assert reply.message == "a\\xff\\xfeb"


async def test_a_huge_output_is_cut_and_marked() -> None:
    reply = await ask(program("import sys\nfor _ in range(64): sys.stdout.write('x' * 65536)"))
    assert len(reply.message) < 1_100_000
    assert reply.message.endswith(f"x… [{64 * 65536 - 1024 * 1024} bytes left out]")
    assert reply.coverage["messages"] == "partial"
    assert "only the first 1048576 bytes" in reply.reasons["messages"]


# -- how a process fails


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; print('half'); sys.exit('no such order')", "ended with exit code 1: no such order"),
        ("import sys; sys.exit(3)", "ended with exit code 3$"),
        ("import os, signal; print('half', flush=True); os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV"),
    ],
)
async def test_another_exit_code_is_the_agents_failure(code: str, words: str) -> None:
    async with attempt(agent=program(code)) as t:
        session = t.new_session()
        with pytest.raises(AgentFailed, match=words):
            await session.send("hi")
        (turn,) = session.turns
        t.skip("seen")
    assert turn.status == "failed"
    assert turn.messages == (("half",) if "half" in code else ())


async def test_of_a_long_complaint_the_end_is_shown() -> None:
    code = "import sys; sys.stderr.write('x' * 100_000 + 'KeyError: 7'); sys.exit(1)"
    with pytest.raises(BadReply, match=r"KeyError: 7$") as caught:
        await ask(program(code))
    assert len(str(caught.value)) < 2_300
    assert "[98011 bytes left out] …xxx" in str(caught.value)


@pytest.mark.parametrize("output", ["json", "jsonl"])
async def test_what_is_not_json_is_the_agents_failure(output: Any) -> None:
    with pytest.raises(BadReply, match=r"that is not JSON, .*: oh no"):
        await ask(program("print('oh no')", output=output))
    # How it ended says more.
    with pytest.raises(BadReply, match="exit code 2"):
        await ask(program("import sys; print('oh no'); sys.exit(2)", output=output))


async def test_a_program_that_does_not_read_its_input_is_none_the_worse() -> None:
    reply = await ask(program("print('fine')"), "x" * 1_000_000)
    assert reply.message == "fine"


@pytest.mark.parametrize(
    ("argv", "options", "words"),
    [
        (["no-such-program-anywhere"], {}, "cannot start 'no-such-program-anywhere': there is no such program"),
        (["{folder}/plain.txt"], {}, "it may not be executed"),
        ([sys.executable], {"cwd": "/no/such/folder"}, "there is no folder '/no/such/folder'"),
        ([sys.executable, "{message}"], {}, "null byte"),
    ],
)
async def test_what_cannot_be_started_has_not_been_reached(
    argv: list[str], options: Any, words: str, tmp_path: Path
) -> None:
    (tmp_path / "plain.txt").write_text("no program")
    agent = ProcessAgent([word.replace("{folder}", str(tmp_path)) for word in argv], **options)
    with pytest.raises(AgentUnavailable, match=words) as caught:
        await ask(agent, "a\0b" if "null" in words else "hi")
    assert caught.value.retryable is False


CHILD = "import subprocess, sys; c = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])"


async def test_time_that_is_up_ends_it_with_all_it_started_and_keeps_what_it_printed() -> None:
    code = f"{CHILD}; print('working', c.pid, flush=True); c.wait()"
    async with attempt(agent=program(code, timeout=1.0)) as t:
        session = t.new_session()
        with pytest.raises(AgentUnavailable, match=r"did not answer within 1 s and was killed") as caught:
            await session.send("hi")
        (turn,) = session.turns
    assert caught.value.retryable is False
    word, pid = turn.messages[0].split()
    assert word == "working"
    await gone(int(pid))


async def test_a_message_that_is_given_up_ends_it_as_well() -> None:
    code = f"{CHILD}; print(c.pid, flush=True); c.wait()"
    async with attempt(agent=program(code)) as t:
        session = t.new_session()
        with pytest.raises(AgentUnavailable, match=r"did not reply within 1 s"):
            await session.send("hi", timeout=1.0)
        (turn,) = session.turns
    await gone(int(turn.messages[0]))


async def gone(pid: int) -> None:
    """Wait until a process that nobody here is the parent of has ended."""
    with anyio.fail_after(5), contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while ") Z " not in Path(f"/proc/{pid}/stat").read_text():
            await anyio.sleep(0.01)


async def test_what_it_leaves_running_does_not_hold_the_turn() -> None:
    started = time.monotonic()
    reply = await ask(program(f"{CHILD}; print(c.pid)"))
    assert time.monotonic() - started < 10
    await gone(int(reply.message))


# -- one process for each session

LINES = """
import json, sys
seen = []
for line in sys.stdin:
    request = json.loads(line)
    seen.append(request["message"])
    if request["message"] == "die":
        sys.stderr.write("out of memory")
        sys.exit(9)
    if request["message"] == "hang":
        import time
        print('{"delta": "Let me"}', flush=True)
        time.sleep(60)
    if request["message"] == "babble":
        print("what?", flush=True)
        continue
    sys.stderr.write("noise " * 50_000)
    for event in EVENTS:
        print(json.dumps(event), flush=True)
"""
ONE = LINES.replace("EVENTS", '[{"message": f"{len(seen)}: {seen[-1]}"}]')
MANY = LINES.replace("EVENTS", '[{"delta": f"{len(seen)}"}, {"delta": "!"}, {"last": True}]')


def stays(code: str = ONE, **options: Any) -> ProcessAgent:
    return program(code, input="json", output="json", persistent=True, **options)


def stays_and_streams() -> ProcessAgent:
    return program(MANY, input="json", output="jsonl", persistent=True, stream=StreamPaths(done=None, done_at="last"))


async def test_one_process_stays_for_a_session_and_ends_with_the_attempt() -> None:
    for agent, first, second in ((stays(), "1: a", "2: b"), (stays_and_streams(), "1!", "2!")):

        @define_eval(cases={"one": 1, "two": 2, "three": 3})
        async def converses(t: Any, case: int, first: str = first, second: str = second) -> None:
            t.check((await t.send("a")).message, equals(first))
            other = t.new_session()
            t.check((await t.send("b")).message, equals(second))
            t.check((await other.send("a")).message, equals(first))

        run = await run_eval(converses, agent=agent, attempts=2)
        assert {each.reason for each in run.attempts} == {None}
        assert run.statuses == {"passed": 6}
        assert_no_children()


async def test_a_process_that_ends_in_a_session_has_failed() -> None:
    async with attempt(agent=stays()) as t:
        await t.send("a")
        with pytest.raises(AgentFailed, match=r"ended with exit code 9 before it answered: .*out of memory"):
            await t.send("die")
        with pytest.raises(AgentFailed, match="has ended, so that this session cannot go on"):
            await t.send("b")
        assert (await t.new_session().send("c")).message == "1: c"
        t.skip("seen")


async def test_a_line_that_is_not_json_is_a_failure_in_a_session_too() -> None:
    for agent in (stays(), stays_and_streams()):
        async with attempt(agent=agent) as t:
            with pytest.raises(AgentFailed, match=r"that is not JSON, .*: what"):
                await t.send("babble")
            t.skip("seen")


async def test_time_that_is_up_ends_the_session_and_keeps_what_came() -> None:
    async with attempt(agent=stays_and_streams()) as t:
        session = t.new_session()
        await session.send("a")
        with pytest.raises(AgentUnavailable, match="did not reply within 1 s"):
            await session.send("hang", timeout=1.0)
        assert_no_children()
        # Not for what was done to it.
        with pytest.raises(AgentUnavailable, match="earlier turn was given up") as caught:
            await session.send("c")
    assert not caught.value.retryable
    assert session.turns[1].messages == ("Let me",)


async def test_a_process_that_does_not_end_with_its_input_is_ended() -> None:
    stubborn = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + ONE + "\nwhile True: pass"
    async with attempt(agent=stays(stubborn)) as t:
        t.check((await t.send("a")).message, equals("1: a"))
    assert t.result.verdict == "passed"


async def test_what_a_process_started_ends_with_its_session() -> None:
    spawns = (
        f"{CHILD}\nimport json, sys\nfor line in sys.stdin: print(json.dumps({{'message': str(c.pid)}}), flush=True)"
    )
    async with attempt(agent=stays(spawns)) as t:
        child = int((await t.send("a")).message)
    await gone(child)


async def test_messages_of_one_session_take_turns() -> None:
    async with attempt(agent=stays()) as t:
        said: list[str] = []
        session = t.new_session()

        async def send(text: str) -> None:
            said.append((await session.send(text)).message)

        async with anyio.create_task_group() as group:
            for text in "abc":
                group.start_soon(send, text)
    assert sorted(text[0] for text in said) == ["1", "2", "3"]


# -- many


async def test_many_turns_leave_nothing_behind() -> None:
    @define_eval(cases={str(number): number for number in range(30)})
    async def echoes(t: Any, case: int) -> None:
        turn = await t.send(str(case))
        t.check(turn.message, equals(str(case)))

    run = await run_eval(echoes, agent=program(ECHO), concurrency=6)
    assert run.statuses == {"passed": 30}
    assert_no_children()


# -- mistakes


@pytest.mark.parametrize(
    ("argv", "options", "error", "words"),
    [
        ("my-agent --json", {}, TypeError, "takes the words of a command, such as"),
        ([], {}, TypeError, "takes the words of a command"),
        (["a", 7], {}, TypeError, "words as text, got 7"),
        (["a", "{mesage}"], {}, ValueError, r"argv has \{mesage\}"),
        (["a"], {"output": "xml"}, ValueError, "'text', 'json' or 'jsonl'"),
        (["a"], {"reply": "x"}, ValueError, "reply= is for output='json' and 'jsonl'"),
        (["a"], {"output": "json", "stream": StreamPaths()}, ValueError, "stream= is for output='jsonl'"),
        (["a"], {"output": "jsonl", "reply": lambda value, ctx: "x"}, ValueError, "read event by event"),
        (["a"], {"persistent": True}, ValueError, "speaks JSON lines"),
        (["a"], {"persistent": True, "input": "json", "output": "jsonl"}, ValueError, "the end of a turn"),
        (
            ["a", "{message}"],
            {"persistent": True, "input": "json", "output": "json"},
            ValueError,
            "on standard input, not in argv",
        ),
        (["a"], {"timeout": -1}, ValueError, "timeout= is a number of seconds"),
    ],
)
async def test_mistakes_are_said_where_they_are_made(
    argv: Any, options: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ProcessAgent(argv, **options)
