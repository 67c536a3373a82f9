"""What displays count and draw, with a clock in the test's hand."""

import io
import os
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from rich.console import Console

from niceeval import EvalContext, define_eval, define_score_eval
from niceeval.attempts import Finished
from niceeval.cli.board import Shape, board, eval_line, note_lines
from niceeval.cli.display import Display
from niceeval.cli.plain import PlainDisplay
from niceeval.cli.progress import open_progress
from niceeval.cli.remaining import progress_line, time_left
from niceeval.cli.screen import Screen, Symbols, open_screen
from niceeval.cli.tally import Reasons, Tally
from niceeval.evals.experiments import Experiment
from niceeval.plans import AttemptRef, Plan, Progress


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def plan(sizes: dict[str, int], agents: Iterable[str] = ("",), **settings: Any) -> Plan:
    def one(name: str, size: int) -> Any:
        @define_eval(id=name, cases=range(size))
        async def made(t: EvalContext, case: int) -> None:
            """Never runs."""

        return made

    evals = tuple(one(name, size) for name, size in sizes.items())
    return Plan(evals, tuple(Experiment(name=name) for name in agents), **settings)


def ended(status: str = "passed", reason: str | None = None, line: str = '{"id": "1"}') -> Finished:
    return Finished(line, status, 0.5, reason)


class Run:
    """A plan of which one attempt after the other is told to a tally or a display."""

    def __init__(self, plan: Plan, clock: Clock, told: Any = None) -> None:
        self.clock = clock
        self.tally = Tally(plan, clock) if told is None else told
        self.refs = [ref for ref, *_ in plan.refs()]
        self.started = 0

    def start(self, number: int = 1) -> list[AttemptRef]:
        refs = self.refs[self.started : self.started + number]
        self.started += number
        for ref in refs:
            self.tally.start(ref) if isinstance(self.tally, Tally) else self.tally.attempt_started(ref)
        return refs

    def finish(self, refs: Iterable[AttemptRef], status: str = "passed", reason: str | None = None) -> None:
        for ref in refs:
            if isinstance(self.tally, Tally):
                self.tally.finish(ref, ended(status, reason))
            else:
                self.tally.attempt_finished(ref, ended(status, reason))


def screen(width: int = 80) -> Screen:
    console = Console(file=io.StringIO(), width=width, height=24, color_system=None, no_color=True)
    return Screen(console, True, True, Symbols())


def drawn(run: Run, plan: Plan, width: int = 80, height: int = 24) -> list[str]:
    shape = Shape.of(plan, run.tally)
    return [each.plain for each in board(run.tally, shape, screen(width), height)]


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_rate_has_its_denominator_and_errored_attempts_are_outside(clock: Clock) -> None:
    run = Run(plan({"a": 10}), clock)
    refs = run.start(7)
    run.finish(refs[:3])
    run.finish(refs[3:4], "failed", "greets")
    run.finish(refs[4:6], "errored", "429")
    run.finish(refs[6:], "skipped", "not today")
    whole = run.tally.whole
    assert (whole.done, whole.decided, whole.rate) == (7, 4, 0.75)
    clock.now += 3
    lines = drawn(run, plan({"a": 10}))
    assert lines[0].endswith(" 7/10  3 passed  1 failed  2 errored  1 skipped  0:00:03")
    assert "7 of 10  rate 0.75 (3/4)  2 errored  0 running" in lines[-1]


def test_no_rate_is_shown_before_anything_is_decided(clock: Clock) -> None:
    run = Run(plan({"a": 3}), clock)
    run.finish(run.start(), "errored", "429")
    assert run.tally.whole.rate is None
    assert "rate" not in "\n".join(drawn(run, plan({"a": 3})))


def test_scores_have_a_mean(clock: Clock) -> None:
    @define_score_eval(id="scored", cases=range(3))
    async def scored(t: EvalContext, case: int) -> None:
        """Never runs."""

    made = Plan((scored,))
    run = Run(made, clock)
    for ref, score in zip(run.start(2), ("0.25", "1"), strict=True):
        line = f'{{"id": "1", "reason": "not \\"score\\": 9", "score": {score}, "assertions": [{{"score": 7}}]}}'
        run.tally.finish(ref, ended("scored", line=line))
    assert run.tally.whole.mean == 0.625
    assert "mean 0.62 (2 scored)" in drawn(run, made)[-1]


def test_attempts_that_another_run_made_are_not_counted(clock: Clock) -> None:
    whole = plan({"a": 3, "b": 2}, ["x", "y"])
    refs = [ref for ref, *_ in whole.refs()]
    rest = Plan(whole.evals, whole.experiments, done=frozenset([*refs[:7], AttemptRef("gone", None, "x", 1)]))
    run = Run(rest, clock)
    assert len(run.refs) == 3
    assert run.tally.whole.total == 3
    assert list(run.tally.evals) == ["b"]
    assert {name: each.total for name, each in run.tally.agents.items()} == {"x": 1, "y": 2}
    run.finish(run.start(3))
    assert run.tally.whole.done == run.tally.whole.total


class TestTimeLeft:
    def test_it_is_unknown_until_an_attempt_has_ended(self, clock: Clock) -> None:
        run = Run(plan({"a": 4}), clock)
        run.start(2)
        clock.now += 60
        assert time_left(run.tally, clock()) is None
        assert "0:01:00, - left" in drawn(run, plan({"a": 4}))[-3]

    @pytest.mark.parametrize("at_a_time", [1, 5, 20])
    def test_it_is_right_for_any_concurrency(self, clock: Clock, at_a_time: int) -> None:
        run = Run(plan({"a": 100}), clock)
        for _ in range(40 // at_a_time):
            refs = run.start(at_a_time)
            clock.now += 10
            run.finish(refs)
        run.start(at_a_time)
        assert time_left(run.tally, clock()) == pytest.approx(60 / at_a_time * 10, rel=0.05)

    def test_many_that_run_are_not_taken_for_slow(self, clock: Clock) -> None:
        run = Run(plan({"a": 20}), clock)
        refs = run.start(10)
        clock.now += 60
        run.finish(refs[:1])
        run.start(1)
        left = time_left(run.tally, clock())
        assert left is not None
        assert 55 < left < 100

    def test_an_eval_of_its_own_pace_is_reckoned_by_its_own_pace(self, clock: Clock) -> None:
        run = Run(plan({"quick": 10, "slow": 10}), clock)
        for _ in range(10):
            refs = run.start()
            clock.now += 1
            run.finish(refs)
        for _ in range(5):
            refs = run.start()
            clock.now += 30
            run.finish(refs)
        run.start()
        left = time_left(run.tally, clock())
        assert left is not None
        assert 120 < left < 160

    def test_one_that_takes_unusually_long_keeps_the_run_going(self, clock: Clock) -> None:
        run = Run(plan({"a": 3}), clock)
        refs = run.start(3)
        clock.now += 1
        run.finish(refs[:2])
        clock.now += 99
        assert time_left(run.tally, clock()) == pytest.approx(25)

    def test_the_slowest_agent_decides(self, clock: Clock) -> None:
        made = plan({"a": 40}, ["slow", "quick"])
        tally = Tally(made, clock)
        slow = [ref for ref, *_ in made.refs() if ref.agent == "slow"]
        quick = [ref for ref, *_ in made.refs() if ref.agent == "quick"]
        for number in range(10):
            tally.start(slow[number])
            for ref in quick[4 * number : 4 * number + 4]:
                tally.start(ref)
                clock.now += 2.5
                from_quick = tally.finish(ref, ended())
                assert from_quick is None
            tally.finish(slow[number], ended())
        left = time_left(tally, clock())
        assert left is not None
        assert left == pytest.approx(300, rel=0.05)


class TestBoard:
    def test_one_eval_and_one_agent_need_one_bar(self, clock: Clock) -> None:
        made = plan({"a": 4}, ["shop:friendly"])
        run = Run(made, clock)
        run.finish(run.start(1))
        lines = drawn(run, made)
        assert sum("━" in each for each in lines) == 1

    def test_several_evals_have_a_bar_each_and_one_for_the_agent(self, clock: Clock) -> None:
        made = plan({"a": 2, "b": 2, "c": 2}, ["shop:friendly"])
        run = Run(made, clock)
        refs = run.start(3)
        run.finish([refs[0], refs[2]])
        bars = [each for each in drawn(run, made) if "━" in each or "╌" in each]
        assert [each.split()[0] for each in bars] == ["a", "b", "shop:friendly"]
        assert "2/6  rate 1.00 (2/2)" in bars[-1]
        assert "1 eval to come" in "\n".join(drawn(run, made))

    def test_several_agents_have_a_bar_each(self, clock: Clock) -> None:
        made = plan({"a": 2}, ["w", "x", "y", "z"])
        run = Run(made, clock)
        refs = run.start(4)
        run.finish(refs[:2])
        run.finish(refs[2:3], "failed", "greets")
        lines = drawn(run, made)
        rows = {each.split()[0]: each for each in lines if each[:1] in set("wxyz")}
        assert list(rows) == ["w", "x", "y", "z"]
        assert "1/2  rate 1.00 (1/1)" in rows["w"]
        assert "1/2  rate 0.00 (0/1)" in rows["y"]
        assert "0/2" in rows["z"]

    def test_bars_stand_below_each_other(self, clock: Clock) -> None:
        made = plan({"a": 20, "longer_name": 20}, ["x", "y"])
        run = Run(made, clock)
        run.start(60)
        lines = [each for each in drawn(run, made) if "╌" in each]
        assert len(lines) == 4
        assert len({each.index("╌") for each in lines}) == 1

    @pytest.mark.parametrize("height", [1, 2, 5, 10, 24, 60])
    @pytest.mark.parametrize("width", [40, 80, 100])
    def test_there_are_never_more_lines_than_the_terminal_has_room_for(
        self, clock: Clock, height: int, width: int
    ) -> None:
        made = plan({f"eval_{number}": 2 for number in range(200)}, [f"agent_{number}" for number in range(12)])
        run = Run(made, clock)
        refs = run.start(600)
        run.tally.retry(refs[5], 1, 60, "429 Too Many Requests")
        clock.now += 30
        lines = drawn(run, made, width, height)
        assert 1 <= len(lines) <= max(height - 1, 1)
        assert all(len(each) <= width for each in lines)
        assert any("0:00:30" in each for each in lines)
        if (height, width) == (24, 80):
            text = "\n".join(lines)
            for what in ("more in progress", "more agents", "more running", "retry 1 in 30 s", "evals to come"):
                assert what in text

    def test_what_runs_longest_comes_first_and_what_is_quick_is_not_named(self, clock: Clock) -> None:
        made = plan({"a": 6})
        run = Run(made, clock)
        first = run.start(1)
        clock.now += 70
        run.start(1)
        clock.now += 5
        run.start(1)
        name = first[0].eval_id
        assert drawn(run, made)[-2:] == [f"     75 s  {name}[0]", f"      5 s  {name}[1]"]
        clock.now += 60
        assert drawn(run, made)[-3].split() == ["0:02:15", f"{name}[0]"]

    def test_an_attempt_that_waits_is_not_called_running(self, clock: Clock) -> None:
        made = plan({"a": 6}, ["x", "y"], attempts=2)
        run = Run(made, clock)
        refs = run.start(3)
        clock.now += 2
        run.tally.retry(refs[1], 2, 8.2, "429 Too Many Requests")
        lines = drawn(run, made)
        assert "3 running" not in lines[-4]
        assert "2 running  1 waiting" in lines[-4]
        assert lines[-3] == f"  retry 2 in 8 s  {refs[1].eval_id}[0]  attempt 2  x  429 Too Many Requests"
        clock.now += 9
        assert "retry" not in "\n".join(drawn(run, made))
        run.finish(refs)
        assert run.tally.waiting == {}

    def test_single_attempts_are_shown_by_what_runs_and_not_twice(self, clock: Clock) -> None:
        made = plan({f"e{number}": 1 for number in range(8)})
        run = Run(made, clock)
        run.start(3)
        clock.now += 2
        text = "\n".join(drawn(run, made))
        assert text.count(run.refs[0].eval_id) == 1
        assert "5 evals to come" in text

    def test_names_cannot_move_the_cursor(self, clock: Clock) -> None:
        made = plan({"a": 3}, ["red\x1b[31m", "x"])
        run = Run(made, clock)
        refs = run.start(2)
        clock.now += 5
        run.tally.retry(refs[1], 1, 9, "429\x1b[2J\n\rnow")
        assert not any("\x1b" in each or "\n" in each or "\r" in each for each in drawn(run, made))


def test_the_line_of_an_eval_fits_and_keeps_its_bar_where_there_is_room(clock: Clock) -> None:
    made = plan({"short": 96})
    run = Run(made, clock)
    refs = run.start(27)
    run.finish(refs[:17])
    run.finish(refs[17:], "failed", "greets")
    of = run.tally.evals[refs[0].eval_id]
    shape = Shape.of(made, run.tally)
    for width in (40, 60, 80, 100):
        shown = eval_line(of, clock(), shape, screen(width)).plain
        assert len(shown) <= width
        assert "27/96  17 passed  10 failed" in shown
        assert ("━" in shown) is (width >= 60)


def test_a_reason_that_is_too_long_goes_below_and_is_cut() -> None:
    assert [each.plain for each in note_lines("failed", "a[1]", "greets", screen())] == ["✗ failed  a[1]  greets"]
    head, *rest = (each.plain for each in note_lines("errored", "a[1]", "long reason " * 40, screen()))
    assert head == "? errored  a[1]"
    assert len(rest) == 2
    assert rest[1].endswith("…")


def test_reasons_that_only_differ_in_a_number_are_alike() -> None:
    reasons = Reasons()
    said = [reasons.count("errored", f"request {number:x}f0 took {number} s") for number in range(2000)]
    assert [each for each in said if each is not None] == [1, 2, 3, 10, 100, 1000]
    assert reasons.count("failed", "request 1f0 took 1 s") == 1


def test_the_reasons_that_are_kept_apart_are_bounded() -> None:
    reasons = Reasons()
    words = ["".join(chr(ord("g") + int(digit)) for digit in str(number)) for number in range(5000)]
    said = [reasons.count("errored", f"no {word} here") for word in words]
    assert sum(each is not None for each in said) < 250


class TestPlain:
    @pytest.fixture
    def out(self) -> io.StringIO:
        return io.StringIO()

    @pytest.fixture
    def display(self, out: io.StringIO, clock: Clock) -> PlainDisplay:
        return PlainDisplay(open_screen(out), clock)

    def lines(self, out: io.StringIO) -> list[str]:
        return out.getvalue().splitlines()

    def test_a_short_run_says_no_more_than_its_evals(self, display: PlainDisplay, out: Any, clock: Clock) -> None:
        made = plan({"a": 3, "b": 1})
        run = Run(made, clock, display)
        display.plan_ready(made, "r")
        run.finish(run.start(3), "failed", "greets")
        clock.now += 1
        run.finish(run.start(1))
        display.close()
        assert [each.split()[2:] for each in self.lines(out)] == [
            ["3/3", "3", "failed", "0:00:00"],
            ["1/1", "1", "passed", "0:00:00"],
        ]

    def test_what_does_not_pass_is_said_once_a_run_takes_longer(
        self, display: PlainDisplay, out: Any, clock: Clock
    ) -> None:
        made = plan({"a": 500}, ["x", "y"])
        run = Run(made, clock, display)
        display.plan_ready(made, "r")
        run.finish(run.start(1), "failed", "greets")
        display.tick()
        assert self.lines(out) == []
        clock.now += 4
        display.tick()
        assert self.lines(out) == [f"✗ failed  {run.refs[0].eval_id}[0]  x  greets"]
        run.finish(run.start(499), "errored", "429 Too Many Requests")
        display.tick()
        assert [each.partition("429")[0].strip() for each in self.lines(out)[1:]] == [
            f"? errored  {run.refs[1].eval_id}[0]  y",
            f"? errored  {run.refs[2].eval_id}[1]  x",
            f"? errored  {run.refs[3].eval_id}[1]  y",
            "? errored  10 times so far",
            "? errored  100 times so far",
        ]
        display.close()

    def test_attempts_that_ctrl_c_cut_off_are_no_news(self, display: PlainDisplay, out: Any, clock: Clock) -> None:
        made = plan({"a": 5})
        run = Run(made, clock, display)
        display.plan_ready(made, "r")
        clock.now += 9
        run.finish(run.start(2), "errored", "interrupted")
        display.close()
        assert len(self.lines(out)) == 1
        assert " 2/5  2 errored  0:00:00" in self.lines(out)[0]

    def test_a_long_run_says_every_half_minute_how_far_it_is(
        self, display: PlainDisplay, out: Any, clock: Clock
    ) -> None:
        made = plan({"a": 100})
        run = Run(made, clock, display)
        display.plan_ready(made, "r")
        for second in range(1, 121):
            clock.now += 1
            if second % 10 == 0:
                run.finish(run.start(5))
            display.tick()
        refs = run.start(2)
        display.attempt_retried(refs[0], 1, 30, "429")
        clock.now += 25
        display.tick()
        assert len(self.lines(out)) == 4
        clock.now += 5
        display.attempt_retried(refs[0], 2, 30, "429")
        display.tick()
        assert self.lines(out)[0].startswith("15 of 100 attempts, 0 running, about ")
        assert self.lines(out)[-1].startswith("60 of 100 attempts, 1 running, 1 waiting to be tried again, about ")
        display.close()

    def test_a_stop_is_said(self, display: PlainDisplay, out: Any, clock: Clock) -> None:
        made = plan({"a": 5})
        display.plan_ready(made, "r")
        display.stopped("the budget of 2 US dollars is used up", 4)
        display.close()
        assert self.lines(out) == ["stopped the budget of 2 US dollars is used up; 4 planned attempts are not run"]

    def test_what_the_command_needs_at_the_end_is_kept(self, display: PlainDisplay, clock: Clock) -> None:
        made = plan({"a": 5})
        run = Run(made, clock, display)
        display.plan_ready(made, "r-1")
        run.finish(run.start(1), "errored", "AgentReferenceError: there is no agent")
        display.came_late("e.py:3: too late")
        display.complained("the teardown failed")
        display.noted("no usage was reported")
        display.close()
        display.close()
        assert (display.run_id, display.no_agent, display.late) == ("r-1", True, ["e.py:3: too late"])
        assert (display.complaints, display.notes) == (["the teardown failed"], ["no usage was reported"])

    def test_a_pipe_that_is_closed_ends_the_display_and_not_the_run(self, clock: Clock) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "w", encoding="utf-8") as stream:
            display = PlainDisplay(open_screen(stream), clock)
            made = plan({"a": 1, "b": 1})
            run = Run(made, clock, display)
            display.plan_ready(made, "r")
            run.finish(run.start(1))
            display.tick()
            run.finish(run.start(1))
            display.tick()
            display.close()
            assert len(display.notes) == 1
            os.dup2(os.open(os.devnull, os.O_WRONLY), writer)

    def test_the_line_of_the_progress_counts_in_thousands(self, clock: Clock) -> None:
        run = Run(plan({"a": 20_000}), clock)
        refs = run.start(1_300)
        clock.now += 10
        run.finish(refs, "failed", "greets")
        assert progress_line(run.tally) == "1,300 of 20,000 attempts, 1,300 failed, 0 running, about 2 min left"


def test_each_mode_has_its_display(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = open_progress(screen(), "quiet")
    assert type(quiet) is Display
    plain: Progress = open_progress(open_screen(io.StringIO()))
    assert isinstance(plain, PlainDisplay)
    assert type(open_progress(screen())).__name__ == "LiveDisplay"
    assert type(open_progress(screen(), "json", io.StringIO())).__name__ == "JsonDisplay"


def test_quiet_shows_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    display = open_progress(open_screen(sys.stdout), "quiet")
    made = plan({"a": 2})
    run = Run(made, clock, display)
    display.plan_ready(made, "r")
    [ref] = run.start(1)
    display.attempt_retried(ref, 1, 2.0, "429")
    run.finish([ref], "failed", "greets")
    display.stopped("enough", 1)
    display.close()
    assert capsys.readouterr() == ("", "")
