"""Matches over days and instants: read from text by a declared rule, independent of the machine's time zone."""

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

import attrs

from niceeval_expect._evaluation import MATCHED, Diagnostic, Evaluation, mismatched, sample, wrong_type
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import ValueMatch
from niceeval_expect._reading import rebuilder
from niceeval_expect._spec import register
from niceeval_expect._tolerance import exact, is_finite, is_number

__all__ = ["same_date", "same_instant"]

Unit: TypeAlias = Literal["s", "ms", "us", "ns"]

_ISO_DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_MARKED_DATE: Final = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})", re.ASCII)
_INSTANT: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,30}))?)?"
    r" ?(?:([Zz])|([+-])(\d{2}):?(\d{2})(?::?(\d{2}))?)?",
    re.ASCII,
)
_UNITS: Final[dict[str, int]] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TICKS: Final = 10**30
"""Ticks in a second: as many digits as are read of one, so that nearly all arithmetic is on whole numbers."""
_MICRO: Final = 10**24
_MAX_EPOCH: Final = 10**30
_EPOCH: Final = datetime(1970, 1, 1)


def _unreadable(why: str, subject: object, pointer: str, wanted: str) -> Evaluation:
    # The match cannot speak about it, so that its denial does not hold either.
    return Evaluation("mismatched", Diagnostic("type", why, pointer, wanted, sample(subject)))


def _read_date(text: str, day_first: bool | None) -> date | str:
    """Return the day that a text names, or why it names none."""
    stripped = text.strip()
    found = _ISO_DATE.fullmatch(stripped)
    if found is not None:
        year, month, day = map(int, found.groups())
    else:
        found = _MARKED_DATE.fullmatch(stripped)
        if found is None:
            has_time = _INSTANT.fullmatch(stripped) is not None
            return "it has a time; same_instant(...) compares those" if has_time else "it is no date such as 2026-03-09"
        if day_first is None:
            return "it can be read with the day or the month first: say day_first=True or day_first=False"
        one, two, year = int(found[1]), int(found[3]), int(found[4])
        day, month = (one, two) if day_first else (two, one)
    try:
        return date(year, month, day)
    except ValueError as error:
        return f"there is no such day: {error}"


@attrs.frozen(eq=False, repr=False)
class _SameDate(ValueMatch):
    _spec_name = "same_date"
    family = "referential"
    _expected: date | str
    _day_first: bool | None
    _date: date

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        options = {} if self._day_first is None else {"day_first": self._day_first}
        return {"date": self._expected, **options}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if isinstance(subject, str):
            read = _read_date(subject, self._day_first)
            if isinstance(read, str):
                return _unreadable(f"cannot be read as a date: {read}", subject, pointer, "a date")
        elif isinstance(subject, datetime):
            why = "needs a date, got a datetime, which is another day elsewhere; take its .date() or use same_instant()"
            return _unreadable(why, subject, pointer, "a date")
        elif isinstance(subject, date):
            read = subject
        else:
            return wrong_type("a date, or text of one", subject, pointer)
        if read == self._date:
            return MATCHED
        days = (read - self._date).days
        apart = f"{abs(days):,} day{'s' * (abs(days) != 1)} {'later' if days > 0 else 'earlier'}"
        why = f"is {read.isoformat()}, {apart} than {self._date.isoformat()}"
        return mismatched("date", why, pointer, expected=self._date.isoformat(), received=subject)


def same_date(expected: date | str, /, *, day_first: bool | None = None) -> ValueMatch:
    """Match a date, or the text of one, that is the same day as `expected`.

    ``2026-03-09`` (ISO 8601) is always read. ``9.3.2026``, ``9/3/2026`` and ``9-3-2026`` are read when `day_first` says
    how, not even then with a year of two digits. The whole text is to be the date, white space around it aside. What
    cannot be read so, and a datetime, which is another day in another time zone, mismatches with code ``type``: neither
    the claim nor its denial holds.

    Args:
        expected: A `datetime.date`, or text of one.
        day_first: Whether the day comes before the month in such texts; None to read ISO dates only.

    Raises:
        TypeError: If `expected` is neither a date nor text, or `day_first` is no bool.
        ValueError: If the text cannot be read.

    >>> from niceeval_expect import same_date
    >>> same_date("2026-03-09", day_first=True).evaluate("9.3.2026").outcome
    'matched'
    >>> same_date("2026-03-09").evaluate("2026-03-10").diagnostic.message
    'is 2026-03-10, 1 day later than 2026-03-09'
    """
    if day_first is not None and not isinstance(day_first, bool):
        raise TypeError(f"same_date() takes day_first=True, day_first=False or None, got {day_first!r:.200}")
    if isinstance(expected, datetime) or not isinstance(expected, date | str):
        hint = "; take its .date(), or use same_instant(...)" if isinstance(expected, datetime) else ""
        raise TypeError(f"same_date() takes a date or text of one, got {expected!r:.200}{hint}")
    read = _read_date(expected, day_first) if isinstance(expected, str) else expected
    if isinstance(read, str):
        raise ValueError(f"same_date() cannot read {expected!r:.200}: {read}")
    day = date(read.year, read.month, read.day)
    return _SameDate(str.__str__(expected) if isinstance(expected, str) else day, day_first, day)


register("same_date", rebuilder(same_date, "date"))


@attrs.frozen
class _Instant:
    """A point in time: ticks since 1970, in UTC where it is aware, else on an unknown clock."""

    ticks: int | Fraction
    aware: bool

    def __str__(self) -> str:
        whole, rest = divmod(Fraction(self.ticks, _TICKS), 1)
        try:
            shown = (_EPOCH + timedelta(seconds=int(whole))).isoformat()
        except OverflowError:
            return f"{float(whole)} seconds since 1970"
        digits = f"{rest.numerator * 10**9 // rest.denominator:09}".rstrip("0")
        return f"{shown}{f'.{digits}' if digits else ''}{'Z' if self.aware else ' (no UTC offset)'}"


def _of_datetime(moment: datetime) -> _Instant:
    offset = moment.utcoffset()
    # Never through timestamp(), which reads the machine's time zone for a naive one.
    since = moment.replace(tzinfo=None) - _EPOCH
    if offset:
        since -= offset
    return _Instant(((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * _MICRO, offset is not None)


def _of_text(text: str) -> _Instant | str:
    found = _INSTANT.fullmatch(text.strip())
    if found is None:
        is_date = _ISO_DATE.fullmatch(text.strip()) is not None
        return "it has no time" if is_date else "it is no date and time such as 2026-03-09T12:00:00Z"
    day, hour, minute, second, fraction, utc, sign, *offset = found.groups()
    try:
        moment = datetime.fromisoformat(day).replace(hour=int(hour), minute=int(minute), second=int(second or 0))
    except ValueError as error:
        return f"there is no such time: {error}"
    ticks = _of_datetime(moment).ticks + (int(fraction.ljust(30, "0")) if fraction else 0)
    if sign:
        hours, minutes, more = (int(part or 0) for part in offset)
        if hours > 23 or minutes > 59 or more > 59:
            return "there is no such UTC offset"
        ticks -= (1 if sign == "+" else -1) * (hours * 3600 + minutes * 60 + more) * _TICKS
    return _Instant(ticks, bool(utc or sign))


def _read_instant(value: Any, unit: Unit | None) -> _Instant | str | None:
    """Return the instant that a value names, why it names none, or None for a value of another kind."""
    if isinstance(value, datetime):
        return _of_datetime(value)
    if isinstance(value, str):
        return _of_text(value)
    if is_number(value):
        if unit is None:
            return "it is a number: say unit= to read seconds (s), milliseconds (ms), … since 1970"
        if not is_finite(value):
            return "it is not a finite number"
        if not -_MAX_EPOCH < value < _MAX_EPOCH:
            return "it is out of all proportion for a time"
        return _Instant(exact(value) * _TICKS / _UNITS[unit], True)
    return "it has no time" if isinstance(value, date) else None


@attrs.frozen(eq=False, repr=False)
class _SameInstant(ValueMatch):
    _spec_name = "same_instant"
    family = "referential"
    _expected: Any
    _unit: Unit | None
    _instant: _Instant

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"instant": self._expected, **({} if self._unit is None else {"unit": self._unit})}

    def __repr__(self) -> str:
        options = {} if self._unit is None else {"unit": self._unit}
        return call_repr("same_instant", self._expected, **options)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        read = _read_instant(subject, self._unit)
        if read is None:
            return wrong_type("a datetime, or text of one", subject, pointer)
        if isinstance(read, str):
            return _unreadable(f"cannot be read as an instant: {read}", subject, pointer, "a date and time")
        if read == self._instant:
            return MATCHED
        if read.aware != self._instant.aware:
            given, lacking = ("this", "the expected one") if read.aware else ("the expected one", "this")
            why = f"is {read}: {given} has a UTC offset and {lacking} has none, so that they cannot be compared"
            return mismatched("offset", why, pointer, expected=str(self._instant), received=subject)
        apart = Fraction(read.ticks - self._instant.ticks, _TICKS)
        why = f"is {read}, {_seconds(abs(apart))} {'later' if apart > 0 else 'earlier'} than {self._instant}"
        return mismatched("instant", why, pointer, expected=str(self._instant), received=subject)


def _seconds(apart: Fraction) -> str:
    if apart % 3_600 == 0:
        hours = int(apart // 3_600)
        return f"{hours:,} hour{'s' * (hours != 1)}"
    return f"{float(apart):,.12g} second{'s' * (apart != 1)}"


def same_instant(expected: datetime | str | float | Decimal, /, *, unit: Unit | None = None) -> ValueMatch:
    """Match a datetime, or the text of one, that is the same point in time as `expected`.

    ``12:00+02:00`` and ``10:00Z`` of one day are the same. One with a UTC offset and one without never are, and the
    mismatch says so; two without are compared as they are written. The machine's time zone plays no part. Text is ISO
    8601 (``2026-03-09T12:00:00.5Z``), read whole and to the last digit. A date without a time, other text, and a number
    without `unit` mismatch with code ``type``: neither the claim nor its denial holds.

    Args:
        expected: A `datetime.datetime`, text of one, or with `unit` a number.
        unit: What a number counts since 1970-01-01T00:00:00Z: ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.

    Raises:
        TypeError: If `expected` is none of these.
        ValueError: If it cannot be read, is a number without `unit`, or the unit is unknown.

    >>> from niceeval_expect import same_instant
    >>> same_instant("2026-03-09T12:00:00+02:00").evaluate("2026-03-09T10:00:00Z").outcome
    'matched'
    >>> same_instant("2026-03-09T12:00:00Z").evaluate("2026-03-09T12:00:00").diagnostic.code
    'offset'
    >>> same_instant("2026-03-09T12:00:00Z", unit="s").evaluate(1773057600).outcome
    'matched'
    """
    if unit is not None and (not isinstance(unit, str) or unit not in _UNITS):
        raise ValueError(f"same_instant() takes unit={', '.join(map(repr, _UNITS))} or None, got {unit!r:.200}")
    read = _read_instant(expected, unit)
    if read is None:
        raise TypeError(f"same_instant() takes a datetime, text of one or a number with unit=, got {expected!r:.200}")
    if isinstance(read, str):
        hint = "; same_date(...) compares dates" if "no time" in read else ""
        raise ValueError(f"same_instant() cannot read {expected!r:.200}: {read}{hint}")
    kept = str.__str__(expected) if isinstance(expected, str) else expected
    return _SameInstant(kept, unit, read)


register("same_instant", rebuilder(same_instant, "instant"))
