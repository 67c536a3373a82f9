"""The commands that a command line runs, as far as its text says: those behind ``sudo`` and in ``bash -c`` included."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from niceeval_expect._shell import Script, read_script
from niceeval_expect._shell_holes import name_of

__all__ = ["commands_of_argv", "commands_of_text"]

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
# Commands that run the command in their arguments: which of their options take a value of its own word, and how many
# arguments come before the command.
_RUNNERS: Final[dict[str, tuple[frozenset[str], int]]] = {
    name: (frozenset(options.split()), arguments)
    for name, options, arguments in (
        ("sudo", "-u -g -h -p -C -T -r -t -U -D -R --user --group --host --prompt --chdir --chroot", 0),
        ("doas", "-u -C -a", 0),
        ("env", "-u -C --unset --chdir", 0),
        ("command", "", 0),
        ("builtin", "", 0),
        ("exec", "-a", 0),
        ("nohup", "", 0),
        ("setsid", "", 0),
        ("time", "-f -o --format --output", 0),
        ("nice", "-n --adjustment", 0),
        ("ionice", "-c -n --class --classdata", 0),
        ("stdbuf", "-i -o -e --input --output --error", 0),
        ("timeout", "-s -k --signal --kill-after", 1),
        ("xargs", "-I -n -P -L -d -a -E -s --replace --max-args --max-procs --max-lines --delimiter --arg-file", 0),
    )
}
_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_SHELL_VALUES: Final = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_MAX_CACHED: Final = 10_000


def commands_of_text(text: str) -> Script:
    """Return the commands of a shell text, each followed by those it runs in turn.

    >>> commands_of_text("sudo -u www bash -c 'cd /srv; rm -rf *'").commands[-1]
    ('rm', '-rf', '*')
    """
    return _cached(text) if len(text) <= _MAX_CACHED else _opened(read_script(text))


def commands_of_argv(argv: Sequence[str]) -> Script:
    """Return the command that a list of words is, followed by those it runs in turn."""
    words = tuple(argv)
    return _opened(Script((words,) if words else ()))


@lru_cache(maxsize=512)
def _cached(text: str) -> Script:
    return _opened(read_script(text))


def _opened(script: Script) -> Script:
    commands: list[tuple[str, ...]] = []
    others = list(script.others)
    gaps = [script.gap] if script.gap is not None else []
    for words in script.commands:
        _open(words, True, commands, others, gaps)
    return Script(tuple(commands), tuple(others), "; ".join(dict.fromkeys(gaps)) or None, script.invalid)


def _open(
    words: tuple[str, ...], scripts: bool, commands: list[tuple[str, ...]], others: list[str], gaps: list[str]
) -> None:
    """Add a command and what it runs; `scripts` says whether a script in its arguments is read."""
    while True:
        commands.append(words)
        name = name_of(words[0])
        script = _script_of(name, words)
        if script is not None:
            _open_script(name, script, scripts, commands, others, gaps)
            return
        if name == "find":
            for found in _found(words):
                _open(found, scripts, commands, others, gaps)
            return
        if name not in _RUNNERS:
            return
        inner = _run_by(name, words)
        if inner is None:
            gaps.append(f"the split string of {name} is not read")
            return
        if not inner:
            return
        words = inner


def _open_script(
    name: str, script: str, scripts: bool, commands: list[tuple[str, ...]], others: list[str], gaps: list[str]
) -> None:
    if not scripts:
        gaps.append(f"a script of {name} inside another script is not read")
        return
    read = read_script(script)
    if read.gap is not None:
        gaps.append(f"in the script of {name}, {read.gap}")
    others.extend(read.others)
    for words in read.commands:
        _open(words, False, commands, others, gaps)


def _script_of(name: str, words: tuple[str, ...]) -> str | None:
    """Return the script among the arguments of a shell, or of ``eval``."""
    if name == "eval":
        return " ".join(words[1:])
    if name not in _SHELLS:
        return None
    takes_script, skip = False, False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in _SHELL_VALUES:
            skip = True
        elif word[:1] in ("-", "+") and len(word) > 1:
            takes_script |= word[0] == "-" and word[1] != "-" and "c" in word
        else:
            return word if takes_script else None
    return None


def _run_by(name: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the command among the arguments of a command that runs another one; None where that cannot be told."""
    values, arguments = _RUNNERS[name]
    place = 1
    while place < len(words):
        word = words[place]
        if word == "--":
            place += 1
            break
        if name == "env" and word.startswith(("-S", "--split-string")):
            return None
        if word[:1] == "-" and len(word) > 1:
            place += 2 if word in values else 1
        elif name in ("env", "sudo") and _ASSIGNMENT.match(word):
            place += 1
        else:
            break
    return words[place + arguments :]


def _found(words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the commands that ``find`` runs."""
    inner: list[str] | None = None
    for word in words:
        if inner is None:
            inner = [] if word in _FIND_RUNS else None
        elif word in (";", "+"):
            if inner:
                yield tuple(inner)
            inner = None
        else:
            inner.append(word)
