"""Regular expressions over text, under a time budget."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import attrs

from niceeval_expect._evaluation import (
    MATCHED,
    MAX_SAMPLES,
    Diagnostic,
    Evaluation,
    Outcome,
    cut_text,
    errored,
    mismatched,
    wrong_type,
)
from niceeval_expect._facets import plain_or_match, plain_value
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import Match, ValueMatch, evaluate_part
from niceeval_expect._near import READINGS, blankness, code_points
from niceeval_expect._regex_engine import Engine, engine, variant
from niceeval_expect._spec import register

__all__ = ["pattern"]

_BUDGET: Final = 0.1
_HINT_BUDGET: Final = 0.01
_HINT_LIMIT: Final = 16_384
_INLINE: Final = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"), (re.VERBOSE, "x"), (re.ASCII, "a"))

_HINTS: Final = {
    "NFC": "it would match the text in NFC",
    "NFKC": "it would match the text in NFKC",
    "invisible": "it would match without the invisible characters",
    "punctuation": "it would match with plain quotes and dashes",
    "spaces": "it would match if every run of whitespace were one space",
}


@attrs.frozen(eq=False, repr=False)
class _Pattern(ValueMatch):
    _spec_name = "pattern"
    family = "lexical"
    _engine: Engine
    _full: bool
    _ascii: bool
    _groups: tuple[tuple[str | int, ValueMatch], ...]
    _budget: float
    _shown: tuple[str | int, ...]

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"regex": self._engine.source}
        if self._full:
            args["full"] = True
        if self._ascii:
            args["ascii"] = True
        if self._groups:
            args["groups"] = [[group, match] for group, match in self._groups]
        if self._budget != _BUDGET:
            args["budget"] = self._budget
        return args

    def _parts(self) -> tuple[object, ...]:
        return tuple(match for _, match in self._groups)

    def __repr__(self) -> str:
        args = self._args()
        if self._groups:
            args["groups"] = {group: plain_value(match) for group, match in self._groups}
        return call_repr("pattern", args.pop("regex"), **args)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        try:
            found = self._engine.find(subject, full=self._full, seconds=self._budget)
        except TimeoutError:
            return errored("pattern exceeded its time budget", pointer, code="budget", received=subject)
        if found is None:
            return self._explain(subject, pointer)
        if not self._shown:
            return MATCHED
        captured = {str(group): _cut(found[group]) for group in self._shown}
        span = f"matched at index {found.start():,} to {found.end():,}"
        if not self._groups:
            return Evaluation("matched", Diagnostic("matched", span, pointer, None, captured))
        return _fold(
            [(group, evaluate_part(match, found[group], pointer)) for group, match in self._groups],
            span,
            pointer,
            captured,
        )

    def _explain(self, text: str, pointer: str) -> Evaluation:
        why = blankness(text)
        part: str | None = None
        if why is None:
            does = "the whole text does not match" if self._full else "no part of the text matches"
            hint, part = self._near_miss(text) if len(text) <= _HINT_LIMIT else ("", None)
            why = f"{does} ({len(text):,} characters){hint}"
        return mismatched("pattern", why, pointer, expected=self._engine.source, received=part or text)

    def _near_miss(self, text: str) -> tuple[str, str | None]:
        """Say what little change would have made it match, with the part of the text that then does."""
        strict = self._engine
        tries = [(strict, False, "a part of it does: without full=True it would match")] if self._full else []
        if not strict.flags & re.IGNORECASE:
            folded = variant(strict.source, strict.flags | re.IGNORECASE)
            tries.append((folded, self._full, "it would match with (?i)"))
        if strict.flags & re.ASCII and not text.isascii():
            native = variant(strict.source, strict.flags & ~re.ASCII)
            tries.append((native, self._full, "it would match without ascii=True"))
        for compiled, full, hint in tries:
            found = _try(compiled, text, full)
            if found is not None:
                marks = code_points(found[0])
                there = f"index {found.start():,}: {cut_text(found[0], 80)!r}{f' ({marks})' if marks else ''}"
                return f"; {hint}, at {there}", cut_text(text, around=found.start())
        spaced = " " in strict.source or r"\s" in strict.source
        for name, read in READINGS:
            if name in _HINTS and (spaced if name == "spaces" else not text.isascii()):
                other = read(text)
                if other != text and _try(strict, other, self._full) is not None:
                    marks = code_points(text)
                    return f"; {_HINTS[name]}{f' ({marks})' if marks else ''}", None
        return "", None


def _try(compiled: Engine, text: str, full: bool) -> Any:
    try:
        return compiled.find(text, full=full, seconds=_HINT_BUDGET)
    except TimeoutError:
        return None


def _cut(text: str | None) -> str | None:
    return None if text is None else cut_text(text)


def _fold(
    parts: list[tuple[str | int, Evaluation]], span: str, pointer: str, captured: dict[str, str | None]
) -> Evaluation:
    """Combine what was said of each group: any mismatch decides, else what broke, else what is missing."""
    outcomes = {part.outcome for _, part in parts}
    order: tuple[Outcome, ...] = ("mismatched", "errored", "unavailable")
    outcome: Outcome = next((candidate for candidate in order if candidate in outcomes), "matched")
    deciding = [(group, part) for group, part in parts if part.outcome == outcome]
    code: str = outcome if outcome != "errored" else "error"
    message = span
    if outcome != "matched":
        message = f"{span}, but group {', '.join(repr(group) for group, _ in deciding)} {outcome}"
    if outcome == "mismatched":
        code = "type" if all(part.code == "type" for _, part in deciding) else "group"
    reason = next((part.reason for _, part in deciding if part.reason), None)
    children = tuple(
        Diagnostic("group", f"group {group!r}", pointer, None, captured.get(str(group)), None, (part.diagnostic,))
        for group, part in parts
    )
    return Evaluation(outcome, Diagnostic(code, message, pointer, None, captured, reason, children), reason=reason)


def pattern(
    regex: str | re.Pattern[str],
    /,
    *,
    full: bool = False,
    ascii: bool = False,
    groups: Mapping[str | int, object] | None = None,
    budget: float = _BUDGET,
) -> ValueMatch:
    r"""Match a text in which the regular expression is found; it means what Python's `re` says.

    The search runs under a time budget and lets other threads run: catastrophic backtracking ends as errored
    ("pattern exceeded its time budget"), in the positive and in the denied form. A subject that is not text mismatches
    with code ``type``. The evidence keeps what was captured.

    Args:
        regex: The expression, or a compiled one, whose flags are kept.
        full: Whether the whole text must match, both ends included.
        ascii: Whether ``\d``, ``\w``, ``\s`` and ``\b`` are those of ASCII: ``\d`` is 0-9 and no other script's digit.
        groups: What was captured in the first match, by number or name: a match, or a value for `equals`. Group 0 is
            the whole match; a group that took no part is None.
        budget: Seconds after which the search is given up; above 0.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the expression is blank, invalid or cannot be run under a budget, a group does not exist, or
            `budget` is not a number above 0.

    >>> from niceeval_expect import one_of, pattern
    >>> pattern(r"ORD-\d{6}", full=True, ascii=True).evaluate("ORD-448192").outcome
    'matched'
    >>> pattern(r"total: (\d+) (?P<unit>\w+)", groups={1: "42", "unit": one_of(["EUR", "USD"])}).evaluate(
    ...     "total: 42 GBP").outcome
    'mismatched'
    """
    for name, value in (("full", full), ("ascii", ascii)):
        if not isinstance(value, bool):
            raise TypeError(f"pattern() takes {name}=True or {name}=False, got {value!r:.200}")
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(f"pattern() takes budget= in seconds, got {budget!r:.200}")
    if not isfinite(budget) or budget <= 0:
        raise ValueError(f"pattern() takes a finite budget above 0 seconds, got {budget!r}")
    source = _source(regex)
    try:
        compiled = engine(source, ascii)
    except (ValueError, OverflowError, RecursionError, re.error) as error:
        raise ValueError(f"pattern() got an expression that cannot be used, {source!r:.200}: {error}") from error
    checked = _checked_groups(groups, compiled)
    return _Pattern(compiled, full, ascii, checked, float(budget), _shown(compiled, checked))


def _shown(compiled: Engine, checked: tuple[tuple[str | int, ValueMatch], ...]) -> tuple[str | int, ...]:
    """Return the groups that the evidence keeps: the whole match, then those checked, then the others by number."""
    if not compiled.groups and not checked:
        return ()
    names = {number: name for name, number in compiled.names.items()}
    numbered = (names.get(number, number) for number in range(1, compiled.groups + 1))
    return tuple(dict.fromkeys([0, *(group for group, _ in checked), *numbered]))[: MAX_SAMPLES + 1]


def _source(regex: object) -> str:
    """Return the expression as text; what flags a compiled one was given besides become inline flags."""
    source = regex.pattern if isinstance(regex, re.Pattern) else regex
    if not isinstance(source, str):
        remedy = "decode it and write a text pattern" if isinstance(source, bytes) else "write it as a string"
        raise TypeError(f"pattern() takes a regular expression over text, got {regex!r:.200}; {remedy}")
    source = str.__str__(source)
    if not source.strip():
        raise ValueError(
            rf"pattern() got the blank expression {source!r}, which is found nearly anywhere; write \s for a space"
        )
    if isinstance(regex, re.Pattern):
        try:
            own = re.compile(source).flags
        except re.error:
            own = 0
        letters = "".join(letter for flag, letter in _INLINE if regex.flags & flag and not own & flag)
        source = f"(?{letters}){source}" if letters else source
    return source


def _checked_groups(groups: object, compiled: Engine) -> tuple[tuple[str | int, ValueMatch], ...]:
    if groups is None:
        return ()
    if not isinstance(groups, Mapping):
        raise TypeError(f"pattern() takes groups= as a dict of group to value or match, got {groups!r:.200}")
    if not groups:
        raise ValueError("pattern() got groups={}, which checks nothing; name a group or leave it out")
    checked: list[tuple[str | int, ValueMatch]] = []
    for group, wanted in groups.items():
        if isinstance(group, bool) or not isinstance(group, int | str):
            raise TypeError(f"pattern() takes group numbers or names in groups=, got {group!r:.200}")
        known = group in compiled.names if isinstance(group, str) else 0 <= group <= compiled.groups
        if not known:
            there = ", ".join([*(str(number) for number in range(compiled.groups + 1)), *map(repr, compiled.names)])
            raise ValueError(f"pattern() has no group {group!r} in {compiled.source!r:.200}; there are {there}")
        checked.append((group, plain_or_match(f"pattern() group {group!r}", wanted)))
    return tuple(checked)


def _rebuild(args: Mapping[str, Any]) -> Match:
    options = {name: value for name, value in args.items() if name not in ("regex", "groups")}
    groups = dict(args["groups"]) if "groups" in args else None
    return pattern(args["regex"], groups=groups, **options)


register("pattern", _rebuild)
