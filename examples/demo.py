"""`make demo`: run the examples as you would by hand, and say what there is to see."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from niceeval.cli import main as niceeval
from niceeval.record import Record

ROOT = Path(__file__).resolve().parent.parent

SUPPORT = ["run", "examples/support/evals", "--agent", "examples.support.agent:support_agent"]
RANKING = ["run", "examples/ranking"]
for variant in ("brief", "friendly", "hurried"):
    RANKING += ["--agent", f"{variant}=examples.ranking.agents:{variant}"]


class Unexpected(Exception):
    """An example came out differently from what this demo is about to explain."""


def title(number: int, text: str) -> None:
    print(f"\n{number}. {text}\n{'=' * (len(text) + 3)}\n", flush=True)


def run(arguments: Sequence[str]) -> int:
    """Show a command as it would be typed, run it in this process, and return its exit code."""
    typed = " ".join(["niceeval", *arguments])
    print("$ " + typed.replace(" --agent", " \\\n    --agent") + "\n", flush=True)
    try:
        niceeval(list(arguments))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


def expect(what: str, wanted: object, found: object) -> None:
    if wanted != found:
        raise Unexpected(f"{what}: expected {wanted!r}, got {found!r}")


def support() -> None:
    title(1, "A support agent that answers from policies")
    expect("exit code of the support evals", 1, run(SUPPORT))
    with Record.open() as record:
        failed = {attempt.case_id: [each.requirement for each in attempt.failures] for attempt in record.attempts()}
        expect("failures", {"christmas": ["cited_id_was_retrieved"]}, {k: v for k, v in failed.items() if v})
    print(
        "\nThis failure is on purpose. Asked about a Christmas gift, the agent cites policy\n"
        "3901: a real one, withdrawn last year, that the search had not returned. The\n"
        "answer reads well; that its source was never read is what the check found."
    )


def ranking() -> None:
    title(2, "Three variants of an agent, ranked")
    expect("exit code of the ranking", 3, run(RANKING))
    with Record.open() as record:
        expect("ranking", ["friendly", "brief", "hurried"], [place.agent for place in record.ranking()])
        expect("unrankable attempts", [0, 0, 1], [place.unrankable for place in record.ranking()])
    print(
        "\nOne attempt is not ranked, also on purpose: it reported no usage, so whether it\n"
        "was cheap is unknown. Unknown is not zero, and it is not averaged in."
    )


def script() -> None:
    title(3, "A script without the command line")
    print("$ python examples/script.py\n", flush=True)
    done = subprocess.run([sys.executable, "examples/script.py"], check=False)
    expect("exit code of the script", 0, done.returncode)


def gate() -> None:
    title(4, "A rate that decides, instead of every attempt")
    with Record.open() as record:
        _, answered, *_ = record.runs()
    expect("exit code of the gate", 0, run(["gate", answered.id, "--min-rate", "0.6"]))
    print(
        "\nOne of twelve failed, and that is still enough for 0.6. Ask for 0.9, and twelve\n"
        "attempts are too few to tell: the answer is inconclusive, and its exit code 5."
    )


def next_steps() -> None:
    installed = Path(sys.executable).with_name("niceeval")
    command = os.path.relpath(installed) if installed.exists() else "niceeval"
    with Record.open() as record:
        ranked, answered, *_ = record.runs()
    print(
        "\nAll of it came out as it should, the failures on purpose included.\n\n"
        "See the conversation in which the withdrawn policy was cited:\n"
        f"  {command} show {answered.id} \\\n"
        "      'citations/cites_what_it_read[christmas]'\n"
        "See all that was checked, in either run:\n"
        f"  {command} show {answered.id}\n"
        f"  {command} show {ranked.id}\n"
        "Read the eval that found it:\n"
        "  examples/support/evals/eval_citations.py\n"
        "Mend the agent, where it says `christmas`, and run part 1 again:\n"
        "  examples/support/agent.py\n"
        "Begin a project of your own, with an agent and two evals to change:\n"
        f"  {command} init my-evals\n"
    )


def main() -> int:
    os.chdir(ROOT)
    try:
        support()
        ranking()
        script()
        gate()
    except Unexpected as problem:
        print(f"\nThe demo did not go as planned. {problem}", file=sys.stderr)
        return 1
    next_steps()
    return 0


if __name__ == "__main__":
    sys.exit(main())
