import json

import pytest

from niceeval import CommandResult
from niceeval_expect import Absent, command_succeeded, from_spec
from niceeval_expect._codec import decode, encode


@pytest.mark.parametrize(
    ("result", "outcome", "code"),
    [
        (CommandResult(["ls"], 0), "matched", "matched"),
        (CommandResult(["ls"], 0, stderr="warning: old format"), "matched", "matched"),
        (CommandResult(["ls"], 2), "mismatched", "exit-code"),
        (CommandResult(["ls"], -9), "mismatched", "exit-code"),
        (CommandResult(["ls"], None), "mismatched", "killed"),
        (CommandResult(["ls"], None, timed_out=True), "mismatched", "timeout"),
        (CommandResult(["ls"], 0, timed_out=True), "mismatched", "timeout"),
        (0, "mismatched", "type"),
        ("ok", "mismatched", "type"),
        ({"exit_code": 0, "argv": ["ls"]}, "mismatched", "type"),
        (None, "mismatched", "type"),
        (Absent("the command never ran"), "unavailable", "absent"),
    ],
)
def test_a_command_succeeded_if_it_exited_with_zero_in_time(result: object, outcome: str, code: str) -> None:
    evaluation = command_succeeded().evaluate(result)
    assert (evaluation.outcome, evaluation.code) == (outcome, code)
    denied = (~command_succeeded()).evaluate(result).outcome
    expected = {"matched": "mismatched", "mismatched": "mismatched" if code == "type" else "matched"}
    assert denied == expected.get(outcome, outcome)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (
            CommandResult(["pytest", "-q"], 1, stderr="x\n" * 500 + "1 failed\n"),
            "pytest -q exited with 1; stderr ends with: …",
        ),
        (CommandResult(["pytest"], 1, stdout="1 failed"), "pytest exited with 1; stdout ends with: 1 failed"),
        (CommandResult(["sleep", "9"], None, timed_out=True), "sleep 9 ran out of time"),
        (CommandResult(["sleep", "9"], None), "sleep 9 was killed"),
    ],
)
def test_the_mismatch_shows_how_it_ended_and_what_it_printed_last(result: CommandResult, message: str) -> None:
    diagnostic = command_succeeded().evaluate(result).diagnostic
    assert diagnostic.message.startswith(message)
    assert diagnostic.pointer == "/exit_code"
    assert len(diagnostic.message) < 400
    if result.stderr:
        assert diagnostic.message.endswith("1 failed")
        assert diagnostic.received["stderr"].endswith("1 failed")


def test_a_stored_result_of_another_type_reads_the_same() -> None:
    import attrs

    @attrs.frozen
    class Ran:
        argv: list[str]
        exit_code: int
        stdout: str = ""
        stderr: str = ""
        timed_out: bool = False

    for code, outcome in ((0, "matched"), (1, "mismatched")):
        stored = decode(json.loads(json.dumps(encode(Ran(["make"], code)))))
        assert command_succeeded().evaluate(Ran(["make"], code)).outcome == outcome
        assert command_succeeded().evaluate(stored).outcome == outcome


def test_it_is_data() -> None:
    assert repr(command_succeeded()) == "command_succeeded()"
    assert from_spec(command_succeeded().spec()) == command_succeeded()
