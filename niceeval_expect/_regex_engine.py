"""Python's regular expressions, run by the `regex` library under a time budget.

`re` decides what a pattern means; `regex` has the time budget and releases the interpreter lock. The source is
rewritten token by token so that the second reads it as the first does: what is only syntax to `regex` (fuzzy ``{e}``,
POSIX classes, set operations) is escaped, the character classes on which the two differ are spelled out, and scoped
``a`` and ``u`` flags are refused. Two differences are left: letters that entered Unicode after this Python's tables
count as letters, and a case-insensitive backreference takes more variants of a letter as the same (``s`` and ``ſ``).
"""

import functools
import re
import unicodedata
from typing import TYPE_CHECKING, Final

import attrs

from niceeval_expect._regex_cost import quick_up_to
from niceeval_expect._regex_sets import ANY, BOUNDARY, NO_BOUNDARY, NOT_IF_EMPTY, NOT_SPACE, NOT_WORD, SPACE, WORD

if TYPE_CHECKING:
    import regex

__all__ = ["Engine", "engine", "variant"]

_FLAGS: Final = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII | re.VERBOSE
_CONTROL: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_QUANTIFIER: Final = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
_FLAG_GROUP: Final = re.compile(r"\(\?([aiLmsux]*)(?:-([imsx]+))?([:)])")
_SCOPED_CASE: Final = re.compile(r"\(\?[aLmsux-]*i[-aLmsux]*:")
_NAMED_GROUP: Final = re.compile(r"\(\?P<\w+>|\(\?<?[=!]|\(\?>")
_REFERENCE: Final = re.compile(r"\(\?P=(\w+)\)")
_CONDITION: Final = re.compile(r"\(\?\((\w+)\)")
_COMMENT: Final = re.compile(r"\(\?#[^)]*\)")
_NUMBERED: Final = re.compile(r"[0-7]{3}|[0-9]{1,2}")
_OCTAL: Final = re.compile(r"[0-7]{1,3}")
_HEX_DIGITS: Final = {"x": 2, "u": 4, "U": 8}

_DOTLESS: Final = "iIİı"
"""The one family of letters that `re` and `regex` do not join alike when case is ignored."""


@attrs.frozen(eq=False)
class Engine:
    """A compiled pattern.

    Attributes:
        source: The pattern as `re` reads it.
        flags: The flags of `re` in effect.
        groups: The number of capture groups.
        names: The names of capture groups and their numbers.
        quick: Up to how many characters of text a search cannot take long.
    """

    source: str
    flags: int
    groups: int
    names: dict[str, int]
    quick: int
    _narrow: "regex.Pattern[str]"

    def over(self, text: str) -> "regex.Pattern[str]":
        """Return what runs over this text."""
        return self._narrow if text.isascii() else _compiled(self.source, self.flags, True)

    def find(self, text: str, *, full: bool, seconds: float) -> "regex.Match[str] | None":
        """Return the first match in the text (of the whole text if `full`).

        Raises:
            TimeoutError: When the budget is exceeded.
        """
        compiled = self.over(text)
        find = compiled.fullmatch if full else compiled.search
        if len(text) <= self.quick:
            # Without a budget: reading the clock takes ten times as long.
            return find(text)
        return find(text, timeout=seconds, concurrent=True)


@functools.lru_cache(maxsize=1024)
def engine(source: str, ascii: bool = False) -> Engine:
    """Validate the pattern with `re` and compile it.

    Raises:
        re.error: If `re` refuses the pattern.
        ValueError: If a flag in the pattern contradicts `ascii`, or the engine cannot read the pattern as `re` does.
    """
    checked = re.compile(source, re.ASCII if ascii else 0)
    return variant(source, checked.flags & _FLAGS)


@functools.lru_cache(maxsize=1024)
def variant(source: str, flags: int) -> Engine:
    """Return the engine of a pattern known to be valid, with these flags of `re` instead of its own."""
    narrow = _compiled(source, flags, False)
    return Engine(source, flags, narrow.groups, dict(narrow.groupindex), quick_up_to(source), narrow)


@functools.lru_cache(maxsize=2048)
def _compiled(source: str, flags: int, wide: bool) -> "regex.Pattern[str]":
    text = _Translator(source, flags, wide).translate()
    if wide and text == _Translator(source, flags, False).translate():
        return _compiled(source, flags, False)
    # Imported with the first pattern: it takes longer to load than the rest of this package.
    import regex

    own = regex.VERSION0
    for flag in (re.IGNORECASE, re.MULTILINE, re.DOTALL, re.ASCII):
        own |= regex.RegexFlag[flag.name or ""] if flags & flag else 0
    try:
        return regex.compile(text, own, cache_pattern=False)
    except regex.error as error:
        raise ValueError(f"the engine cannot read it: {error}") from error


class _Translator:
    """One walk over a pattern that `re` has accepted.

    `wide` is for texts with non-ASCII characters; over ASCII text the native classes mean the same and are faster.
    """

    def __init__(self, source: str, flags: int, wide: bool) -> None:
        self.source = source
        self.at = 0
        self.ascii = bool(flags & re.ASCII)
        self.wide = wide and not self.ascii
        self.ignorecase = bool(flags & re.IGNORECASE)
        self.mixed = bool(_SCOPED_CASE.search(source))
        self.verbose = bool(flags & re.VERBOSE)
        self.outer: list[tuple[bool, bool]] = []
        self.out: list[str] = []

    def translate(self) -> str:
        source, out = self.source, self.out
        while self.at < len(source):
            char = source[self.at]
            if self.verbose and char in " \t\n\r\v\f":
                self.at += 1
            elif self.verbose and char == "#":
                end = source.find("\n", self.at)
                self.at = len(source) if end < 0 else end + 1
            elif char == "\\":
                out.append(self._escape())
            elif char == "[":
                out.append(self._set())
            elif char == "(":
                out.append(self._group())
            elif char == ")":
                self.ignorecase, self.verbose = self.outer.pop()
                self._take(char)
            elif char == "{":
                out.append(self._brace())
            elif char in ".^$|*+?":
                self._take(char)
            else:
                self.at += 1
                out.append(self._literal(char))
        return "".join(out)

    def _take(self, text: str) -> None:
        self.out.append(text)
        self.at += len(text)

    def _literal(self, char: str) -> str:
        if self.ignorecase and not self.ascii and char in _DOTLESS and (self.wide or not char.isascii()):
            return f"[{_DOTLESS}]"
        return _quoted(char)

    def _brace(self) -> str:
        found = _QUANTIFIER.match(self.source, self.at)
        if found is None or found.group() == "{}":
            self.at += 1
            return r"\{"
        self.at = found.end()
        low, comma, high = found.groups()
        return f"{{{low or 0}{comma}{high}}}"

    def _group(self) -> str:
        if not self.source.startswith("(?", self.at):
            return self._open("(", 1)
        if found := _COMMENT.match(self.source, self.at):
            self.at = found.end()
            return ""
        if found := _REFERENCE.match(self.source, self.at):
            self.at = found.end()
            return found.group()
        if found := _CONDITION.match(self.source, self.at):
            name = found[1]
            return self._open(f"(?({int(name) if name.isdecimal() else name})", found.end() - self.at)
        if found := _NAMED_GROUP.match(self.source, self.at):
            return self._open(found.group(), found.end() - self.at)
        found = _FLAG_GROUP.match(self.source, self.at)
        if found is None:
            raise ValueError(f"the construct at position {self.at} is not known; write it another way")
        on, off, end = found[1], found[2] or "", found[3]
        if end == ")":
            self.at = found.end()
            return ""
        if "a" in on or "u" in on:
            raise ValueError(f"{found.group()!r} sets a or u for a part only; use ascii=True or (?a) for the whole")
        kept_on, kept_off = on.replace("x", ""), off.replace("x", "")
        text = self._open(f"(?{kept_on}{'-' if kept_off else ''}{kept_off}:", found.end() - self.at)
        self.ignorecase = (self.ignorecase or "i" in on) and "i" not in off
        self.verbose = (self.verbose or "x" in on) and "x" not in off
        return text

    def _open(self, text: str, size: int) -> str:
        self.outer.append((self.ignorecase, self.verbose))
        self.at += size
        return text

    def _escape(self) -> str:
        char = self.source[self.at + 1]
        if char in "dDsSwW":
            self.at += 2
            category = self._category(char)
            return category if category == "\\" + char else f"[{category}]"
        if char in "AZz":
            self.at += 2
            return r"\A" if char == "A" else r"\Z"
        if char in "bB":
            self.at += 2
            edge = (BOUNDARY if char == "b" else NO_BOUNDARY) if self.wide else "\\" + char
            return edge + (NOT_IF_EMPTY if char == "B" else "")
        if char.isdecimal() and char != "0":
            found = _NUMBERED.match(self.source, self.at + 1)
            if found is not None and len(found.group()) < 3:
                self.at = found.end()
                return rf"\g<{found.group()}>"
        return self._literal(self._escaped())

    def _escaped(self) -> str:
        """Read the escape of one character."""
        char = self.source[self.at + 1]
        start = self.at + 2
        if char in _HEX_DIGITS:
            self.at = start + _HEX_DIGITS[char]
            return chr(int(self.source[start : self.at], 16))
        if char == "N":
            end = self.source.index("}", start)
            self.at = end + 1
            return unicodedata.lookup(self.source[start + 1 : end])
        if found := _OCTAL.match(self.source, self.at + 1):
            self.at = found.end()
            return chr(int(found.group(), 8))
        self.at = start
        return _CONTROL.get(char, char)

    def _category(self, char: str) -> str:
        if char in "sS" and not self.ascii:
            return SPACE if char == "s" else NOT_SPACE
        if char in "wW" and self.wide:
            return WORD if char == "w" else NOT_WORD
        return "\\" + char

    def _set(self) -> str:
        source = self.source
        self.at += 1
        parts: list[str] = []
        if negated := source[self.at] == "^":
            self.at += 1
        first, dotless, categories = True, False, set[str]()
        while first or source[self.at] != "]":
            first = False
            if source[self.at] == "\\" and source[self.at + 1] in "dDsSwW":
                categories.add(source[self.at + 1])
                parts.append(self._category(source[self.at + 1]))
                self.at += 2
                continue
            low = high = self._member()
            if source[self.at] == "-" and source[self.at + 1] != "]":
                self.at += 1
                high = self._member()
            parts.append(_quoted(low) if low == high else f"{_quoted(low)}-{_quoted(high)}")
            dotless = dotless or any(low <= char <= high for char in _DOTLESS)
        self.at += 1
        if any(category.swapcase() in categories for category in categories):
            # The engine takes [^\D\d] for any character; it is none.
            parts = [ANY]
        elif dotless and self.ignorecase and not self.ascii:
            parts.append(_DOTLESS)
        members = "".join(parts)
        if negated and self.mixed:
            # Where case is ignored in a part only, the engine's first-character test ignores it in negated sets too.
            return f"(?:(?![{members}])[{ANY}])"
        return f"[{'^' if negated else ''}{members}]"

    def _member(self) -> str:
        if self.source[self.at] == "\\":
            return self._escaped()
        self.at += 1
        return self.source[self.at - 1]


def _quoted(char: str) -> str:
    return char if char.isalnum() or not char.isascii() else "\\" + char
