"""Reads shell text into simple commands, word by word, the way a POSIX shell or bash splits it; runs nothing.

What a word stands for only when it runs (a variable, the output of a command) is a hole in it. The commands inside
``$(…)``, backquotes and ``<(…)`` are commands like the others. What is not read (``case``, functions) is said.
"""

import re
from typing import Final, final

import attrs

from niceeval_expect._shell_words import InvalidError, NotReadError, WordReader

__all__ = ["Script", "read_script"]

_ENDS: Final = frozenset(" \t\n;&|()<>")
_REDIRECT: Final = re.compile(r"(?:[0-9]+|\{[A-Za-z_]\w*\})?(?:<<<|<<-?|<>|<&|>>|>\||>&|<|>)|&>>?")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*(?:\[[^\]\s]*\])?\+?=")
_SKIPPED: Final = frozenset({"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}"})
_NOT_READ: Final = frozenset({"case", "function", "coproc", "select"})
_FOR: Final = ("do", ";")


@final
@attrs.frozen
class Script:
    """What a shell text holds.

    Attributes:
        commands: The words of every simple command, quotes removed, without assignments and redirections.
        others: The other words: targets of redirections, assignments, what ``for`` goes over.
        gap: Why it was not read to its end; None if it was.
        invalid: Whether that is because the shell could not read it either, so that nothing of it would run.
    """

    commands: tuple[tuple[str, ...], ...]
    others: tuple[str, ...] = ()
    gap: str | None = None
    invalid: bool = False


def read_script(text: str) -> Script:
    """Return the simple commands of a shell text, in order of their ends.

    >>> read_script("cd /tmp && FOO=1 rm -rf './a b' | tee $(date +%F).log").commands[0]
    ('cd', '/tmp')
    >>> read_script("echo 'unclosed").gap
    "the quote ' opened at character 6 is never closed"
    """
    reader = _Reader(text.replace("\r\n", "\n"), [], [], 0)
    try:
        reader.list_of_commands("")
    except NotReadError as problem:
        return Script(tuple(reader.commands), tuple(reader.others), str(problem))
    except InvalidError as problem:
        return Script((), (), str(problem), invalid=True)
    return Script(tuple(reader.commands), tuple(reader.others))


@final
class _Reader(WordReader):
    """The commands of a text, in order of their ends, and the words beside them."""

    def __init__(self, text: str, commands: list[tuple[str, ...]], others: list[str], depth: int) -> None:
        super().__init__(text, depth)
        self.commands = commands
        self.others = others
        # Here-documents whose text follows the line: delimiter, whether tabs are stripped, whether it is verbatim.
        self.awaited: list[tuple[str, bool, bool]] = []

    def commands_in(self, text: str) -> None:
        """Read the commands of a text inside this one."""
        _Reader(text, self.commands, self.others, self.depth).list_of_commands("")

    def list_of_commands(self, closing: str) -> None:
        """Read commands up to the end of the text, or past the closing parenthesis."""
        opened = self.at
        self.deeper()
        while True:
            self.skip_blanks()
            char = self._peek()
            if not char:
                if closing:
                    self.invalid(f"the ( opened at character {opened} is never closed")
                self.depth -= 1
                return
            if char == ")":
                if not closing:
                    self.invalid(f"the ) at character {self.at + 1} closes nothing")
                self.at += 1
                self.depth -= 1
                return
            if char == "\n":
                self._newline()
            elif char in ";&|" and not self.text.startswith("&>", self.at):
                self.at += 1
            elif char == "(":
                self._parenthesis()
            else:
                self._command()

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _parenthesis(self) -> None:
        if self.text.startswith("((", self.at):
            self.arithmetic(self.at + 2)
            return
        self.at += 1
        self.list_of_commands(")")

    def _command(self) -> None:
        """Read one simple command up to what ends it."""
        words: list[str] = []
        while True:
            self.skip_blanks()
            char = self._peek()
            # Most words begin with a letter, which starts none of what is looked for first.
            plain = char.isalpha()
            if not plain and self.text.startswith(("<(", ">("), self.at):
                words.append(self.word())
                continue
            redirect = None if plain else _REDIRECT.match(self.text, self.at)
            if redirect is not None:
                self._redirect(redirect)
            elif not char or char in ";&|)\n":
                break
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end == -1 else end
            elif char == "(":
                raise NotReadError(f"the ( at character {self.at + 1}, which defines a function or a list, is not read")
            elif self._special(words):
                continue
            else:
                words.append(self.word())
        if words:
            self.commands.append(tuple(words))

    def _special(self, words: list[str]) -> bool:
        """Read what is not a word of a command: a reserved word, an assignment. Return whether there was one."""
        if words:
            return False
        start = self.at
        word = self.word()
        raw = self.text[start : self.at]
        if raw in _SKIPPED:
            return True
        if raw in _NOT_READ:
            raise NotReadError(f"the {raw!r} at character {start + 1} is not read")
        if raw == "for":
            self.skip_blanks()
            if self.text.startswith("((", self.at):
                self.arithmetic(self.at + 2)
            else:
                self._up_to(_FOR)
        elif raw == "[[":
            self._up_to(("]]",))
        elif _ASSIGNMENT.match(raw):
            self.others.append(word)
            if raw.endswith("=") and self._peek() == "(":
                self.at += 1
                self._up_to((")",))
        else:
            words.append(word)
        return True

    def _up_to(self, ends: tuple[str, ...]) -> None:
        """Read words, whatever is between them, to the first of the ends."""
        while self.at < len(self.text):
            char = self._peek()
            if char in ends:
                self.at += 1
                return
            if char in _ENDS:
                self.at += 1
                if char == "\n" and ends == _FOR:
                    return
                continue
            start = self.at
            word = self.word()
            if self.text[start : self.at] in ends:
                return
            self.others.append(word)
        if ends != _FOR:
            self.invalid(f"a {ends[0]} is missing at the end")

    def _redirect(self, found: re.Match[str]) -> None:
        self.at = found.end()
        self.skip_blanks()
        operator = found.group().lstrip("0123456789")
        start = self.at
        if self._peek() in ("", "\n", ";", "|", "&", ")"):
            self.invalid(f"nothing follows the {operator} at character {found.start() + 1}")
        word = self.word()
        if operator in ("<<", "<<-"):
            self.awaited.append((word, operator == "<<-", self.text[start : self.at] != word))
        else:
            self.others.append(word)

    def _newline(self) -> None:
        """Go to the next line, past the here-documents that were announced."""
        self.at += 1
        for delimiter, stripped, verbatim in self.awaited:
            body: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end == -1 else end
                line = self.text[self.at : end]
                self.at = end + 1
                if (line.lstrip("\t") if stripped else line) == delimiter:
                    break
                body.append(line)
            text = "\n".join(body)
            if not verbatim:
                text = _Reader(text, self.commands, self.others, self.depth).double("")
            self.others.extend(text.split())
        self.awaited.clear()
