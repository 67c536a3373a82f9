from typing import Any

import pytest

from niceeval import ToolCall
from niceeval_expect import Absent, command_match, from_spec, tool_match
from niceeval_expect._tool_scope import CallScope, not_called_tool

RM = command_match("rm")
RM_RF = command_match("rm", ["-rf"])
PUSH = command_match("git", ["push"], excludes=["--force", "-f"])


@pytest.mark.parametrize(
    ("match", "subject", "outcome"),
    [
        (RM, "rm x", "matched"),
        (RM, "/bin/rm x", "matched"),
        (RM, "ls && rm x", "matched"),
        (RM, "FOO=1 rm x", "matched"),
        (RM, "'rm' x", "matched"),
        (RM, "\\rm x", "matched"),
        (RM, "echo $(rm x)", "matched"),
        (RM, 'echo "$(rm x)"', "matched"),
        (RM, "bash -c 'rm x'", "matched"),
        (RM, ["rm", "x"], "matched"),
        (RM, ("bash", "-lc", "rm x"), "matched"),
        (RM, {"command": "rm x"}, "matched"),
        (RM, {"cmd": ["rm", "x"]}, "matched"),
        (RM, {"command": "rm", "args": ["x"]}, "matched"),
        (RM, "echo rm", "mismatched"),
        (RM, "echo 'rm x'", "mismatched"),
        (RM, "rmdir x", "mismatched"),
        (RM, "git rm x", "mismatched"),
        (RM, "# rm x", "mismatched"),
        (RM, "ls > rm", "mismatched"),
        (RM, "", "mismatched"),
        (RM, [], "mismatched"),
        (RM, ["echo", "; rm x"], "mismatched"),
        (command_match("/bin/rm"), "/bin/rm x", "matched"),
        (command_match("/bin/rm"), "rm x", "mismatched"),
        # whole words, in this order, from the first one on
        (RM_RF, "rm -rf x", "matched"),
        (RM_RF, 'rm -r"f" x', "matched"),
        (RM_RF, "rm -r -f x", "mismatched"),
        (RM_RF, "rm -rfv x", "mismatched"),
        (RM_RF, "rm x -rf", "mismatched"),
        (RM_RF, "rm", "mismatched"),
        (PUSH, "git push origin", "matched"),
        (PUSH, "git push --force", "mismatched"),
        (PUSH, "git push --force; git push", "matched"),
        (PUSH, "git pull", "mismatched"),
        # known only when it runs
        (RM, "$TOOL x", "unavailable"),
        (RM, "$(which rm) x", "unavailable"),
        (RM, "r${M} x", "unavailable"),
        (RM, "r? x", "unavailable"),
        (RM, '"${X}sh" a', "mismatched"),
        (RM, 'rm "$DIR"', "matched"),
        (RM_RF, 'rm -rf "$DIR"', "matched"),
        (RM_RF, 'rm "$FLAGS" x', "unavailable"),
        (RM_RF, "rm $FLAGS -rf", "unavailable"),
        (RM_RF, 'rm -r "$FLAGS"', "mismatched"),
        (PUSH, 'git push "$X"', "unavailable"),
        (PUSH, 'git push "v$X"', "matched"),
        (PUSH, "git push v$X", "unavailable"),
        # not read
        (RM, "echo 'rm", "unavailable"),
        (RM, "case x in a) rm;; esac", "unavailable"),
        (RM, "rm x; case y in a) ls;; esac", "matched"),
        (RM, "bash -c \"bash -c 'rm x'\"", "unavailable"),
        (RM, Absent("the input was not reported"), "unavailable"),
        (RM, {"command": Absent("not reported")}, "unavailable"),
        # at a path
        (command_match("rm", at="action.command"), {"action": {"command": ["rm", "x"]}}, "matched"),
        (command_match("rm", at="script"), {"script": "ls"}, "mismatched"),
        (command_match("rm", at="script"), {"other": "rm"}, "mismatched"),
        (command_match("rm", at="script"), {"script": Absent("cut off")}, "unavailable"),
    ],
)
def test_outcomes(match: Any, subject: object, outcome: str) -> None:
    assert match.evaluate(subject).outcome == outcome
    denied = {"matched": "mismatched", "mismatched": "matched"}.get(outcome, outcome)
    assert (~match).evaluate(subject).outcome == denied


@pytest.mark.parametrize("subject", [5, None, {"script": "rm"}, {"command": 5}, ["rm", 5], [["rm"]]])
def test_what_holds_no_command_is_of_another_type(subject: object) -> None:
    assert RM.evaluate(subject).code == "type"
    assert (~RM).evaluate(subject).outcome == "mismatched"


def test_another_type_at_a_path() -> None:
    match = command_match("rm", at="a")
    assert match.evaluate("text").code == "type"
    assert match.evaluate({"a": 5}).code == "type"
    assert match.evaluate({"a": {"command": "rm"}}).outcome == "matched"


@pytest.mark.parametrize(
    ("match", "subject", "said"),
    [
        (RM, "cd /tmp; ls", "rm is not run; run are cd, ls"),
        (RM_RF, "rm -r -f 'a b'", "rm -r -f 'a b' does not start with -rf"),
        (PUSH, "git push -f", "git push -f has '-f' among its arguments"),
        (RM, "  ", "there is no command in it"),
    ],
)
def test_the_mismatch_says_what_is_run_instead(match: Any, subject: str, said: str) -> None:
    evaluation = match.evaluate(subject)
    assert (evaluation.code, evaluation.diagnostic.message) == ("command", said)
    assert evaluation.diagnostic.pointer == ""


def test_the_reason_names_the_command_or_what_cannot_be_read() -> None:
    assert RM.evaluate({"cmd": "ls; $X -rf 'a b'"}).reason == "what $… -rf 'a b' does is only known when it runs"
    unread = RM.evaluate({"cmd": "echo 'rm"})
    assert unread.reason == "the command cannot be read: the quote ' opened at character 6 is never closed"
    assert unread.diagnostic.pointer == "/cmd"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: command_match(5), TypeError),  # type: ignore[arg-type]
        (lambda: command_match(" "), ValueError),
        (lambda: command_match("git push"), ValueError),
        (lambda: command_match("rm", "-rf"), TypeError),
        (lambda: command_match("rm", []), ValueError),
        (lambda: command_match("rm", [5]), TypeError),  # type: ignore[list-item]
        (lambda: command_match("rm", excludes=[" "]), ValueError),
        (lambda: command_match("rm", at=""), ValueError),
    ],
)
def test_bad_arguments_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"command_match\(\)"):
        make()


@pytest.mark.parametrize("match", [RM, RM_RF, PUSH, command_match("rm", at=("a.b", 0)), command_match("rm", at="x")])
def test_it_is_data(match: Any) -> None:
    assert from_spec(match.spec()) == match
    assert eval(repr(match), {"command_match": command_match}) == match
    assert match.family == "structural"
    assert not match.reaches_outside


def test_a_denial_over_calls_that_cannot_be_read_is_unavailable() -> None:
    claim = not_called_tool(tool_match("shell", input=RM))
    assert claim.evaluate(CallScope((("s0.t0.c0", ToolCall("shell", {"command": "ls"})),))).outcome == "matched"
    assert claim.evaluate(CallScope((("s0.t0.c0", ToolCall("shell", {"command": "$X"})),))).outcome == "unavailable"
    assert claim.evaluate(CallScope((("s0.t0.c0", ToolCall("shell", {"script": "rm"})),))).outcome == "mismatched"
