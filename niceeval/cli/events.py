"""`--json`: what happens in a run as events, one JSON object per line, for programs that follow it."""

import contextlib
import io
import json
import math
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

from niceeval.cli.display import Display
from niceeval.cli.tally import Clock
from niceeval.redaction import current_redactor

if TYPE_CHECKING:
    from niceeval.attempts import Finished
    from niceeval.cli.view import RunView
    from niceeval.plans import AttemptRef, Plan
    from niceeval.record.planned import Settled
    from niceeval.record.rates import Rate

__all__ = ["JsonDisplay"]

# The line of an attempt starts with its id; a quote inside a text is escaped, so that the first such key is its own.
_ID: Final = re.compile(r'\{"id":\s*"([^"\\]*)"')
_SCORE: Final = re.compile(r'"(?:partial_)?score":\s*(-?[\d.eE+-]+)')
_DEAF: Final = "nobody reads the events any more, so no more were written; the run went on and is recorded"


class JsonDisplay(Display):
    """Writes events.

    Args:
        out: Where they go. If that is standard output, whatever else is printed there, by this process or by those it
            starts, goes to standard error until the summary is written.
        clock: Gives seconds.
    """

    def __init__(self, out: TextIO, clock: Clock = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._begun = clock()
        self._lock = threading.Lock()
        self._declared: tuple[str, ...] = ()
        self._stopped: str | None = None
        self._warned: set[str] = set()
        self._detour = _Detour(out) if out is sys.stdout else None
        self._out: TextIO | None = out if self._detour is None else self._detour.out

    def plan_ready(self, plan: "Plan", run_id: str) -> None:
        """Say what will run."""
        super().plan_ready(plan, run_id)
        self._declared = plan.declared_secrets
        self._begun = self._clock()
        experiments = [
            {
                "name": each.name,
                "model": each.model,
                "planned": sum(len(eval_.iter_cases()) * plan.attempts_of(eval_, each) for eval_ in plan.evals),
            }
            for each in plan.experiments
        ]
        sizes = {"evals": len(plan.evals), "cases": sum(len(each.iter_cases()) for each in plan.evals)}
        resumes = {"resumes": plan.resumes, "done": len(plan.done)}
        planned = {"planned": plan.size, "sequential": plan.sequential}
        self._tell("run_started", run=run_id, **sizes, **planned, experiments=experiments, **resumes)

    def attempt_started(self, ref: "AttemptRef") -> None:
        """Say that an attempt starts."""
        self._tell("attempt_started", **_named(ref))

    def attempt_retried(self, ref: "AttemptRef", tried: int, wait: float, reason: str) -> None:
        """Say that an attempt will be tried again."""
        self._tell("attempt_retried", **_named(ref), tries=tried, wait=round(wait, 3), reason=reason)

    def attempt_finished(self, ref: "AttemptRef", finished: "Finished") -> None:
        """Say how an attempt ended."""
        super().attempt_finished(ref, finished)
        known = _ID.match(finished.line)
        self._tell(
            "attempt_finished",
            id=None if known is None else known[1],
            **_named(ref),
            status=finished.status,
            duration=round(finished.duration, 6),
            reason=finished.reason,
            score=_score(finished),
            tries=finished.tries + 1,
        )

    def settled(self, found: "Settled", not_needed: int) -> None:
        """Say that the rate of an eval is decided."""
        facts = {"eval": found.eval, "agent": found.agent or None, "attempts": found.attempts}
        self._tell("eval_decided", **facts, decision=found.decision, not_needed=not_needed)

    def stopped(self, reason: str, not_run: int) -> None:
        """Say that nothing more is started."""
        self._stopped = reason
        self._tell("run_stopped", reason=reason, not_run=not_run)

    def came_late(self, mistake: str) -> None:
        """Say what is in no result."""
        super().came_late(mistake)
        self.warn(mistake)

    def complained(self, text: str) -> None:
        """Say what went wrong."""
        super().complained(text)
        self.warn(text)

    def noted(self, text: str) -> None:
        """Say what is worth knowing."""
        super().noted(text)
        self.warn(text)

    def warn(self, message: str) -> None:
        """Say it once, however often it comes."""
        if message not in self._warned:
            self._warned.add(message)
            self._tell("warning", message=message)

    def summary(self, view: "RunView", *, code: int, took: float) -> None:
        """Write the last event, and give standard output back."""
        self._tell("run_finished", **_summary(view), stopped=self._stopped, exit_code=code, duration=round(took, 3))
        self._out = None
        if self._detour is not None:
            self._detour.end()
            self._detour = None

    def _tell(self, event: str, **facts: Any) -> None:
        with self._lock:
            if self._out is None:
                return
            at = round(self._clock() - self._begun, 3)
            line = _line({"event": event, "at": at, **facts}, self._declared)
            try:
                self._out.write(line)
                self._out.flush()
            except OSError:
                # The reader, such as `head`, has seen enough; the record goes on.
                self._out = None
        if self._out is None:
            self.noted(_DEAF)


def _named(ref: "AttemptRef") -> dict[str, Any]:
    return {"eval": ref.eval_id, "case": ref.case_id, "agent": ref.agent or None, "attempt": ref.attempt}


def _score(finished: "Finished") -> float | None:
    found = _SCORE.search(finished.line) if finished.status in ("scored", "unrankable") else None
    return None if found is None else float(found[1])


def _summary(view: "RunView") -> dict[str, Any]:
    rates, header = view.rates, view.header
    requirements = [each for each in view.requirements if each.failed or each.errored]
    return {
        "run": header.id,
        "folder": str(view.folder),
        "status": header.status,
        "planned": header.planned(),
        "finished": view.finished,
        "statuses": dict(view.statuses),
        "rate": _rate(rates.overall),
        "agents": [{"agent": each.agent, **_rate(each)} for each in rates.agents],
        "evals": [{"eval": each.eval_id, "agent": each.agent, **_rate(each)} for each in rates.evals],
        "ranking": [
            {
                "rank": each.rank,
                "agent": each.agent or None,
                "mean_score": each.mean_score,
                "scored": each.scored,
                "unrankable": each.unrankable,
                "errored": each.errored,
            }
            for each in view.ranking
        ],
        "asked": [each.model_dump(mode="json") for each in view.asked],
        "requirements": [
            {
                "requirement": each.key,
                "failed": each.failed,
                "decided": each.decided,
                "errored": each.errored,
                "not_reached": each.not_reached,
            }
            for each in requirements
        ],
    }


def _rate(of: "Rate") -> dict[str, Any]:
    return {"passed": of.passed, "decided": of.decided, "errored": of.errored, "rate": of.rate}


def _line(event: Mapping[str, Any], declared: tuple[str, ...]) -> str:
    """Write an event as one line of JSON that any reader takes, without secrets."""
    redactor = current_redactor(declared)
    try:
        text = json.dumps(event, allow_nan=False)
        if "\\ud" in text:
            text = json.dumps(_strict(event))
    except ValueError:
        text = json.dumps(_strict(event))
    if redactor.secrets and redactor.touches(text):
        text = json.dumps(redactor.redact_tree(_strict(event))[0])
    return f"{text}\n"


def _strict(value: Any) -> Any:
    """Return a value without what strict JSON lacks: numbers that are not finite, and halves of surrogate pairs."""
    if isinstance(value, Mapping):
        return {_strict(key): _strict(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_strict(each) for each in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Detour:
    """Sends what is printed to standard error, so that nothing but events comes out of standard output.

    Where the stream is a file, the file itself is exchanged: then it goes for subprocesses and native code too.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._number: int | None = None
        stream.flush()
        try:
            number, other = stream.fileno(), sys.stderr.fileno()
        except io.UnsupportedOperation:
            self.out = stream
            sys.stdout = sys.stderr
            return
        self._number = number
        # Open until `end`, which is why no block can hold it.
        self.out = open(os.dup(number), "w", encoding="ascii", newline="\n")  # noqa: SIM115
        os.dup2(other, number)

    def end(self) -> None:
        """Let standard output be standard output again."""
        if self._number is None:
            sys.stdout = self._stream
            return
        with contextlib.suppress(OSError):
            self._stream.flush()
        os.dup2(self.out.fileno(), self._number)
        with contextlib.suppress(OSError):
            self.out.close()
