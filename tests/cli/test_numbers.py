"""Numbers never contradict what they stand for."""

import pytest

from niceeval.cli.numbers import bound, counted, rate, scores, seconds, signed, span


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0.0, "0.00"),
        (1.0, "1.00"),
        (249 / 250, "0.99"),
        (0.9951, "0.99"),
        (1 / 250, "0.01"),
        (2 / 3, "0.67"),
    ],
)
def test_only_a_whole_is_written_as_one_and_only_nothing_as_zero(value: float | None, shown: str) -> None:
    assert rate(value) == shown


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([], []),
        ([1, 2.5, None], ["1.00", "2.50", "-"]),
        ([0.301, 0.3012], ["0.3010", "0.3012"]),
        ([1.0, 1.0], ["1.00", "1.00"]),
        ([0.999], ["0.999"]),
        ([2.9996, 0.001, 2 / 3], ["2.9996", "0.0010", "0.6667"]),
        ([1.0, 1.0 + 1e-12], ["1.000000", "1.000000"]),
    ],
)
def test_scores_that_differ_look_different(values: list[float | None], shown: list[str]) -> None:
    assert scores(values) == shown


def test_only_wholes_are_written_as_wholes_in_intervals_and_differences() -> None:
    assert (span((0.004, 0.9997)), span((0.0, 1.0))) == ("0.004 to 0.9997", "0.00 to 1.00")
    assert span((0.21, 1 - 1e-16)) == "0.21 to 1.00"
    assert [signed(each) for each in (-0.9996, 1, -1.0, 0.001)] == ["-0.9996", "+1.00", "-1.00", "+0.001"]
    assert (bound(0.9998, 0.9), bound(1, 0.9), bound(0.0002, 0.9)) == ("0.9998", "1.000", "0.0002")


def test_words_agree_with_their_number() -> None:
    assert [counted(0, "eval"), counted(1, "eval"), counted(5000, "case")] == ["0 evals", "1 eval", "5,000 cases"]
    assert [seconds(0.0), seconds(59.94), seconds(60), seconds(3661)] == ["0.0 s", "59.9 s", "1 min 0 s", "1 h 1 min"]
