from pathlib import PurePosixPath
from time import process_time
from typing import Any

import pytest

from niceeval_expect import Absent, from_spec, references_any_path

ETC = references_any_path(["/etc", ".env"])


@pytest.mark.parametrize(
    ("subject", "outcome"),
    [
        ({"path": "/etc/passwd"}, "matched"),
        ({"path": "/etc"}, "matched"),
        ({"path": "/etc/"}, "matched"),
        ({"path": "//etc/./x/../passwd"}, "matched"),
        ({"path": ".env"}, "matched"),
        ({"path": "./a/../.env"}, "matched"),
        ({"path": "/srv/../etc/x"}, "matched"),
        ({"url": "file:///etc/passwd"}, "matched"),
        ({"files": [{"name": "a"}, {"name": "/etc/x"}]}, "matched"),
        ({"/etc/passwd": "text"}, "matched"),
        ({"note": "see (/etc/hosts), please"}, "matched"),
        ("/etc/hosts", "matched"),
        (["/etc/hosts"], "matched"),
        ({"path": "/etcetera"}, "mismatched"),
        ({"path": "/srv/etc"}, "mismatched"),
        ({"path": "etc/passwd"}, "mismatched"),
        ({"path": "/"}, "mismatched"),
        ({"path": "/srv/.env"}, "mismatched"),
        ({"path": ".env.example"}, "mismatched"),
        ({"n": 5, "x": None, "y": True}, "mismatched"),
        ({}, "mismatched"),
        ({"note": "* a [list]? of {things}"}, "mismatched"),
        # climbing out of a directory that nobody named
        ({"path": "../../etc/passwd"}, "unavailable"),
        ({"path": "../x"}, "mismatched"),
        # in commands
        ({"command": "cat '/etc/passwd' | wc -l"}, "matched"),
        ({"command": 'cat "/e"tc/passwd'}, "matched"),
        ({"command": "echo x > /etc/x"}, "matched"),
        ({"command": "cat < /etc/x"}, "matched"),
        ({"command": "F=/etc/x; cat $F"}, "matched"),
        ({"command": "for f in /etc/*; do cat $f; done"}, "matched"),
        ({"command": "curl -d @/etc/shadow x"}, "matched"),
        ({"command": "x --file=/etc/x"}, "matched"),
        ({"command": "gcc -I/etc/include a.c"}, "matched"),
        ({"command": "scp a host:/etc/x"}, "matched"),
        ({"command": "bash -c 'cat /etc/x'"}, "matched"),
        ({"cmd": ["bash", "-c", "cat /etc/x"]}, "matched"),
        ({"command": "cat /etcetera"}, "mismatched"),
        ({"command": "cat $FILE"}, "unavailable"),
        ({"command": "cat $D/passwd"}, "unavailable"),
        ({"command": "cat /srv/$FILE"}, "mismatched"),
        ({"command": "cat /et*/passwd"}, "unavailable"),
        ({"command": "cat $DIR/etc/passwd"}, "unavailable"),
        ({"command": "cat 'x"}, "unavailable"),
        ({"command": "cat 'x", "path": "/etc"}, "matched"),
        ({"command": "cat /srv/x*"}, "mismatched"),
        (Absent("not reported"), "unavailable"),
        ({"path": Absent("not reported")}, "unavailable"),
    ],
)
def test_outcomes(subject: object, outcome: str) -> None:
    assert ETC.evaluate(subject).outcome == outcome
    denied = {"matched": "mismatched", "mismatched": "matched"}.get(outcome, outcome)
    assert (~ETC).evaluate(subject).outcome == denied


@pytest.mark.parametrize(
    ("paths", "subject", "outcome"),
    [
        ([".env"], {"path": "/srv/app/.env"}, "matched"),
        (["/etc"], {"path": "../../etc/passwd"}, "matched"),
        (["secrets"], {"path": "secrets/key"}, "matched"),
        (["/srv/app/secrets"], {"path": "secrets/key"}, "matched"),
        (["/srv/app"], {"path": "x"}, "matched"),
        (["/etc"], {"path": "../x"}, "mismatched"),
        (["~/.ssh"], {"path": "~/.ssh/id_rsa"}, "matched"),
        (["~/.ssh"], {"path": "/srv/app/.ssh"}, "mismatched"),
    ],
)
def test_a_working_directory_decides_relative_paths(paths: list[str], subject: object, outcome: str) -> None:
    assert references_any_path(paths, cwd="/srv/app").evaluate(subject).outcome == outcome


@pytest.mark.parametrize("subject", [5, None, True])
def test_another_type(subject: object) -> None:
    assert ETC.evaluate(subject).code == "type"
    assert (~ETC).evaluate(subject).outcome == "mismatched"


def test_diagnostics() -> None:
    missed = ETC.evaluate({"path": "/srv", "n": 1})
    assert (missed.code, missed.diagnostic.message) == ("path", "/etc or .env is in none of 3 texts")
    doubtful = ETC.evaluate({"a": {"command": "cat $X/etc/passwd"}})
    assert doubtful.diagnostic.pointer == "/a/command"
    assert "'$…/etc/passwd'" in str(doubtful.reason)
    unread = ETC.evaluate({"command": "cat 'x"})
    assert unread.reason == "the command cannot be read: the quote ' opened at character 5 is never closed"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: references_any_path("/etc"), TypeError),
        (lambda: references_any_path(PurePosixPath("/etc")), TypeError),  # type: ignore[arg-type]
        (lambda: references_any_path(5), TypeError),  # type: ignore[arg-type]
        (lambda: references_any_path([]), ValueError),
        (lambda: references_any_path([""]), ValueError),
        (lambda: references_any_path([5]), TypeError),  # type: ignore[list-item]
        (lambda: references_any_path(["."]), ValueError),
        (lambda: references_any_path(["/etc"], cwd="srv"), ValueError),
        (lambda: references_any_path(["/etc"], cwd=""), ValueError),
    ],
)
def test_bad_arguments_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"references_any_path\(\)"):
        make()


@pytest.mark.parametrize("match", [ETC, references_any_path([PurePosixPath("/a"), "b"], cwd=PurePosixPath("/srv"))])
def test_it_is_data(match: Any) -> None:
    assert from_spec(match.spec()) == match
    assert eval(repr(match), {"references_any_path": references_any_path}) == match
    assert (match.family, match.reaches_outside) == ("structural", False)


def test_long_texts_are_searched_in_linear_time() -> None:
    begun = process_time()
    assert ETC.evaluate({"content": "the etc of /x " * 50_000, "command": "echo " * 10_000}).outcome == "mismatched"
    assert process_time() - begun < 4


def test_a_value_that_contains_itself_is_looked_at_once() -> None:
    cyclic: dict[str, Any] = {"path": "/srv"}
    cyclic["self"] = [cyclic]
    assert ETC.evaluate(cyclic).outcome == "mismatched"
    cyclic["last"] = "/etc/x"
    assert ETC.evaluate(cyclic).outcome == "matched"


@pytest.mark.parametrize(
    ("subject", "outcome"),
    [
        (r"C:\keys", "matched"),
        (r"c:\keys\a.pem", "matched"),
        ("C:/keys/a.pem", "matched"),
        (r"C:\work\..\keys", "matched"),
        ({"path": r"C:\keys\a"}, "matched"),
        (r"C:\keystore", "mismatched"),
        (r"D:\keys", "mismatched"),
        (r"C:\work\keys", "mismatched"),
    ],
)
@pytest.mark.parametrize("cwd", [None, "/srv"])
def test_a_path_with_a_drive_is_read_with_either_slash(subject: object, outcome: str, cwd: str | None) -> None:
    assert references_any_path([r"C:\keys"], cwd=cwd).evaluate(subject).outcome == outcome


def test_an_option_may_hold_a_path_and_more() -> None:
    assert ETC.evaluate({"command": "docker run -v/etc:/data x"}).outcome == "matched"
