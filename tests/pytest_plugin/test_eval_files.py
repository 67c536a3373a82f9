"""Eval files as items of pytest: what is collected, what becomes of an attempt, and what the record says."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

pytest_plugins = ["pytester"]

AGENT = ("--niceeval-agent", "shop:support")
MIXED = """
from niceeval import EvalContext, define_eval, define_score_eval
from niceeval_expect import includes


@define_eval
async def fails(t: EvalContext) -> None:
    turn = await t.send("Where is ORD-1002?")
    t.check(turn.message, includes("refund")).key("right status")
    t.check(turn.message, includes("sorry")).key("polite")


@define_eval
async def undecided(t: EvalContext) -> None:
    (await t.send("Where is ORD-1002?")).max_tokens(100)


@define_eval
async def breaks(t: EvalContext) -> None:
    raise ValueError("no such order")


@define_eval
async def skips(t: EvalContext) -> None:
    t.skip("not in this country")


@define_score_eval
async def scores(t: EvalContext) -> None:
    t.score(2.5)


@define_score_eval
async def unrankable(t: EvalContext) -> None:
    (await t.send("Where is ORD-1002?")).max_tokens(100).score(1)
"""


def test_each_attempt_of_each_case_is_an_item(shop: Any) -> None:
    found = shop.pytest(*AGENT, "evals", "--collect-only", "-q")
    assert found.outlines[:3] == [
        "evals/eval_orders.py::order_lookup[moving]",
        "evals/eval_orders.py::order_lookup[refunded]",
        "evals/eval_orders.py::greets",
    ]
    assert not (shop.root / ".niceeval").exists()


def test_attempts_and_agents_are_named_where_there_are_several(shop: Any) -> None:
    agents = ("--niceeval-agent", "old=shop:support", "--niceeval-agent", "new=shop:careful")
    found = shop.pytest(*agents, "--niceeval-attempts", "2", "evals", "--collect-only", "-q", "-k", "moving or greets")
    assert found.outlines[:8] == [
        "evals/eval_orders.py::order_lookup[moving-old-attempt1]",
        "evals/eval_orders.py::order_lookup[moving-old-attempt2]",
        "evals/eval_orders.py::order_lookup[moving-new-attempt1]",
        "evals/eval_orders.py::order_lookup[moving-new-attempt2]",
        "evals/eval_orders.py::greets[old-attempt1]",
        "evals/eval_orders.py::greets[old-attempt2]",
        "evals/eval_orders.py::greets[new-attempt1]",
        "evals/eval_orders.py::greets[new-attempt2]",
    ]


def test_an_attempt_fails_errs_skips_or_passes_as_its_verdict_says(project: Any) -> None:
    project.write({"evals/eval_mixed.py": MIXED})
    done = project.pytest(*AGENT, "evals", "-rsfE", "--junitxml=report.xml")
    done.assert_outcomes(passed=1, failed=1, errors=3, skipped=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            "FAILED mixed/fails  shop:support",
            '  ✗ right status  includes("refund") *evals/eval_mixed.py:9',
            '      expected  "refund"',
            '      received  "ORD-1002 is on its way."',
            "      input     Where is ORD-1002[?]",
            '  ✗ polite  includes("sorry") *',
            "SKIPPED * evals/eval_mixed.py:23: not in this country",
            "FAILED evals/eval_mixed.py::fails - right status, polite",
        ]
    )
    done.stdout.fnmatch_lines(["ERRORED mixed/breaks*", '  File "*eval_mixed.py", line 20, in breaks'])
    assert "\x1b" not in done.stdout.str()
    failures = done.stdout.str().partition("= FAILURES =")[2].partition("= niceeval =")[0]
    assert max(map(len, failures.splitlines())) <= 80

    suite = ElementTree.parse(project.root / "report.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("1", "3", "1")
    [scored] = [case for case in suite.iter("testcase") if case.get("name") == "scores"]
    assert [(each.get("name"), each.get("value")) for each in scored.iter("property")] == [("niceeval_score", "2.5")]


def test_the_record_is_that_of_niceeval_run(shop: Any) -> None:
    shop.write({"evals/deep/returns_eval.py": MIXED})
    shop.pytest(*AGENT, "evals")
    by_pytest = {(each["eval"], each["case"], each["agent"], each["status"]) for each in shop.attempts}
    matches = {fingerprint for each in shop.attempts for fingerprint in each["matches"]}
    evals = {each.id for each in shop.header.evals}
    shop.niceeval("run", "evals", "--agent", "shop:support")
    assert {(each["eval"], each["case"], each["agent"], each["status"]) for each in shop.attempts} == by_pytest
    assert {fingerprint for each in shop.attempts for fingerprint in each["matches"]} == matches
    assert {each.id for each in shop.header.evals} == evals
    assert "deep/returns/fails" in evals


def test_the_summary_leads_to_the_record(shop: Any) -> None:
    done = shop.pytest(*AGENT, "evals")
    [run] = shop.runs
    where = f".niceeval/runs/{run.name}"
    done.stdout.fnmatch_lines(
        ["=* niceeval *=", "1 failed, 2 passed", f"record  {where}", f"next    niceeval show {where}"]
    )
    shown = shop.niceeval("show", where)
    assert shown.returncode == 0
    assert "FAILED orders/order_lookup[refunded]" in shown.stdout
    short = shop.pytest(*AGENT, "evals", "-q", "--tb=no")
    short.stdout.fnmatch_lines(["niceeval: 1 failed, 2 passed  .niceeval/runs/*"])
    assert "niceeval show" not in short.stdout.str()


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (["evals", "-k", "refunded"], {"orders/order_lookup[refunded]"}),
        (["evals", "-k", "lookups"], {"orders/order_lookup[moving]", "orders/order_lookup[refunded]"}),
        (["evals/eval_orders.py::order_lookup[moving]"], {"orders/order_lookup[moving]"}),
        (["evals/eval_orders.py::order_lookup"], {"orders/order_lookup[moving]", "orders/order_lookup[refunded]"}),
        (["evals", "-k", "greets", "-p", "no:cacheprovider"], {"orders/greets"}),
    ],
)
def test_the_plan_holds_what_is_selected(shop: Any, selection: list[str], names: set[str]) -> None:
    shop.pytest(*AGENT, *selection)
    assert set(shop.statuses) == names
    assert shop.header.planned() == len(names)
    assert shop.header.status == "sealed"


def test_what_failed_last_is_run_again_and_nothing_else_is_planned(shop: Any) -> None:
    agents = ("--niceeval-agent", "old=shop:support", "--niceeval-agent", "new=shop:careful")
    shop.pytest(*agents, "evals").assert_outcomes(passed=4, failed=2)
    again = shop.pytest(*agents, "evals", "--lf")
    again.assert_outcomes(failed=2)
    # One case by one agent, the other case by the other one.
    assert {(each["case"], each["agent"]) for each in shop.attempts} == {("refunded", "old"), ("moving", "new")}
    assert shop.header.planned() == 2
    assert shop.header.status == "sealed"
    rates = shop.niceeval("show").stdout
    assert "planned attempt" not in rates


def test_what_the_first_failure_keeps_from_running_stays_in_the_plan(shop: Any) -> None:
    done = shop.pytest(*AGENT, "evals", "-x")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["interrupted (-x after 1 failure): 2 of 3 planned attempts have ended"])
    assert (shop.header.status, shop.header.planned()) == ("interrupted", 3)


def test_an_error_ends_the_session_like_a_failure_under_x(project: Any) -> None:
    project.write({"evals/eval_mixed.py": MIXED})
    project.pytest(*AGENT, "evals", "-x", "-k", "not fails").assert_outcomes(errors=1, deselected=1)


def test_ctrl_c_keeps_what_has_ended_and_what_was_under_way(shop: Any) -> None:
    shop.write(
        {
            "agents.py": "import os, signal, anyio\n"
            "async def impatient(message):\n"
            "    if 'ORD-1002' in message:\n"
            "        os.kill(os.getpid(), signal.SIGINT)\n"
            "        await anyio.sleep_forever()\n"
            "    return 'on its way'\n"
        }
    )
    done = shop.pytest("--niceeval-agent", "agents:impatient", "evals")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert shop.statuses == {"orders/order_lookup[moving]": "passed", "orders/order_lookup[refunded]": "errored"}
    assert (shop.header.status, shop.header.planned()) == ("interrupted", 3)
    done.stdout.fnmatch_lines(["interrupted: 2 of 3 planned attempts have ended"])


def test_a_broken_file_is_an_error_and_the_others_go_on(shop: Any) -> None:
    shop.write({"evals/eval_broken.py": "import niceeval\n\nimport nowhere_to_be_found\n"})
    done = shop.pytest(*AGENT, "evals")
    done.assert_outcomes(passed=2, failed=1, errors=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["evals/eval_broken.py:3: ModuleNotFoundError: *nowhere_to_be_found*"])
    assert shop.header.planned() == 3


def test_a_broken_test_file_stops_pytest_as_ever(shop: Any) -> None:
    shop.write({"evals/test_broken.py": "import nowhere_to_be_found\n"})
    done = shop.pytest(*AGENT, "evals")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert not (shop.root / ".niceeval").exists()


def test_evals_of_one_id_in_two_files_are_refused(shop: Any) -> None:
    shop.write({"evals/orders_eval.py": "from niceeval import define_eval\n@define_eval\nasync def greets(t): ...\n"})
    done = shop.pytest(*AGENT, "evals")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*'orders/greets'*eval_orders.py*orders_eval.py*"])


@pytest.mark.parametrize("arguments", [("-p", "no:niceeval"), ("-o", "niceeval_collect=false")])
def test_collecting_evals_can_be_turned_off(shop: Any, arguments: tuple[str, ...]) -> None:
    assert shop.pytest(*arguments, "evals").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_files_of_others_stay_untouched(project: Any) -> None:
    project.write(
        {
            "evals/eval_metrics.py": "raise SystemExit('not for importing')\n",
            "evals/test_model_eval.py": "import niceeval\ndef test_it(): pass\n",
            "evals/plain.py": "from niceeval import define_eval\nraise SystemExit('nobody asked for this file')\n",
        }
    )
    project.pytest(*AGENT, "evals").assert_outcomes(passed=1)
    assert not (project.root / ".niceeval").exists()


def test_a_file_that_is_named_is_taken_whatever_its_name(shop: Any) -> None:
    (shop.root / "evals/eval_orders.py").rename(shop.root / "orders.py")
    shop.pytest(*AGENT, "orders.py").assert_outcomes(passed=2, failed=1)
    assert "orders/order_lookup[moving]" in shop.statuses
    shop.write({"checks.py": "from niceeval import define_eval\ndef test_it(): pass\n"})
    shop.pytest("checks.py").assert_outcomes(passed=1)


def test_a_fixture_gives_the_agent_and_others_surround_the_attempt(shop: Any) -> None:
    shop.write(
        {
            "conftest.py": "import pytest, shop\n"
            "@pytest.fixture\n"
            "def niceeval_agent():\n"
            "    return shop.careful\n"
            "@pytest.fixture(autouse=True, scope='module')\n"
            "def around(request):\n"
            "    yield\n"
            "    print('left', request.module.__name__)\n"
        }
    )
    done = shop.pytest("evals", "-s")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*left eval_orders*"])
    assert {each["agent"] for each in shop.attempts} == {"niceeval_agent"}
    named = shop.pytest("evals", *AGENT, "-k", "refunded")
    named.assert_outcomes(failed=1, deselected=2)


def test_without_an_agent_only_evals_that_send_are_errors(shop: Any) -> None:
    shop.pytest("evals").assert_outcomes(passed=1, errors=2)
    assert shop.header.agents == ()


def test_the_configuration_of_the_project_counts(shop: Any) -> None:
    shop.write(
        {
            "pyproject.toml": "[tool.niceeval]\nagent = 'shop:support'\nattempts = 2\nrecord = 'kept'\nevals = 'evals'\n",
            "evals/deep/eval_more.py": "from niceeval import define_eval\n@define_eval\nasync def x(t): ...\n",
        }
    )
    shop.pytest("evals/deep").assert_outcomes(errors=2)
    [run] = (shop.root / "kept" / "runs").glob("*/")
    assert '"deep/more/x"' in (run / "run.json").read_text()
    done = shop.pytest("evals/deep", "--niceeval-attempts", "1", "--niceeval-record", "elsewhere")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["record  elsewhere/runs/*"])


def test_experiments_of_the_configuration_are_run(shop: Any) -> None:
    shop.write(
        {
            "pyproject.toml": "[tool.niceeval]\nexperiments = 'experiments'\n",
            "experiments/small.py": "from niceeval import define_experiment\n"
            "it = define_experiment(agent='shop:support', model='s', attempts=2)\n",
            "experiments/large.py": "from niceeval import define_experiment\n"
            "it = define_experiment(agent='shop:careful', model='l', evals=['refunded or lookup'])\n",
        }
    )
    done = shop.pytest("evals", "--collect-only", "-q")
    assert "evals/eval_orders.py::order_lookup[moving-large]" in done.outlines
    assert "evals/eval_orders.py::order_lookup[moving-small-attempt2]" in done.outlines
    assert "evals/eval_orders.py::greets[attempt2]" in done.outlines
    shop.pytest("evals").assert_outcomes(passed=5, failed=3)
    assert shop.header.planned() == 8
    assert {each.name: each.settings.get("model") for each in shop.header.experiments} == {"small": "s", "large": "l"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--niceeval-agent", "shop:suport"), "*did you mean 'support'*"),
        (("--niceeval-agent", "=shop:support"), "*write module:attr or name=module:attr*"),
        (("--niceeval-attempts", "0"), "*a whole number of at least 1, got '0'*"),
    ],
)
def test_options_that_make_no_sense_are_named(shop: Any, arguments: tuple[str, ...], sentence: str) -> None:
    done = shop.pytest(*arguments, "evals")
    assert done.ret != pytest.ExitCode.OK
    assert not (shop.root / ".niceeval").exists()
    pytest.LineMatcher([*done.outlines, *done.errlines]).fnmatch_lines([sentence])


def test_the_event_loop_is_one_for_all_attempts(shop: Any) -> None:
    shop.write(
        {
            "agents.py": "import asyncio\nloops = []\nasync def keeps(message):\n"
            "    loops.append(asyncio.get_running_loop())\n"
            "    assert loops[0] is loops[-1]\n"
            "    return 'on its way, or a refund'\n"
        }
    )
    shop.pytest("--niceeval-agent", "agents:keeps", "evals").assert_outcomes(passed=3)


def test_large_subjects_and_strange_case_ids_are_kept(project: Any) -> None:
    project.write(
        {
            "eval_odd.py": "from niceeval import define_eval\nfrom niceeval_expect import includes\n"
            "@define_eval(cases={'a::b[1]/\\n': 1, 'Ö' * 300: 2})\n"
            "async def odd(t, case):\n"
            "    t.check('x' * 3_000_000, includes('x'))\n"
        }
    )
    project.pytest("eval_odd.py", "-v").assert_outcomes(passed=2)
    assert [each["case"] for each in project.attempts] == ["a::b[1]/\n", "Ö" * 300]
    assert len(list((project.runs[-1] / "blobs").iterdir())) == 1
    assert project.niceeval("verify").returncode == 0
