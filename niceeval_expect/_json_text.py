"""`json_text`: text that is JSON, parsed and then matched."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar, overload

import attrs

from niceeval_expect._embedded import parse_embedded
from niceeval_expect._evaluation import MATCHED, Deferred, Diagnostic, Evaluation, cut_text, sample, wrong_type
from niceeval_expect._facets import plain_or_match
from niceeval_expect._freeze import call_repr
from niceeval_expect._json import as_json
from niceeval_expect._match import Match, ParsingMatch, ValueMatch, evaluate_part
from niceeval_expect._parse import Parsed, ParseProblem, parse_strict
from niceeval_expect._partial import no_container, show_match
from niceeval_expect._spec import register

__all__ = ["json_text"]

V = TypeVar("V")
Pick = Literal["first", "last"]


@attrs.frozen(eq=False, repr=False)
class _JsonText(ParsingMatch[Any]):
    _spec_name = "json_text"
    _match: ValueMatch | None
    _embedded: bool
    _pick: Pick | None
    _shares: bool

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {} if self._match is None else {"of": self._match}
        if self._embedded:
            args["embedded"] = True
        if self._pick is not None:
            args["pick"] = self._pick
        return args

    def _parts(self) -> tuple[object, ...]:
        return () if self._match is None else (self._match,)

    def __repr__(self) -> str:
        options = self._args()
        inner = options.pop("of", None)
        return call_repr("json_text", *(() if inner is None else (show_match(inner),)), **options)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if self._shares and type(subject) is str:
            return self._evaluate_shared(subject, pointer)
        if not isinstance(subject, str):
            return _no_text(subject, pointer)
        parsed = parse_embedded(subject, self._pick) if self._embedded else parse_strict(subject)
        if isinstance(parsed, ParseProblem):
            return _no_json(parsed, subject, pointer)
        value, note = parsed.value, parsed.note
        if self._match is None:
            diagnostic = Diagnostic("matched", note, pointer) if note else MATCHED.diagnostic
            return Evaluation("matched", diagnostic, produced=value)
        inner = evaluate_part(self._match, value, pointer)
        diagnostic = inner.diagnostic
        if note:
            text = f"{diagnostic.message} (in {note})" if diagnostic.message else note
            diagnostic = attrs.evolve(diagnostic, message=text)
        product = inner._produced if isinstance(self._match, ParsingMatch) else value
        return Evaluation(
            inner.outcome,
            diagnostic,
            inner.value,
            inner.reason,
            inner.examined,
            product if inner.outcome == "matched" else None,
        )

    def _evaluate_shared(self, subject: str, pointer: str) -> Evaluation:
        """Evaluate over a value that several checks of one text may read, since none of them gives it away."""
        last = _last
        _, parsed, plainly = last if last[0] is subject else _parsed_once(subject)
        if type(parsed) is ParseProblem:
            return _no_json(parsed, subject, pointer)
        match = self._match
        if match is None:
            return plainly
        try:
            inner = match._evaluate(parsed.value, pointer)
        except Exception:
            inner = evaluate_part(match, parsed.value, pointer)
        if inner is MATCHED:
            return plainly
        if inner.outcome != "matched":
            return inner
        return Evaluation("matched", inner.diagnostic, inner.value, inner.reason, inner.examined, plainly._produced)


_MAX_SHARED: Final = 1 << 16
_Read: TypeAlias = tuple[str, Parsed | ParseProblem, Evaluation]
_last: _Read = ("", parse_strict(""), MATCHED)


def _parsed_once(text: str) -> _Read:
    """Parse a text, and keep what it gave for the next check of the same text: one answer is often read by several.

    Returns:
        The text, what it was parsed to, and what a check says of it that it plainly meets.
    """
    global _last
    read = (text, parse_strict(text), Evaluation("matched", MATCHED.diagnostic, produced=Deferred(_value_of, text)))
    if len(text) <= _MAX_SHARED:
        _last = read
    return read


def _value_of(text: str) -> Any:
    parsed = parse_strict(text)
    assert isinstance(parsed, Parsed)
    return parsed.value


def _no_text(subject: object, pointer: str) -> Evaluation:
    if isinstance(as_json(subject), dict | list):
        return no_container("text", subject, pointer, remedy="it is parsed already, so that json_text() is not needed")
    return wrong_type("text", subject, pointer)


def _no_json(problem: ParseProblem, text: str, pointer: str) -> Evaluation:
    shown = cut_text(text, 200, around=problem.position or 0)
    wanted = {"$": "repr", "text": "one JSON value"}
    diagnostic = Diagnostic(problem.code, problem.message, pointer, wanted, sample(shown))
    return Evaluation("mismatched", diagnostic)


@overload
def json_text(*, embedded: bool = False, pick: Pick | None = None) -> ParsingMatch[Any]: ...
@overload
def json_text(match: ParsingMatch[V], /, *, embedded: bool = False, pick: Pick | None = None) -> ParsingMatch[V]: ...
@overload
def json_text(match: ValueMatch, /, *, embedded: bool = False, pick: Pick | None = None) -> ParsingMatch[Any]: ...
def json_text(match: Any = None, /, *, embedded: bool = False, pick: Pick | None = None) -> ParsingMatch[Any]:
    """Match a text that is one JSON value, and that matches `match` once parsed; it yields the parsed value.

    Parsing is strict: duplicate keys, NaN and infinities, numbers beyond a float, trailing commas, single quotes, two
    values, nesting beyond 500 levels, a leading byte order mark and text that ends too early mismatch, each with its
    own code and the place.

    Args:
        match: What is asked of the parsed value; what a ``matches(...)`` yields is yielded on.
        embedded: Whether prose around the value is fine: a fence labelled ``json`` wins, else the objects in the text
            are candidates, arrays only where there is no object. A document that ends too early never counts by a part.
        pick: Which one of several embedded values to read, ``"first"`` or ``"last"``; without it several mismatch as
            ``ambiguous``.

    Raises:
        TypeError: If `match` is a measurement or a counted tool match, or `embedded` is no bool.
        ValueError: If `pick` is something else, or given without ``embedded=True``.

    >>> from niceeval_expect import at, json_text
    >>> json_text(at("status", "shipped")).evaluate('{"status": "shipped"}').outcome
    'matched'
    >>> json_text().evaluate('{"status": "shipped",}').code
    'trailing-comma'
    >>> json_text(at("id", 7), embedded=True).evaluate('Here you are: {"id": 7}. Anything else?').outcome
    'matched'
    """
    if not isinstance(embedded, bool):
        raise TypeError(f"json_text() takes embedded=True or embedded=False, got {embedded!r:.200}")
    if pick not in (None, "first", "last"):
        raise ValueError(f'json_text() takes pick="first" or pick="last", got {pick!r:.200}')
    if pick is not None and not embedded:
        raise ValueError("json_text() takes pick= only with embedded=True: strict text holds one value")
    inner = None if match is None else plain_or_match("json_text()", match)
    # The parsed value stays inside where no author code reads it and no instance is made of it.
    stays = inner is None or not (inner._may_await or isinstance(inner, ParsingMatch))
    return _JsonText(inner, embedded, pick, stays and not embedded)


def _rebuild_json_text(args: Mapping[str, Any]) -> Match:
    options = {name: value for name, value in args.items() if name != "of"}
    return json_text(args["of"], **options) if "of" in args else json_text(**options)


register("json_text", _rebuild_json_text)
