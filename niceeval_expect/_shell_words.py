"""Reads the words of shell text: quotes, escapes, and the holes of what is only known when it runs."""

import re
from abc import ABC, abstractmethod
from typing import Final, Never

from niceeval_expect._shell_holes import ANY_WORDS, HOLE

__all__ = ["InvalidError", "NotReadError", "WordReader"]

_MAX_DEPTH: Final = 40
_ENDS: Final = frozenset(" \t\n;&|()<>")
_BLANKS: Final = frozenset(" \t\\")
_BLANK: Final = re.compile(r"(?:[ \t]|\\\n)*")
_PLAIN: Final = re.compile(r"[^ \t\n;&|()<>\\'\"$`{]+")
_IN_DOUBLE: Final = re.compile(r"[^\\\"$`]+")
_BRACES: Final = re.compile(r"\{[^\s{}'\"]{0,200}(?:,|\.\.)[^\s{}'\"]{0,200}\}")
_PARAMETER: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_ANSI_QUOTED: Final = re.compile(r"(?:[^\\']|\\.)*+'", re.DOTALL)
_ANSI: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_NAMED: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


class NotReadError(Exception):
    """Something that is not read; what came before it was."""


class InvalidError(Exception):
    """Something that no shell reads."""


class WordReader(ABC):
    """A position in a text, from which words are read; commands inside them are left to the grammar."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth

    @abstractmethod
    def list_of_commands(self, closing: str) -> None:
        """Read commands up to the end of the text, or past the closing parenthesis."""

    @abstractmethod
    def commands_in(self, text: str) -> None:
        """Read the commands of a text inside this one."""

    def deeper(self) -> None:
        """Go one level down, if that is not too deep."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise NotReadError(f"commands are nested more than {_MAX_DEPTH} deep")

    def invalid(self, reason: str) -> Never:
        """Give up on the whole text."""
        raise InvalidError(reason)

    def skip_blanks(self) -> None:
        """Go to the next character that is not blank."""
        if self.text[self.at : self.at + 1] in _BLANKS:
            found = _BLANK.match(self.text, self.at)
            self.at = self.at if found is None else found.end()

    def word(self) -> str:
        """Read one word and return it without its quotes."""
        text = self.text
        whole = _PLAIN.match(text, self.at)
        if whole is not None and (whole.end() == len(text) or text[whole.end()] in _ENDS):
            self.at = whole.end()
            return whole.group()
        parts: list[str] = []
        if text.startswith(("<(", ">("), self.at):
            self.at += 2
            self.list_of_commands(")")
            parts.append(HOLE)
        while self.at < len(text):
            plain = _PLAIN.match(text, self.at)
            if plain is not None:
                parts.append(plain.group())
                self.at = plain.end()
                continue
            char = text[self.at]
            if char in _ENDS:
                break
            if char == "\\":
                following = text[self.at + 1 : self.at + 2]
                parts.append("" if following == "\n" else following or "\\")
                self.at += 2
            elif char == "'":
                parts.append(self._single())
            elif char == '"':
                self.at += 1
                parts.append(self.double('"'))
            elif char == "{":
                braces = _BRACES.match(text, self.at)
                parts.append("{" if braces is None else ANY_WORDS)
                self.at = self.at + 1 if braces is None else braces.end()
            else:
                parts.append(self._dollar(ANY_WORDS) if char == "$" else self._backquote(ANY_WORDS))
        return "".join(parts)

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end == -1:
            self.invalid(f"the quote ' opened at character {self.at + 1} is never closed")
        start, self.at = self.at + 1, end + 1
        return self.text[start:end]

    def double(self, closing: str) -> str:
        """Read to the closing quote, or to the end of the text where there is none to be."""
        opened, parts = self.at, list[str]()
        while self.at < len(self.text):
            plain = _IN_DOUBLE.match(self.text, self.at)
            if plain is not None:
                parts.append(plain.group())
                self.at = plain.end()
                continue
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                if closing:
                    return "".join(parts)
                parts.append(char)
            elif char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                parts.append("" if following == "\n" else following if following in '$`"\\' else char + following)
                self.at += 2
            else:
                parts.append(self._dollar(HOLE) if char == "$" else self._backquote(HOLE))
        if closing:
            self.invalid(f'the quote " opened at character {opened} is never closed')
        return "".join(parts)

    def _dollar(self, hole: str) -> str:
        """Read what a dollar sign starts."""
        text, start = self.text, self.at
        following = text[start + 1 : start + 2]
        self.at += 2
        if following == "(":
            if text.startswith("(", start + 2):
                self.arithmetic(start + 3)
            else:
                self.list_of_commands(")")
            return hole
        if following == "{":
            self._braced(start)
            return hole
        if following == "'" and hole == ANY_WORDS:
            return self._ansi()
        if following == '"' and hole == ANY_WORDS:
            return self.double('"')
        parameter = _PARAMETER.match(text, start + 1)
        self.at = start + 1 if parameter is None else parameter.end()
        return "$" if parameter is None else hole

    def _braced(self, start: int) -> None:
        """Read past the brace that closes a parameter; what is inside may hold commands."""
        self.deeper()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "}":
                self.at += 1
                self.depth -= 1
                return
            self._inside(char)
        self.invalid(f"the ${{ opened at character {start + 1} is never closed")

    def arithmetic(self, start: int) -> None:
        """Read past the parentheses that close an arithmetic expression."""
        self.at, level = start, 2
        self.deeper()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "()":
                level += 1 if char == "(" else -1
                self.at += 1
                if not level:
                    self.depth -= 1
                    return
            else:
                self._inside(char)
        self.invalid(f"the (( opened at character {start - 1} is never closed")

    def _inside(self, char: str) -> None:
        if char == "\\":
            self.at += 2
        elif char == "'":
            self._single()
        elif char == '"':
            self.at += 1
            self.double('"')
        elif char == "$":
            self._dollar(HOLE)
        elif char == "`":
            self._backquote(HOLE)
        else:
            self.at += 1

    def _backquote(self, hole: str) -> str:
        parts, opened = list[str](), self.at
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "`":
                self.commands_in("".join(parts))
                return hole
            if char == "\\" and self.text[self.at : self.at + 1] in ("`", "\\", "$"):
                char = self.text[self.at]
                self.at += 1
            parts.append(char)
        raise InvalidError(f"the backquote opened at character {opened + 1} is never closed")

    def _ansi(self) -> str:
        """Read ``$'…'``, in which escapes are as in C."""
        start = self.at
        end = _ANSI_QUOTED.match(self.text, start)
        if end is None:
            self.invalid(f"the quote ' opened at character {start} is never closed")
        self.at = end.end()
        return _ANSI.sub(_unescaped, self.text[start : end.end() - 1])


def _unescaped(found: re.Match[str]) -> str:
    hexadecimal, unicode, octal, named = found.groups()
    if named is not None:
        return _NAMED.get(named, named)
    return chr(int(octal, 8) if octal is not None else int(hexadecimal or unicode, 16))
