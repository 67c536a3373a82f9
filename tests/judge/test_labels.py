"""Labels by people, and what makes them comparable with a judge's answers."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from niceeval import ConfigError, EvalLoadError
from niceeval.judge.labels import Labelled, read_labels, yardstick_of
from niceeval_expect._judge_port import Judgement, Sample
from niceeval_expect._judge_scale import Choices, Range, Scale

LETTERS = Choices((("A", 1.0), ("B", 0.5), ("C", 0.5), ("E", 0.0)))
STARS = Range(1, 5)


def labelled(*labels: bool | float | str) -> list[Labelled]:
    return [Labelled(f"labels.jsonl:{number}", {"output": "x"}, label) for number, label in enumerate(labels, 1)]


def answer(value: str, verdict: str) -> Judgement:
    return Judgement((Sample(value=Fraction(value), verdict=verdict),))


@pytest.mark.parametrize(
    ("scale", "labels", "at_least", "categories", "named"),
    [
        (LETTERS, ["A", "e"], None, ("A", "B", "C", "E"), ["A", "E"]),
        (LETTERS, [1.0, 0.0], None, ("A", "B", "C", "E"), ["A", "E"]),
        (LETTERS, ["A", "B"], 0.8, ("fail", "pass"), ["pass", "fail"]),
        (LETTERS, [True, False], None, ("fail", "pass"), ["pass", "fail"]),
        (STARS, [4.0, 2.0], None, ("2", "4"), ["4", "2"]),
        (STARS, [4.0, 3.0], 0.6, ("fail", "pass"), ["pass", "fail"]),
    ],
)
def test_labels_become_categories(
    scale: Scale,
    labels: Sequence[bool | float | str],
    at_least: float | None,
    categories: tuple[str, ...],
    named: list[str],
) -> None:
    found = yardstick_of(scale, labelled(*labels), at_least, 1)
    assert found.categories == categories
    assert [found.of_label(label) for label in labels] == named


def test_answers_are_named_as_labels_are() -> None:
    assert yardstick_of(LETTERS, labelled("A"), None, 1).of_judgement(answer("1/2", "B")) == "B"
    assert yardstick_of(STARS, labelled(4.0), None, 1).of_judgement(answer("3/4", "4.0")) == "4"
    threshold = yardstick_of(LETTERS, labelled(True), 0.5, 1)
    assert threshold.of_judgement(answer("1/2", "B")) == "pass"
    assert threshold.of_judgement(answer("49/100", "B")) == "fail"


@pytest.mark.parametrize(
    ("scale", "labels", "at_least", "samples", "problem"),
    [
        (LETTERS, ["A", True], None, 1, "use one kind"),
        (LETTERS, ["Z"], None, 1, "none of the judge's answers (A, B, C, E)"),
        (LETTERS, [7.0], None, 1, "nor a number from 0 to 1"),
        (STARS, ["A"], None, 1, "no number from 1 to 5"),
        (STARS, [9.0], 0.5, 1, "no number from 1 to 5"),
        (LETTERS, ["A"], None, 3, "mean of 3 samples"),
        (STARS, [1 + number / 10 for number in range(20)], None, 1, "20 different numbers"),
    ],
)
def test_labels_that_fit_no_answer_are_refused(
    scale: Scale, labels: Sequence[bool | float | str], at_least: float | None, samples: int, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        yardstick_of(scale, labelled(*labels), at_least, samples)
    assert problem in str(caught.value)


def test_a_number_that_two_answers_measure_names_neither() -> None:
    with pytest.raises(ConfigError, match="not the measurement of one"):
        yardstick_of(LETTERS, labelled(0.5), None, 1).of_label(0.5)


def test_a_number_that_no_answer_measures_is_named_with_its_row() -> None:
    with pytest.raises(ConfigError, match=r"^labels.jsonl:2: the label 0.9 is not the measurement of one"):
        yardstick_of(LETTERS, labelled(1.0, 0.9), None, 1)


def test_rows_are_read_from_several_formats(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"output": "x", "label": "Yes"}, {"output": "y", "label": 0.5}]')
    (tmp_path / "a.csv").write_text("output,label\nx,pass\ny,0.5\n")
    for name in ("a.json", "a.csv"):
        assert [row.label for row in read_labels(tmp_path / name)] == [True, 0.5]
    (tmp_path / "a.txt").write_text("x")
    for name in ("a.txt", "b.csv"):
        with pytest.raises(EvalLoadError):
            read_labels(tmp_path / name)


def test_a_judge_reads_only_its_keys_and_misses_none() -> None:
    row = Labelled("labels.jsonl:1", {"output": "x", "note": "by ann"}, True)
    assert row.subject({"input": False, "output": True}) == {"output": "x"}
    with pytest.raises(EvalLoadError, match=r"labels.jsonl:1: the row has no 'input'"):
        row.subject({"input": True, "output": True})
