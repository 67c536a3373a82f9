"""The pytest plugin: eval files as items, and the fixture `t` for ordinary tests.

This module is loaded by every run of pytest, so that it does next to nothing: the rest is loaded, and its hooks are
registered, when the first eval file is collected or the first test asks for `t`.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import pytest

__all__ = ["EXCHANGE", "is_plugins", "niceeval_agent", "t"]

EXCHANGE: Final = "niceeval_exchange"
"""Under which name the workers of pytest-xdist get the folder in which they and the controller meet."""

_EVAL_FILE: Final = re.compile(r"(?:eval_.+|.+_eval)\.py").fullmatch
_DEFINES: Final = re.compile(rb"define_?(?:score_?)?eval", re.IGNORECASE).search
_TESTS: Final = re.compile(rb"^(?:async +)?(?:def +test|class +Test)", re.MULTILINE).search

_exchange: Final = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("niceeval", "agent evals")
    group.addoption(
        "--niceeval-agent",
        action="append",
        default=[],
        metavar="[NAME=]MODULE:ATTR",
        help="the agent that evals and `t` talk to; several times to compare agents over the evals",
    )
    group.addoption("--niceeval-attempts", type=_count, metavar="N", help="how many attempts each case of an eval gets")
    group.addoption("--niceeval-record", metavar="DIR", help="the record's folder (default: .niceeval)")
    parser.addini("niceeval_collect", "collect eval_*.py and *_eval.py as evals", type="bool", default=True)


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, got {text!r}")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        'niceeval(agent=None, style="pass", timeout=None): how a test that uses the fixture `t` is run: the agent or '
        '"module:attr", "pass" or "score", and the seconds that it may take',
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what the workers left behind."""
    folder = config.stash.get(_exchange, None)
    if folder is not None:
        folder.cleanup()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect eval files; one that was named on the command line comes through the hook below."""
    if not _EVAL_FILE(file_path.name) or parent.session.isinitpath(file_path):
        return None
    return _eval_file(file_path, parent)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Take a file that was named on the command line and holds evals."""
    if not parent.session.isinitpath(module_path):
        return None
    return _eval_file(module_path, parent)


def _eval_file(path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Return the collector of an eval file; None for files that pytest collects as tests, and for anybody else's."""
    config = parent.config
    if not config.getini("niceeval_collect") or _is_test_file(path, config.getini("python_files")):
        return None
    try:
        text = path.read_bytes()
    except OSError:
        return None
    if b"niceeval" not in text or not (_EVAL_FILE(path.name) or (_DEFINES(text) and not _TESTS(text))):
        return None
    from niceeval.pytest_plugin.collecting import EvalFile

    return EvalFile.from_parent(parent, path=path)


def _is_test_file(path: Path, patterns: list[str]) -> bool:
    """Tell whether a file is pytest's by `python_files`, whose patterns are of names, or with a slash of paths."""
    return any(fnmatch(str(path), f"*/{each}") if "/" in each else fnmatch(path.name, each) for each in patterns)


@pytest.hookimpl(wrapper=True)
def pytest_collection_finish(session: pytest.Session) -> Iterator[None]:
    """Settle the plan once it is known what is selected, before anything runs."""
    # A worker tells the controller what it has collected in the same hook; the plan has to be there by then.
    in_worker = hasattr(session.config, "workerinput")
    if in_worker:
        try:
            _settle_plan(session)
        except pytest.UsageError as error:
            _say_for_worker(session.config, str(error))
            raise
    yield
    if not in_worker:
        _settle_plan(session)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Report at the end the rates of evals that wait for attempts that did not come."""
    try:
        result = yield
    except BaseException:
        _finish_rates(session, stopped=True)
        raise
    _finish_rates(session, stopped=False)
    return result


def _finish_rates(session: pytest.Session, *, stopped: bool) -> None:
    # With pytest-xdist, the controller gets these hooks while this one is under way.
    if hooks_loaded(session.config):
        from niceeval.pytest_plugin.hooks import finish_rates

        finish_rates(session, stopped=stopped)


def _say_for_worker(config: pytest.Config, text: str) -> None:
    """Say why a worker of pytest-xdist gives up: the controller only sees that it is gone."""
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    with nullcontext() if capture is None else capture.global_and_fixture_disabled():
        sys.stderr.write(f"ERROR: {text}\n")
        sys.stderr.flush()


def _settle_plan(session: pytest.Session) -> None:
    if hooks_loaded(session.config) or any(is_plugins(item, "t") for item in session.items):
        from niceeval.pytest_plugin.hooks import settle_plan

        settle_plan(session)


def is_plugins(item: pytest.Item, name: str) -> bool:
    """Tell whether a test uses this plugin's fixture of a name, or one that is made of it and bears its name."""
    if not isinstance(item, pytest.Function) or name not in item.fixturenames:
        return False
    for definition in reversed(item._fixtureinfo.name2fixturedefs.get(name, ())):
        if getattr(definition.func, "__module__", None) == __name__:
            return True
        if name not in definition.argnames:
            return False
    return False


def hooks_loaded(config: pytest.Config) -> bool:
    """Tell whether something of NiceEval has been collected."""
    return config.pluginmanager.hasplugin("niceeval-session")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where to meet."""
    if _exchange not in node.config.stash:
        node.config.stash[_exchange] = tempfile.TemporaryDirectory(prefix="niceeval-")
    node.workerinput[EXCHANGE] = node.config.stash[_exchange].name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """Start the run in the controller, once the first worker has said what is planned."""
    folder = Path(node.config.stash[_exchange].name)
    if any(folder.iterdir()):
        from niceeval.pytest_plugin.hooks import start_run_for_workers

        start_run_for_workers(node.config, folder)


@pytest.fixture
def niceeval_agent(request: pytest.FixtureRequest) -> Any:
    """The agent that `t` talks to: the mark's, else the one of the command line or the configuration, else none.

    Define a fixture of this name to give another one; eval files use it too, where no agent is named.
    """
    from niceeval.pytest_plugin.fixture import usual_agent

    return usual_agent(request)


@pytest.fixture
def t(request: pytest.FixtureRequest, niceeval_agent: Any) -> Iterator[Any]:
    """One attempt of NiceEval: send messages to the agent and check what it says and does.

    The checks that fail become one failure of the test, at its end or where `or_stop()` ends it.
    """
    from niceeval.pytest_plugin.fixture import opened

    with opened(request, niceeval_agent) as context:
        yield context
