"""Three processes that write while some of them are killed at random, round after round; prints figures as JSON.

Usage: python fire.py FOLDER ROUNDS SEED own|joined
"""

import json
import os
import random
import selectors
import shutil
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from niceeval.errors import RecordWarning
from niceeval.record import Record
from niceeval.record.check import check_record
from niceeval.record.remnants import find_remnants, remove_remnant
from niceeval.record.write import RunWriter

WRITERS, ATTEMPTS = 3, 20
NAMED = ("it ends in the middle", "it is not valid JSON")


def plan(*writers: int) -> dict[str, object]:
    return {"agents": ["a"], "attempts": ATTEMPTS, "evals": [{"id": f"e{writer}"} for writer in writers]}


def write(open_writer: Callable[[int], RunWriter], round_: int, own: int, report: int, seed: float) -> None:
    chance, name = random.Random(seed), f"{round_}-{own}"
    writer = open_writer(own)
    for number in range(ATTEMPTS):
        attempt = {
            "id": f"{name}-{number}", "eval": f"e{own}", "agent": "a", "attempt": number + 1, "style": "pass",
            "status": "passed", "pad": "x" * chance.randrange(300_000),
        }  # fmt: skip
        if number % 3 == 0:
            digest = writer.blob(json.dumps(name + "y" * chance.randrange(100_000)).encode())
            attempt["subjects"] = {"d": {"type": "str", "size": 1, "blob": digest}}
            attempt["matches"] = {"f": {"match": "x"}}
            attempt["assertions"] = [
                {"order": 0, "requirement": "r", "outcome": "matched", "decision": "met", "match": "f", "subject": "d"}
            ]
        writer.append(json.dumps(attempt))
        os.write(report, f"{name}-{number}\n".encode())
    writer.seal()


def start(open_writer: Callable[[int], RunWriter], round_: int, own: int, seed: float) -> tuple[int, int]:
    reading, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            write(open_writer, round_, own, report, seed)
            code = 0
        finally:
            os._exit(code)
    os.close(report)
    return pid, reading


def one_round(root: Path, number: int, chance: random.Random, joined: bool, figures: Counter[str]) -> set[str]:
    """Start the writers, kill some of them at a random moment, and return what was reported as finished."""
    shared = RunWriter.create(root, plan(*range(WRITERS))) if joined else None

    def open_writer(own: int) -> RunWriter:
        return RunWriter.create(root, plan(own)) if shared is None else RunWriter.join(shared.folder)

    children = [start(open_writer, number, own, chance.random()) for own in range(WRITERS)]
    doomed = chance.sample(children, chance.randrange(1, WRITERS + 1))
    after, spin = chance.randrange(WRITERS * ATTEMPTS), chance.random() * 0.002
    said, open_pipes, killed = bytearray(), selectors.DefaultSelector(), False
    heard: dict[int, bytearray] = {reading: bytearray() for _, reading in children}
    for _, reading in children:
        open_pipes.register(reading, selectors.EVENT_READ)

    def kill() -> None:
        until = time.perf_counter() + spin
        while time.perf_counter() < until:
            pass
        for pid, _ in doomed:
            os.kill(pid, signal.SIGKILL)

    if after == 0:
        kill()
        killed = True
    while open_pipes.get_map():
        for key, _ in open_pipes.select():
            data = os.read(key.fd, 65536)
            heard[key.fd] += data
            if not data:
                open_pipes.unregister(key.fd)
                os.close(key.fd)
        if not killed and sum(each.count(b"\n") for each in heard.values()) >= after:
            kill()
            killed = True
    for pid, _ in children:
        ending = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert ending in (0, -signal.SIGKILL), f"a writer ended with {ending}"
        figures["killed"] += ending != 0
    if shared is not None:
        shared.seal("interrupted")
    said = bytearray().join(heard.values())
    return set(said.decode().split())


def readable(root: Path, figures: Counter[str]) -> set[str]:
    """Return the attempts that can be read, each with its values; what is left out is named."""
    found: set[str] = set()
    with warnings.catch_warnings(record=True) as caught, Record.open(root) as record:
        warnings.simplefilter("always")
        for run in record.runs():
            assert record.pass_rates(run).overall.planned in (ATTEMPTS, WRITERS * ATTEMPTS)
            for attempt in record.attempts(run):
                found.add(attempt.id)
                for entry in attempt.assertions:
                    entry.subject.value()
    for each in caught:
        assert issubclass(each.category, RecordWarning), each
        assert str(each.message).endswith(NAMED) or any(words in str(each.message) for words in NAMED), each
    figures["torn lines"] += len({str(each.message) for each in caught})
    return found


def main(folder: str, rounds: str, seed: str, mode: str) -> None:
    chance, figures = random.Random(int(seed)), Counter[str]()
    for number in range(int(rounds)):
        root = Path(folder) / str(number)
        reported = one_round(root, number, chance, mode == "joined", figures)
        if not (root / "runs").is_dir():
            assert not reported
            continue
        found = readable(root, figures)
        assert reported <= found, f"round {number} lost {sorted(reported - found)}"
        checked = check_record(root)
        kinds = {each.kind for run in checked.runs for each in run.problems}
        assert kinds <= {"torn line", "killed", "unreferenced blob"}, kinds
        for remnant in tuple(find_remnants(root)):
            figures[f"remnants: {remnant.kind}"] += remove_remnant(root, remnant)
        assert readable(root, Counter()) == found
        figures["rounds"] += 1
        figures["reported"] += len(reported)
        figures["readable"] += len(found)
        shutil.rmtree(root)
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
