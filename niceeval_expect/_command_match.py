"""The match over a command line: which program it runs, with which first arguments, and without which others."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from niceeval_expect._equality import as_json, is_absent
from niceeval_expect._evaluation import MATCHED, MAX_SAMPLES, Evaluation, cut_text, mismatched, unavailable, wrong_type
from niceeval_expect._match import ValueMatch
from niceeval_expect._paths import Blocked, Path, Step, parse_path, resolve
from niceeval_expect._pointer import from_segments
from niceeval_expect._shell_holes import ANY_WORDS, HOLE, has_hole, may_be, name_of, readable
from niceeval_expect._spec import register

if TYPE_CHECKING:
    from niceeval_expect._shell import Script

__all__ = ["COMMAND_KEYS", "command_match", "tokens_argument"]

COMMAND_KEYS: Final = ("command", "cmd")
_SAFE: Final = re.compile(r"[\w@%+=:,./*?~-]+")
_GLOB: Final = re.compile(r"[*?]|.\[|\[.")


@final
@attrs.frozen(eq=False, repr=False)
class _CommandMatch(ValueMatch):
    _spec_name = "command_match"
    executable: str
    args_start: tuple[str, ...]
    excludes: tuple[str, ...]
    at: Path | None
    steps: tuple[Step, ...]

    def _args(self) -> dict[str, object]:
        given = {"args_start": list(self.args_start), "excludes": list(self.excludes), "at": self.at}
        return {"executable": self.executable, **{key: value for key, value in given.items() if value}}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        value, place = as_json(subject), pointer
        if self.at is not None:
            value = resolve(value, self.steps)
            if isinstance(value, Blocked):
                return _blocked(value, subject, pointer)
            value, place = as_json(value), pointer + from_segments(step.key for step in self.steps)
        if isinstance(value, Mapping):
            key = next((key for key in COMMAND_KEYS if key in value), None)
            if key is None:
                return wrong_type('a command as text or as a list of words, or an object with "command" or "cmd"',
                                  subject, place)  # fmt: skip
            value, place = _with_args(value, key), f"{place}/{key}"
        if is_absent(value):
            return unavailable(value.reason, place)
        if isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(w, str) for w in value)):
            # Imported when a first command is read, as its patterns take a while to compile.
            from niceeval_expect._shell_commands import commands_of_argv, commands_of_text

            script = commands_of_text(value) if isinstance(value, str) else commands_of_argv(value)
            return self._decide(script, value, place)
        return wrong_type("a command as text or as a list of words", value, place)

    def _decide(self, script: "Script", received: object, place: str) -> Evaluation:
        doubt: tuple[str, ...] | None = None
        for words in script.commands:
            if words[0].isalnum() and words[0] != self.executable:
                continue
            said = self._holds(words)
            if said:
                return MATCHED
            if said is None and doubt is None:
                doubt = words
        if script.gap is not None:
            return unavailable(f"the command cannot be read: {script.gap}", place, code="unreadable")
        if doubt is not None:
            shown = _shown(doubt)
            return unavailable(f"what {shown} does is only known when it runs", place, code="unresolved")
        return mismatched("command", self._why_not(script), place, expected=repr(self), received=_sampled(received))

    def _holds(self, words: tuple[str, ...]) -> bool | None:
        """Tell whether one simple command is like this; None where it is only known when it runs."""
        first, arguments = words[0], words[1:]
        known = not has_hole(first) and not (len(first) > 1 and _GLOB.search(first))
        if known and not self._is_executable(first):
            return False
        if not known and HOLE in first and ANY_WORDS not in first and not self._may_be_executable(first):
            return False
        certain: bool | None = known or None
        for place, token in enumerate(self.args_start):
            if any(ANY_WORDS in word for word in arguments[:place]):
                certain = None
                break
            word = arguments[place] if place < len(arguments) else ""
            if place >= len(arguments) or (word != token and not may_be(word, token)):
                return False if ANY_WORDS not in first else None
            if word != token:
                certain = None
        for token in self.excludes:
            if token in arguments:
                return False
            if any(may_be(word, token) for word in arguments):
                certain = None
        return certain

    def _is_executable(self, word: str) -> bool:
        return word == self.executable or ("/" not in self.executable and name_of(word) == self.executable)

    def _may_be_executable(self, word: str) -> bool:
        return may_be(word, self.executable) or ("/" not in self.executable and may_be(name_of(word), self.executable))

    def _why_not(self, script: "Script") -> str:
        if not script.commands:
            return "there is no command in it"
        same = [words for words in script.commands if self._is_executable(words[0])]
        if same:
            hit = next((token for token in self.excludes if token in same[0][1:]), None)
            why = f"has {hit!r} among its arguments" if hit is not None else f"does not start with {self._start()}"
            return f"{_shown(same[0])} {why}"
        names = list(dict.fromkeys(name_of(words[0]) for words in script.commands))
        more = f" and {len(names) - MAX_SAMPLES} more" if len(names) > MAX_SAMPLES else ""
        return f"{self.executable} is not run; run are {', '.join(cut_text(n, 80) for n in names[:MAX_SAMPLES])}{more}"

    def _start(self) -> str:
        return " ".join(map(_written, self.args_start))


def _with_args(value: Mapping[Any, Any], key: str) -> Any:
    """Return the command of an object; a list of words beside it, under "args", are its arguments."""
    command, args = value[key], as_json(value.get("args"))
    if isinstance(command, str) and isinstance(args, list) and all(isinstance(word, str) for word in args):
        return [command, *args]
    return as_json(command)


def _blocked(blocked: Blocked, subject: object, pointer: str) -> Evaluation:
    if blocked.kind == "absent":
        return unavailable(blocked.value.reason, pointer + blocked.pointer)
    if blocked.kind == "container" and blocked.is_root:
        return wrong_type("an object or a list", subject, pointer)
    return mismatched("missing", blocked.sentence(), pointer + blocked.pointer, received=subject)


def _shown(words: Iterable[str]) -> str:
    return cut_text(" ".join(map(_written, words)), 120)


def _written(word: str) -> str:
    if has_hole(word) or _SAFE.fullmatch(word):
        return readable(word)
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _sampled(received: object) -> object:
    return cut_text(received) if isinstance(received, str) else received


def tokens_argument(label: str, value: object) -> tuple[str, ...]:
    """Return a list of words, or refuse it with a sentence."""
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{label} takes a list of words such as ['-r', '-f'], got {value!r:.200}")
    words = tuple(value)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{label} takes words as text, got {word!r:.200}")
        if not word.strip():
            raise ValueError(f"{label} got the blank word {word!r}")
    if not words:
        raise ValueError(f"{label} got an empty list; leave it out to ask nothing")
    return words


def command_match(
    executable: str,
    /,
    args_start: Iterable[str] | None = None,
    excludes: Iterable[str] | None = None,
    *,
    at: Path | None = None,
) -> ValueMatch:
    """Match a command line that runs a program, with these first arguments and without those others.

    The text is split into simple commands the way a shell does, and each of them into words without their quotes; whole
    words are compared, so that ``-r -f`` is not ``-rf``. One simple command has to be all that is asked. Assignments
    before it and redirections are not arguments of it. Read like commands of their own are those in pipes, lists,
    subshells, ``$(…)`` and backquotes; those that ``sudo``, ``env``, ``command``, ``exec``, ``nohup``, ``nice``,
    ``time``, ``timeout``, ``xargs`` or ``find -exec`` run; and, one level deep, the scripts of ``bash -c``, ``sh -c``
    and ``eval``.

    Where the answer is only known when the command runs (``$TOOL``, a script inside a script), or the text cannot be
    read (a quote that is never closed, ``case``, functions), the match is unavailable, and so is its denial.

    Blind to: what a program or a script file does; what a shell reads from a pipe or a here-document; commands that
    another program is given as text (``su -c``, ``ssh host "…"``, ``watch``), which a denial does not cover; aliases.

    Args:
        executable: The program's name, with any path before it; with a ``/`` in it, that very path.
        args_start: The first arguments, in this order; None for any.
        excludes: Words that must not be among the arguments; None for none.
        at: The path to the command in the subject. Left out, the subject is the command, as text or as a list of words,
            or an object that holds it as ``command`` or ``cmd``, with a list of words as ``args`` beside it if need be.

    Raises:
        TypeError: If an argument is not what it is to be; a bare text where a list is meant.
        ValueError: If a name or a word is blank, or a list is empty.

    >>> from niceeval_expect import command_match
    >>> command_match("rm", ["-rf"]).evaluate("cd /tmp && sudo rm -rf cache").outcome
    'matched'
    >>> command_match("git", ["push"], excludes=["--force"]).evaluate("git push --force").diagnostic.message
    "git push --force has '--force' among its arguments"
    """
    if not isinstance(executable, str):
        raise TypeError(f"command_match() takes the program's name as text, got {executable!r:.200}")
    if not executable.strip() or any(char.isspace() for char in executable.strip()):
        raise ValueError(
            f"command_match() takes the name of one program, got {executable!r}; its arguments go into args_start"
        )
    start = tokens_argument("command_match() args_start", args_start)
    without = tokens_argument("command_match() excludes", excludes)
    steps = () if at is None else parse_path(at, "command_match() at")
    return _CommandMatch(executable, start, without, at, steps)


def _rebuild(args: Any) -> ValueMatch:
    where = args.get("at")
    return command_match(
        args["executable"], args.get("args_start"), args.get("excludes"),
        at=tuple(where) if isinstance(where, list) else where,
    )  # fmt: skip


register("command_match", _rebuild)
