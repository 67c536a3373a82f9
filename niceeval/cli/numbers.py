"""Numbers as people read them, never contradicting what they stand for."""

from collections.abc import Iterable

from niceeval.stats.digits import bound, whole_only

__all__ = ["bound", "chance", "clock", "counted", "percent", "rate", "scores", "seconds", "signed", "span"]

_MOST_DIGITS = 6


def rate(value: float | None) -> str:
    """Write a rate with two digits; only a whole is written as 1.00, only nothing as 0.00.

    >>> rate(2 / 3), rate(0.999), rate(0.0004), rate(1.0), rate(None)
    ('0.67', '0.99', '0.01', '1.00', '-')
    """
    if value is None:
        return "-"
    shown = f"{value:.2f}"
    if shown == "1.00" and value < 1:
        return "0.99"
    return "0.01" if shown == "0.00" and value > 0 else shown


def scores(values: Iterable[float | None]) -> list[str]:
    """Write scores with two digits, or as many as keep different scores apart, and from wholes that they are not.

    >>> scores([4.8, 3.0, None]), scores([0.6666, 0.6667]), scores([0.999])
    (['4.80', '3.00', '-'], ['0.6666', '0.6667'], ['0.999'])
    """
    given = list(values)
    distinct = {value for value in given if value is not None}
    digits = next(
        (
            n
            for n in range(2, _MOST_DIGITS)
            if len({f"{v:.{n}f}" for v in distinct}) == len(distinct) and all(whole_only(v, n) for v in distinct)
        ),
        _MOST_DIGITS,
    )
    return ["-" if value is None else f"{value:.{digits}f}" for value in given]


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun.

    >>> counted(1, "eval"), counted(3, "case"), counted(2, "entry", "entries")
    ('1 eval', '3 cases', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def clock(duration: float) -> str:
    """Write seconds as hours, minutes and seconds.

    >>> clock(61.4)
    '0:01:01'
    """
    whole = int(duration)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def seconds(duration: float) -> str:
    """Write a duration.

    >>> seconds(0.93), seconds(84.2), seconds(4000)
    ('0.9 s', '1 min 24 s', '1 h 6 min')
    """
    if duration < 60:
        return f"{duration:.1f} s"
    if duration < 3600:
        return f"{int(duration) // 60} min {int(duration) % 60} s"
    return f"{int(duration) // 3600} h {int(duration) // 60 % 60} min"


def chance(value: float) -> str:
    """Write a chance with two significant digits, and never as 0.

    >>> chance(0.03125), chance(0.5), chance(1e-9), chance(1)
    ('0.031', '0.50', 'below 0.0001', '1.0')
    """
    return "below 0.0001" if value < 0.0001 else f"{value:#.2g}"


def percent(share: float) -> str:
    """Write a share in percent, with as many digits as it has.

    >>> percent(0.95), percent(1 - 0.95), percent(0.999)
    ('95 %', '5 %', '99.9 %')
    """
    return f"{share * 100:.6g} %"


def signed(value: float | None) -> str:
    """Write a difference with its sign, and never as a whole unless it is.

    >>> signed(-0.1), signed(0.0004), signed(-0.999), signed(0), signed(None)
    ('-0.10', '+0.0004', '-0.999', '0.00', '-')
    """
    if value is None:
        return "-"
    return f"{value:+.{_digits(value)}f}" if value else "0.00"


def span(ends: tuple[float, float] | None, *, sign: bool = False) -> str:
    """Write an interval.

    >>> span((0.801, 0.9971)), span((-0.2, 0.004), sign=True), span(None)
    ('0.80 to 0.997', '-0.20 to +0.004', '-')
    """
    if ends is None:
        return "-"
    return " to ".join(signed(end) if sign else f"{end:.{_digits(end)}f}" for end in ends)


def _digits(value: float) -> int:
    return next((n for n in range(2, _MOST_DIGITS) if whole_only(value, n)), _MOST_DIGITS)
