"""Numbers as people read them, never contradicting what they stand for."""

from collections.abc import Iterable

__all__ = ["clock", "counted", "rate", "scores", "seconds"]

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
    """Write scores with two digits, or as many as keep different scores apart.

    >>> scores([4.8, 3.0, None]), scores([0.6666, 0.6667])
    (['4.80', '3.00', '-'], ['0.6666', '0.6667'])
    """
    given = list(values)
    distinct = {value for value in given if value is not None}
    digits = next(
        (n for n in range(2, _MOST_DIGITS) if len({f"{v:.{n}f}" for v in distinct}) == len(distinct)), _MOST_DIGITS
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
