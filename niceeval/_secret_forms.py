"""The forms in which one secret is looked for.

Every form but base64 leaves letters and digits as they are, so that a text without the longest run of them in the
secret holds none of these forms: one `in` decides nearly every text. Only then an expression is tried, in which each
other character may stand raw, percent-encoded or JSON-escaped, up to four times over, or as an HTML entity. For
base64 the same is done with what is left of the secret's encoding at each of the three alignments, whatever stands
around it.
"""

import base64
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, final
from urllib.parse import quote, quote_plus

import attrs

__all__ = ["CUT", "SecretForms", "forms_of"]

CUT: Final = "…"
"""What stands where text was left out of a diagnostic."""
_PART: Final = 4
"""The least length of a part of a secret, next to a cut, that is taken for one."""
_CORE: Final = 8
"""The least length of base64 text that is taken for the secret's and not for a coincidence."""
_SPLIT: Final = 12
"""The least length of a secret that is looked for in the pieces of a stream."""
_runs: Final = re.compile(r"[A-Za-z0-9]+").findall
_numeric: Final = re.compile(r"[-+0-9.eE]+").fullmatch
_NAMED_ESCAPES: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_BACKSLASH: Final = r"(?:\\|%(?:25){0,2}5[Cc])"
"""One backslash of an escape, percent-encoded where a URL holds JSON."""
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&(?:quot|#34|#x22);", "'": "&(?:apos|#39|#x27);"}
_URL_ALPHABET: Final = {"+": "-", "/": "_"}
_URL_SAFE: Final = str.maketrans(_URL_ALPHABET)


@final
@attrs.frozen
class _Form:
    """One text that may be written in several ways.

    Attributes:
        text: The secret, or what is known of its base64.
        anchor: The part of `text` that is the same in each way.
        plain: Whether that is all of it.
        encoded: Whether `text` is base64.
    """

    text: str
    anchor: str
    plain: bool
    encoded: bool

    def occurs(self, text: str) -> bool:
        return self.anchor in text and (self.plain or _expression(self.text, self.encoded).search(text) is not None)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        if self.anchor in text:
            for found in _expression(self.text, self.encoded).finditer(text):
                yield found.span()


@final
@attrs.frozen
class SecretForms:
    """One secret with everything that is looked for.

    Attributes:
        name: What stands in its place.
        forms: The secret itself, and its base64 at each alignment.
        halves: The beginning and the end of the secret, as they stand in encoded text; none of a short one.
        exotic: Whether an encoded tree may hold it where no form shows: in a big number, in bytes whose base64 is too
            short to be looked for, in text with surrogates.
    """

    name: str
    forms: tuple[_Form, ...] = attrs.field(repr=False)
    halves: tuple[str, ...] = attrs.field(repr=False)
    exotic: bool

    def occurs(self, text: str) -> bool:
        """Return whether a form stands in the text."""
        close = [form for form in self.forms if form.anchor in text]
        return bool(close) and any(form.occurs(text) for form in close)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the forms stand."""
        for form in self.forms:
            yield from form.spans(text)

    def cut_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a part of a form stands that was left when text was cut at a mark: `CUT`."""
        place = text.find(CUT)
        while place >= 0:
            for form in _written(self.forms):
                kept = range(len(form) - 1, _PART - 1, -1)
                if size := next((n for n in kept if text.endswith(form[:n], 0, place)), 0):
                    yield place - size, place
                if size := next((n for n in kept if text.startswith(form[-n:], place + 1)), 0):
                    yield place + 1, place + 1 + size
            place = text.find(CUT, place + 1)


@lru_cache(maxsize=256)
def forms_of(name: str, value: str) -> SecretForms:
    """Return what to look for, given a secret's value."""
    data = _bytes(value)
    # In bytes the secret may itself be escaped.
    written = {
        data,
        _bytes(json.dumps(value)[1:-1]),
        _bytes(json.dumps(value, ensure_ascii=False)[1:-1]),
        quote(data, safe="").encode(),
        quote(data).encode(),
        quote_plus(data).encode(),
    }
    cores = {core: None for item in sorted(written) for core in _cores(item)}
    short = any(len(core) < _CORE for core in cores)
    exotic = short or _numeric(value) is not None or any("\ud800" <= character <= "\udfff" for character in value)
    encoded = (_form(core, True) for core in cores if len(core) >= _CORE)
    return SecretForms(name, (_form(value, False), *encoded), _halves(value), exotic)


def _halves(value: str) -> tuple[str, ...]:
    if len(value) < _SPLIT:
        return ()
    middle = (len(value) + 1) // 2
    return tuple(json.dumps(half)[1:-1] for half in (value[:middle], value[-middle:]))


@lru_cache(maxsize=256)
def _written(forms: tuple[_Form, ...]) -> tuple[str, ...]:
    """Return the texts that a cut may have left a part of: the forms, raw, escaped and percent-encoded."""
    raw = forms[0].text
    escaped = [json.dumps(raw)[1:-1], json.dumps(raw, ensure_ascii=False)[1:-1], repr(raw)[1:-1]]
    escaped += [json.dumps(text)[1:-1] for text in escaped[:1]]
    percent = [quote(_bytes(raw), safe=""), quote(_bytes(raw))]
    encoded = [form.text for form in forms if form.encoded]
    encoded += [text.translate(_URL_SAFE) for text in encoded]
    return tuple(dict.fromkeys((raw, *escaped, *percent, *encoded)))


def _bytes(value: str) -> bytes:
    # The environment gives bytes that are no text as lone surrogates.
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")


def _cores(data: bytes) -> Iterator[str]:
    """Yield the base64 characters that depend on nothing but `data`, for each place it may have among three bytes."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode("ascii")
        bits = 8 * (before + len(data))
        yield text[-(-8 * before // 6) : bits // 6]


def _form(text: str, encoded: bool) -> _Form:
    anchor = max(_runs(text), key=len, default="")
    return _Form(text, anchor, anchor == text, encoded)


@lru_cache(maxsize=2_048)
def _expression(text: str, encoded: bool) -> re.Pattern[str]:
    # A run of backslashes is one piece: taken one by one, the ways to divide a longer run would multiply.
    pieces = re.findall(r"\\+|[^\\]", text)
    return re.compile("".join(_piece(piece, encoded) for piece in pieces))


def _piece(piece: str, encoded: bool) -> str:
    """Return an expression for one character, or one run of backslashes, in every way it is written."""
    character = piece[0]
    if character.isascii() and character.isalnum():
        return character
    percent = "".join(f"%(?:25){{0,2}}{_hex(f'{byte:02X}')}" for byte in _bytes(character))
    units = character.encode("utf-16-be", "surrogatepass")
    escaped = "".join(rf"{_BACKSLASH}{{1,16}}u{_hex(units[i : i + 2].hex())}" for i in range(0, len(units), 2))
    ways = [percent, escaped]
    if character == "\\":
        count = len(piece)
        return rf"(?:\\{{{count},{16 * count}}}|(?:{percent}|{escaped}){{{count},{16 * count}}})"
    if character in '"/':
        ways.append(rf"\\{{0,15}}{character}")
        ways.append(rf"{_BACKSLASH}{{1,15}}{percent}")
    else:
        ways.append(re.escape(character))
    if character in _NAMED_ESCAPES:
        ways.append(rf"{_BACKSLASH}{{1,16}}{_NAMED_ESCAPES[character]}")
    if character == " ":
        ways.append(r"\+")
    if character in _ENTITIES:
        ways.append(_ENTITIES[character])
    if encoded and character in _URL_ALPHABET:
        ways.append(_URL_ALPHABET[character])
    return f"(?:{'|'.join(ways)})"


def _hex(digits: str) -> str:
    return "".join(f"[{digit.upper()}{digit.lower()}]" if digit.isalpha() else digit for digit in digits)
