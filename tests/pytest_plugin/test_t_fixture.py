"""The fixture `t` in ordinary tests: what becomes of its checks, its stops and the exceptions around them."""

from typing import Any

import pytest

pytest_plugins = ["pytester"]

AGENT = ("--niceeval-agent", "shop:support")
HEAD = "import anyio, pytest\nfrom niceeval_expect import excludes, includes\n"


def test_failed_gates_are_one_failure_of_the_call_on_either_event_loop(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "pytestmark = pytest.mark.anyio\n"
            "async def test_stops(t):\n"
            "    turn = await t.send('Where is ORD-1002?')\n"
            "    t.check(turn.message, includes('refund')).key('right status')\n"
            "    await turn.called_tool('cancel_order').or_stop()\n"
            "    raise RuntimeError('never reached')\n"
            "async def test_stops_in_a_task_group(t):\n"
            "    turn = await t.send('Where is ORD-1002?')\n"
            "    async def stop():\n"
            "        await turn.called_tool('cancel_order').or_stop()\n"
            "    async with anyio.create_task_group() as group:\n"
            "        group.start_soon(stop)\n"
            "async def test_goes_on(t):\n"
            "    turn = await t.send('Where is ORD-1001?')\n"
            "    await turn.succeeded().or_stop()\n"
        }
    )
    done = project.pytest(*AGENT, "-v")
    done.assert_outcomes(passed=2, failed=4)
    done.stdout.fnmatch_lines(
        [
            "*_ test_stops[[]asyncio[]] _*",
            "FAILED test_orders/test_stops[[]asyncio[]]  shop:support",
            '  ✗ right status  includes("refund") *test_orders.py:6',
            '      received  "ORD-1002 is on its way."',
            "  ✗ called_tool('cancel_order') *test_orders.py:7",
            "    stopped here by or_stop(); later checks did not run. 0 checks passed.",
            "*_ test_stops[[]trio[]] _*",
            "FAILED test_orders.py::test_stops[[]trio[]] - right status, called_tool(*",
        ]
    )
    text = done.stdout.str()
    assert "StopSignal" not in text
    assert "at teardown" not in text
    assert project.statuses == {
        "test_orders/test_stops[asyncio]": "failed",
        "test_orders/test_stops[trio]": "failed",
        "test_orders/test_stops_in_a_task_group[asyncio]": "failed",
        "test_orders/test_stops_in_a_task_group[trio]": "failed",
        "test_orders/test_goes_on[asyncio]": "passed",
        "test_orders/test_goes_on[trio]": "passed",
    }
    assert (project.header.planned(), project.header.status) == (6, "sealed")


def test_a_test_needs_neither_a_mark_nor_a_coroutine(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "class TestOrders:\n"
            "    async def test_asks(self, t):\n"
            "        turn = await t.send('Where is ORD-1002?')\n"
            "        t.check(turn.message, includes('refund'))\n"
            "    @pytest.mark.parametrize('word', ['way', 'refund'])\n"
            "    def test_reads(self, t, word):\n"
            "        t.check('on its way', includes(word))\n"
            "def test_stops(t):\n"
            "    t.check('on its way', includes('refund'))\n"
            "    t.skip('the rest')\n"
        }
    )
    project.pytest(*AGENT).assert_outcomes(passed=1, failed=3)
    assert project.statuses == {
        "test_orders/TestOrders/test_asks": "failed",
        "test_orders/TestOrders/test_reads[way]": "passed",
        "test_orders/TestOrders/test_reads[refund]": "failed",
        "test_orders/test_stops": "failed",
    }


def test_skips_are_skips_with_their_reason(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "async def test_by_t(t):\n    t.skip('no shop here')\n"
            "async def test_by_pytest(t):\n    pytest.skip('no time')\n"
            "def test_without_a_loop(t):\n    pytest.skip('no loop')\n"
        }
    )
    done = project.pytest("-rs")
    done.assert_outcomes(skipped=3)
    done.stdout.fnmatch_lines_random(
        ["SKIPPED * test_orders.py:3: no shop here", "SKIPPED * test_orders.py:5: no time", "SKIPPED *:7: no loop"]
    )
    assert {each["status"] for each in project.attempts} == {"skipped"}
    assert {each["reason"] for each in project.attempts} == {"no shop here", "no time", "no loop"}


def test_what_cannot_be_decided_is_an_error(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "import shop\n"
            "@pytest.mark.niceeval(agent=shop.closed)\n"
            "async def test_unreached(t):\n    await t.send('Anybody there?')\n"
            "async def test_undecided(t):\n    (await t.send('Where is ORD-1002?')).max_tokens(10)\n"
            "async def test_nothing_checked(t):\n    pass\n"
            "@pytest.mark.niceeval(timeout=0.05)\n"
            "async def test_slow(t):\n    await anyio.sleep_forever()\n"
            "async def test_misuse(t):\n"
            "    handle = t.check(1, includes('a')).gate()\n"
            "    handle.gate()\n"
            "async def test_broken_agent(t):\n    await t.send('Where is ORD-404?')\n"
        }
    )
    done = project.pytest(*AGENT, "--junitxml=report.xml")
    done.assert_outcomes(errors=5, failed=1)
    done.stdout.fnmatch_lines_random(
        [
            "ERROR test_orders.py::test_unreached - agent unavailable: 503 Service*",
            "ERROR test_orders.py::test_undecided - max_tokens(10)*",
            "ERROR test_orders.py::test_nothing_checked - nothing was checked",
            "ERROR test_orders.py::test_slow - timed out after 0.05 s",
            "ERROR test_orders.py::test_misuse - *AuthoringError*",
            "FAILED test_orders.py::test_broken_agent - the agent raised KeyError: 'ORD-404'",
        ]
    )
    assert 'errors="5" failures="1"' in (project.root / "report.xml").read_text()


def test_an_exception_of_the_test_is_reported_as_pytest_reports_it(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "async def test_asserts(t):\n"
            "    turn = await t.send('Where is ORD-1002?')\n"
            "    t.check(turn.message, includes('refund')).key('right status')\n"
            "    assert turn.message == 'nothing'\n"
            "def test_plain(t):\n"
            "    raise ValueError('of its own')\n"
        }
    )
    done = project.pytest(*AGENT)
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(
        [
            ">       assert turn.message == 'nothing'",
            "E       AssertionError: assert 'ORD-1002 is on its way.' == 'nothing'",
            "test_orders.py:6: AssertionError",
            "-* niceeval -*",
            "*✗ right status *",
            ">       raise ValueError('of its own')",
            "E       ValueError: of its own",
        ]
    )
    assert "fixture.py" not in done.stdout.str()
    assert set(project.statuses.values()) == {"errored"}


def test_a_stop_in_a_fixture_fails_its_test_and_no_other(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "pytestmark = pytest.mark.anyio\n"
            "@pytest.fixture\n"
            "async def turn(t):\n"
            "    turn = await t.send('Where is ORD-1002?')\n"
            "    await turn.called_tool('cancel_order').or_stop()\n"
            "    return turn\n"
            "@pytest.fixture\n"
            "async def visited(t):\n"
            "    turn = await t.send('Where is ORD-1002?')\n"
            "    yield await turn.succeeded().or_stop()\n"
            "@pytest.fixture\n"
            "def away(t):\n    t.skip('on holiday')\n"
            "class TestMethod:\n"
            "    @pytest.fixture\n"
            "    def kept(self, t):\n        self.value = 3\n"
            "    async def test_bound(self, t, kept):\n        t.check(str(self.value), includes('3'))\n"
            "@pytest.fixture\n"
            "def broken(t):\n    raise ValueError('a fixture')\n"
            "async def test_stopped(t, turn):\n    pass\n"
            "async def test_skipped(t, away):\n    pass\n"
            "async def test_broken(t, broken):\n    pass\n"
            "async def test_fine(t, visited):\n    pass\n"
        }
    )
    done = project.pytest(*AGENT, "-v")
    done.assert_outcomes(failed=2, skipped=2, errors=2, passed=4)
    done.stdout.fnmatch_lines(["E       ValueError: a fixture"])
    assert {name.partition("[")[0]: status for name, status in project.statuses.items()} == {
        "test_orders/test_stopped": "failed",
        "test_orders/test_skipped": "skipped",
        "test_orders/test_broken": "errored",
        "test_orders/test_fine": "passed",
        "test_orders/TestMethod/test_bound": "passed",
    }


def test_the_nearest_word_on_the_agent_counts(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "import shop\n"
            "def word(message):\n    return 'a word'\n"
            "async def says(t):\n    return (await t.send('Where is ORD-1001?')).message\n"
            "async def test_of_the_command_line(t):\n"
            "    t.check(await says(t), includes('on its way'))\n"
            "@pytest.mark.niceeval(agent=word)\n"
            "class TestMarked:\n"
            "    async def test_class(self, t):\n"
            "        t.check(await says(t), includes('a word'))\n"
            "    @pytest.mark.niceeval(agent='shop:careful')\n"
            "    async def test_own(self, t):\n"
            "        t.check(await says(t), includes('refund'))\n",
            "deep/test_fixture.py": "import pytest\nfrom niceeval_expect import includes\n"
            "@pytest.fixture\n"
            "def niceeval_agent():\n    return lambda message: 'of a fixture'\n"
            "async def test_fixture(t):\n"
            "    t.check((await t.send('hello')).message, includes('of a fixture'))\n",
        }
    )
    project.pytest(*AGENT).assert_outcomes(passed=4)
    assert {each["eval"].rpartition("/")[2]: each["agent"] for each in project.attempts} == {
        "test_of_the_command_line": "shop:support",
        "test_class": "word",
        "test_own": "shop:careful",
        "test_fixture": "niceeval_agent",
    }
    assert project.header.planned() == 4
    two = project.pytest(*AGENT, "--niceeval-agent", "shop:careful", "test_orders.py")
    two.assert_outcomes(passed=2, errors=1)
    two.stdout.fnmatch_lines(["*several agents are named (shop:support, shop:careful)*choose with*"])


def test_a_score_is_no_verdict(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "pytestmark = pytest.mark.niceeval(style='score')\n"
            "async def test_scores(t):\n"
            "    turn = await t.send('Where is ORD-1002?')\n"
            "    t.check(turn.message, includes('refund')).score(2)\n"
            "    t.check(turn.message, includes('way')).score(1)\n"
        }
    )
    project.pytest(*AGENT, "--junitxml=report.xml").assert_outcomes(passed=1)
    assert '<property name="niceeval_score" value="1.0"' in (project.root / "report.xml").read_text()
    assert [(each["status"], each["score"]) for each in project.attempts] == [("scored", 1)]


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        ("retries=2", "*takes agent=, style= and timeout=, got retries*"),
        ("style='points'", '*is "pass" or "score", got \'points\'*'),
        ("timeout=0", "*is a number of seconds above 0, got 0*"),
    ],
)
def test_a_mark_that_says_nothing_known_is_refused(project: Any, mark: str, sentence: str) -> None:
    project.write({"test_it.py": HEAD + f"@pytest.mark.niceeval({mark})\ndef test_it(t): pass\n"})
    done = project.pytest("--strict-markers")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    pytest.LineMatcher([*done.outlines, *done.errlines]).fnmatch_lines([sentence])


def test_a_fixture_made_of_t_is_an_attempt_and_another_of_its_name_is_none(project: Any) -> None:
    project.write(
        {
            "test_wrapped.py": HEAD + "@pytest.fixture\n"
            "def t(t):\n    t.check('hello', includes('bye'))\n    return t\n"
            "def test_it(t):\n    pass\n",
            "test_own.py": "import pytest\n@pytest.fixture\ndef t():\n    return 3\ndef test_it(t):\n    assert t == 3\n",
        }
    )
    project.pytest().assert_outcomes(failed=1, passed=1)
    assert project.statuses == {"test_wrapped/test_it": "failed"}


def test_t_is_asked_for_by_name(project: Any) -> None:
    project.write({"test_it.py": "def test_it(request):\n    request.getfixturevalue('t')\n"})
    done = project.pytest()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*name it among those of the test or fixture*"])
    assert not (project.root / ".niceeval").exists()


def test_ctrl_c_in_a_test_keeps_what_was_said(project: Any) -> None:
    project.write(
        {
            "test_orders.py": HEAD + "import os, signal\n"
            "async def test_first(t):\n    t.check('a', includes('a'))\n"
            "async def test_second(t):\n"
            "    turn = await t.send('Where is ORD-1002?')\n"
            "    t.check(turn.message, includes('way'))\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    await anyio.sleep_forever()\n"
            "async def test_third(t):\n    pass\n"
        }
    )
    done = project.pytest(*AGENT)
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert project.statuses == {"test_orders/test_first": "passed", "test_orders/test_second": "errored"}
    assert [len(each["assertions"]) for each in project.attempts] == [1, 1]
    assert (project.header.planned(), project.header.status) == (3, "interrupted")
