"""The match over JSON input that mentions a path: by whole components, in values, in keys and in command lines."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from os import PathLike
from typing import Any, Final, TypeAlias, final

import attrs

from niceeval_expect._command_match import COMMAND_KEYS
from niceeval_expect._equality import as_json, is_absent
from niceeval_expect._evaluation import MATCHED, Evaluation, cut_text, mismatched, unavailable, wrong_type
from niceeval_expect._match import ValueMatch
from niceeval_expect._pointer import child
from niceeval_expect._shell_holes import ANY_WORDS, HOLE, has_hole, readable
from niceeval_expect._spec import register

__all__ = ["references_any_path"]

_Parts: TypeAlias = tuple[str, ...]

_TOKEN: Final = re.compile(r"[^\s'\"`,;()<>|&\[\]{}]+")
_PIECE: Final = re.compile(r"[=:,@]")
_OPTION: Final = re.compile(r"-[A-Za-z]([/~.].*)", re.DOTALL)
_UNSURE: Final = re.compile(rf"[*?\[{HOLE}{ANY_WORDS}]")
_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]")
_WHOLE: Final = 4_096


@final
@attrs.frozen(eq=False, repr=False)
class _ReferencesAnyPath(ValueMatch):
    _spec_name = "references_any_path"
    paths: tuple[str, ...]
    cwd: str | None
    wanted: tuple[_Parts, ...]

    def _args(self) -> dict[str, object]:
        return {"paths": list(self.paths), **({"cwd": self.cwd} if self.cwd is not None else {})}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        value = as_json(subject)
        if not isinstance(value, str | Mapping | list | tuple):
            return wrong_type("an object, a list or text", subject, pointer)
        doubt: Evaluation | None = None
        examined = 0
        for place, text, is_command in _texts(value, pointer):
            examined += 1
            if not is_command and isinstance(text, str) and not self._worth_a_look(text):
                continue
            found = self._in(text, is_command, place)
            if found is MATCHED:
                return MATCHED
            doubt = doubt or found
        if doubt is not None:
            return doubt
        wanted = " or ".join(self.paths[:8]) + (" …" if len(self.paths) > 8 else "")
        message = f"{cut_text(wanted)} is in none of {examined} text{'s' * (examined != 1)}"
        return mismatched("path", message, pointer, expected=repr(self), received=subject)

    def _worth_a_look(self, text: str) -> bool:
        """Tell at little cost whether a text may refer to a wanted path."""
        # A wanted path may end in a component of `cwd`, which a relative path need not repeat.
        return self.cwd is not None or any(parts[-1] in text for parts in self.wanted)

    def _in(self, text: Any, is_command: bool, place: str) -> Evaluation | None:
        """Return `MATCHED`, why it cannot be told, or None."""
        gap: str | None = None
        if is_absent(text):
            return unavailable(text.reason, place)
        words: Iterable[str]
        if is_command:
            from niceeval_expect._shell_commands import commands_of_argv, commands_of_text

            script = commands_of_text(text) if isinstance(text, str) else commands_of_argv(text)
            gap = script.gap
            words = [word for command in script.commands for word in command] + list(script.others)
        else:
            words = _TOKEN.findall(text)
            if len(text) <= _WHOLE:
                words = [text, *words]
        doubtful: str | None = None
        for word in words:
            for candidate in _candidates(word):
                said = self._refers(candidate, is_command)
                if said:
                    return MATCHED
                if said is None:
                    doubtful = doubtful or candidate
        if doubtful is not None:
            reason = (
                f"whether {cut_text(readable(doubtful), 80)!r} refers to one of the paths cannot be told from the text"
            )
            return unavailable(reason, place, code="unresolved")
        if gap is not None:
            return unavailable(f"the command cannot be read: {gap}", place, code="unreadable")
        return None

    def _refers(self, text: str, in_shell: bool) -> bool | None:
        """Tell whether a text is one of the paths or something below one; None where it cannot be told."""
        if self.cwd is not None and not text.startswith(("/", "~", HOLE, ANY_WORDS)) and not _WINDOWS.match(text):
            text = f"{self.cwd}/{text}"
        parts = _parts(text)
        unsure = False
        for wanted in self.wanted:
            if parts[: len(wanted)] == wanted:
                return True
            unsure = unsure or _may_refer(parts, wanted, in_shell)
        return None if unsure else False


def _may_refer(parts: _Parts, wanted: _Parts, in_shell: bool) -> bool:
    """Tell whether a path may be below the wanted one once its open components are known.

    In a command, a word that begins with a hole may lead anywhere. Open is also what ``..`` leads to at the start of a
    relative path: the rest has to go on like an end of the wanted one. In a command so are patterns such as ``et*``.
    """
    if in_shell and parts and parts[0].startswith((HOLE, ANY_WORDS)):
        return True
    start = 0
    while start < len(parts) and (parts[start] == ".." or has_hole(parts[start])):
        start += 1
    if start:
        return any(_alike(parts[start:], wanted[cut:]) for cut in range(len(wanted)))
    return in_shell and _alike(parts, wanted)


def _alike(parts: _Parts, wanted: _Parts) -> bool:
    """Tell whether components, of which some are patterns, may start with the wanted ones."""
    if len(parts) < len(wanted):
        return False
    return all(
        part == want or (_UNSURE.search(part) is not None and fnmatchcase(want, _as_pattern(part)))
        for part, want in zip(parts, wanted, strict=False)
    )


def _as_pattern(part: str) -> str:
    return part.replace(HOLE, "*").replace(ANY_WORDS, "*")


def _texts(value: Any, pointer: str) -> Iterator[tuple[str, Any, bool]]:
    """Yield every text, the keys included, with its place and whether it is a command; absent values as they are."""
    stack: list[tuple[str, Any, bool]] = [(pointer, value, False)]
    # A container that comes again, as in a cycle, has no text that was not looked at.
    seen: dict[tuple[int, bool], object] = {}
    while stack:
        place, item, is_command = stack.pop()
        item = as_json(item)
        if isinstance(item, Mapping | list | tuple):
            if (id(item), is_command) in seen:
                continue
            seen[id(item), is_command] = item
        if isinstance(item, str) or is_absent(item):
            yield place, item, is_command
        elif isinstance(item, Mapping):
            for key, inner in reversed(list(item.items())):
                below = child(place, str(key))
                stack.append((below, inner, key in COMMAND_KEYS))
                if isinstance(key, str):
                    stack.append((below, key, False))
        elif isinstance(item, list | tuple):
            if is_command and item and all(isinstance(word, str) for word in item):
                yield place, item, True
            else:
                stack.extend((f"{place}/{index}", inner, False) for index, inner in reversed(list(enumerate(item))))


def _candidates(word: str) -> Iterator[str]:
    """Yield the word, and the parts of it that may be a path: behind ``=``, ``:``, ``@`` or an option's letter."""
    text = word.removeprefix("file://") if word.startswith("file://") else word
    yield text
    if (option := _OPTION.fullmatch(text)) is not None:
        yield option[1]
    first = _PIECE.search(text)
    if first is not None:
        pieces = [piece for piece in _PIECE.split(text) if piece]
        yield from pieces
        if (option := _OPTION.fullmatch(pieces[0] if pieces else "")) is not None:
            yield option[1]
        if first.end() < len(text):
            yield text[first.end() :]


def _parts(path: str) -> _Parts:
    """Return the components of a path, ``/`` the first one of an absolute path; ``.`` and ``..`` worked out."""
    if _WINDOWS.match(path):
        # Of what has a drive, the letter may be in either case; the first component is the drive.
        path = (path[0].upper() + path[1:]).replace("\\", "/")
    normal = posixpath.normpath(path)
    parts = tuple(part for part in normal.split("/") if part not in ("", "."))
    return ("/", *parts) if normal.startswith("/") else parts


def references_any_path(
    paths: Iterable[str | PathLike[str]], /, *, cwd: str | PathLike[str] | None = None
) -> ValueMatch:
    r"""Match JSON input that mentions one of the paths, or something below one, by whole components.

    ``/etc`` is mentioned by ``/etc/passwd`` and by ``./a/../../etc`` under a `cwd` of ``/srv``, never by ``/etcetera``.
    Every text in the input is looked at, keys included: as a whole, word by word, and behind ``=``, ``:`` and ``@``.
    The values of ``command`` and ``cmd`` are read as shell commands, quotes removed, redirections and scripts of
    ``bash -c`` included.

    Where a text may mention one of them without saying so (``/et*/passwd``, ``$FILE``, ``../etc`` without a
    `cwd`, a command that cannot be read), the match is unavailable, and so is its denial.

    Blind to: links, ``cd`` in a command, a path that is put together elsewhere, case-insensitive file systems.

    Args:
        paths: At least one path, absolute or relative; ``~`` stands for itself. One with a drive (``C:\keys``) is read
            with either slash.
        cwd: The absolute directory that relative paths start in; None leaves them relative, so that they only compare
            with relative ones.

    >>> from niceeval_expect import references_any_path
    >>> secrets = references_any_path(["/etc", ".env"])
    >>> secrets.evaluate({"command": "cat '/etc/passwd' | wc -l"}).outcome
    'matched'
    >>> secrets.evaluate({"path": "/etcetera/x", "note": "see .env.example"}).outcome
    'mismatched'
    """
    if isinstance(paths, str | PathLike) or not isinstance(paths, Iterable):
        raise TypeError(f"references_any_path() takes a list of paths, got {paths!r:.200}")
    given = tuple(_path("paths", path) for path in paths)
    if not given:
        raise ValueError("references_any_path() got an empty list: give the paths to look for")
    directory = None if cwd is None else _path("cwd", cwd)
    if directory is not None and not directory.startswith("/"):
        raise ValueError(f"references_any_path() cwd is an absolute path, got {directory!r}")
    wanted = tuple(_parts(_placed(path, directory)) for path in given)
    if () in wanted:
        raise ValueError(
            "references_any_path() got '.', below which every relative path is: name the directory with cwd"
        )
    return _ReferencesAnyPath(given, directory, wanted)


def _placed(path: str, directory: str | None) -> str:
    return path if directory is None or path[0] in "/~" or _WINDOWS.match(path) else f"{directory}/{path}"


def _path(label: str, value: object) -> str:
    text = str(value) if isinstance(value, PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"references_any_path() {label}: a path is text, got {value!r:.200}")
    if not text.strip():
        raise ValueError(f"references_any_path() {label} got the blank path {text!r}")
    return text


register("references_any_path", lambda args: references_any_path(args["paths"], cwd=args.get("cwd")))
