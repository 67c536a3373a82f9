"""Matches over how a text begins and ends."""

from typing import Final

import attrs

from niceeval_expect._evaluation import (
    MATCHED,
    Evaluation,
    cut_text,
    mismatched,
    wrong_type,
)
from niceeval_expect._match import ValueMatch
from niceeval_expect._near import blankness, code_points
from niceeval_expect._reading import (
    PLAIN,
    Form,
    Reading,
    edge_hint,
    needle_argument,
    rebuilder,
    text_reading,
)
from niceeval_expect._spec import register

__all__ = ["ends_with", "starts_with"]

_SHOWN: Final = 80


@attrs.frozen(eq=False, repr=False)
class _Edge(ValueMatch):
    family = "lexical"
    _text: str
    _needle: str
    _reading: Reading

    def _args(self) -> dict[str, object]:
        return {"text": self._text, **self._reading.options()}

    def _explain(self, subject: str, pointer: str, part: str, verb: str, hint: str) -> Evaluation:
        """Say how the text begins or ends instead, and what little change would have made it match."""
        why = blankness(subject)
        if why is None:
            marks = code_points(part)
            why = f"{verb} {cut_text(part, _SHOWN)!r}{f' ({marks})' if marks else ''}{self._reading.sentence()}{hint}"
        return mismatched(self._spec_name, why, pointer, expected=self._text, received=part or subject)

    def _elsewhere(self, text: str) -> str:
        index = text.find(self._needle)
        return f"; it occurs at index {index:,}" if index >= 0 else ""


def _white(count: int) -> str:
    return f"{count:,} whitespace character{'s' * (count != 1)}"


@attrs.frozen(eq=False, repr=False)
class _StartsWith(_Edge):
    _spec_name = "starts_with"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        if text.startswith(self._needle):
            return MATCHED
        if text.lstrip().startswith(self._needle):
            hint = f"; it does after {_white(len(text) - len(text.lstrip()))}"
        else:
            hint = edge_hint(self._needle, text, str.startswith)
        part = text[: max(len(self._needle), 1)]
        return self._explain(subject, pointer, part, "begins with", hint or self._elsewhere(text))


@attrs.frozen(eq=False, repr=False)
class _EndsWith(_Edge):
    _spec_name = "ends_with"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        if text.endswith(self._needle):
            return MATCHED
        if text.rstrip().endswith(self._needle):
            hint = f"; it does before {_white(len(text) - len(text.rstrip()))}"
        else:
            hint = edge_hint(self._needle, text, str.endswith)
        part = text[-max(len(self._needle), 1) :]
        return self._explain(subject, pointer, part, "ends with", hint or self._elsewhere(text))


def starts_with(
    text: str, /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> ValueMatch:
    """Match a text that begins with `text`, code point by code point; white space before it counts.

    Args:
        text: The beginning; not blank.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form, so that composed and decomposed letters are the same.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Raises:
        TypeError: If `text` is not text.
        ValueError: If it is blank, or `normalize` is not one of the two forms.

    >>> from niceeval_expect import starts_with
    >>> starts_with("Dear").evaluate("Dear Ms. Wu, …").outcome
    'matched'
    >>> starts_with("Dear").evaluate("dear Ms. Wu").diagnostic.message
    "begins with 'dear'; it does with casefold=True"
    """
    reading = text_reading("starts_with", casefold, normalize, strip_invisible)
    return _StartsWith(*needle_argument("starts_with", text, reading), reading)


def ends_with(
    text: str, /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> ValueMatch:
    """Match a text that ends with `text`, code point by code point; white space after it counts.

    Args:
        text: The end; not blank.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form, so that composed and decomposed letters are the same.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Raises:
        TypeError: If `text` is not text.
        ValueError: If it is blank, or `normalize` is not one of the two forms.

    >>> from niceeval_expect import ends_with
    >>> ends_with("?").evaluate("Anything else? ").diagnostic.message
    "ends with ' '; it does before 1 whitespace character"
    """
    reading = text_reading("ends_with", casefold, normalize, strip_invisible)
    return _EndsWith(*needle_argument("ends_with", text, reading), reading)


for _build in (starts_with, ends_with):
    register(_build.__name__, rebuilder(_build))
