"""Labels by people: rows with what was judged and what people said of it, and what a judge's answer is held against."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any, Final, final

import attrs

from niceeval.errors import ConfigError, EvalLoadError
from niceeval.evals.rows import READERS, shown
from niceeval_expect._judge_port import Judgement
from niceeval_expect._judge_scale import Choices, Scale

__all__ = ["Labelled", "Yardstick", "read_labels", "yardstick_of"]

_TRUE: Final = frozenset({"true", "yes", "pass", "passed"})
_FALSE: Final = frozenset({"false", "no", "fail", "failed"})
_MOST: Final = 10


@final
@attrs.frozen
class Labelled:
    """One row: its fields, what people said of it, and where it stands."""

    place: str
    fields: Mapping[str, Any]
    label: bool | float | str

    def subject(self, keys: Mapping[str, bool]) -> dict[str, Any]:
        """Return what a judge reads of the row.

        Args:
            keys: The keys it reads, each with whether it has to be there.

        Raises:
            EvalLoadError: One is missing.
        """
        for key, needed in keys.items():
            if needed and self.fields.get(key) is None:
                raise EvalLoadError(f"{self.place}: the row has no {key!r}, which the judge reads")
        return {key: self.fields[key] for key in keys if self.fields.get(key) is not None}


def read_labels(path: Path) -> list[Labelled]:
    """Read the rows of a JSONL, JSON, YAML or CSV file.

    Raises:
        EvalLoadError: It cannot be read, or a row has no label that can be used; the row is named.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise EvalLoadError(f"{shown(path)}: labels are read from {', '.join(READERS)}")
    found = []
    try:
        for row in reader(path):
            where = f"{shown(path)}:{row.place}"
            if not isinstance(row.value, Mapping):
                raise EvalLoadError(f"{where}: a row has fields such as output and label, got {row.value!r:.80}")
            found.append(Labelled(where, row.value, _label(row.value.get("label"), where)))
    except (OSError, UnicodeDecodeError) as error:
        raise EvalLoadError(f"{shown(path)} cannot be read: {error}") from error
    if not found:
        raise EvalLoadError(f"{shown(path)} holds no rows")
    return found


def _label(value: Any, where: str) -> bool | float | str:
    if isinstance(value, str):
        text = value.strip()
        if text.casefold() in _TRUE | _FALSE:
            return text.casefold() in _TRUE
        try:
            value = float(text)
        except ValueError:
            if text:
                return text
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and isfinite(value):
        return float(value)
    raise EvalLoadError(f"{where}: label is a choice of the judge, true or false, or a number, got {value!r:.80}")


@final
@attrs.frozen
class Yardstick:
    """How labels and answers are made comparable.

    Attributes:
        scale: What the judge may answer.
        at_least: From which measurement on something passes; None where the answers themselves are compared.
        categories: What is compared: fail and pass, the choices, or the numbers on the labels.
    """

    scale: Scale
    at_least: float | None
    categories: tuple[str, ...]

    def of_label(self, label: bool | float | str) -> str:
        """Return the category of a label."""
        if self.at_least is None:
            return _name(self.scale, label)
        return _passes(label if isinstance(label, bool) else _measured(self.scale, label) >= _cut(self.at_least))

    def of_judgement(self, judgement: Judgement) -> str:
        """Return the category of an answer, which there is."""
        mean = judgement.mean
        assert mean is not None
        if self.at_least is not None:
            return _passes(mean >= _cut(self.at_least))
        verdict = judgement.samples[0].verdict or ""
        return verdict if isinstance(self.scale, Choices) else f"{float(verdict):g}"


def _cut(limit: float) -> Fraction:
    # The tolerance with which thresholds compare.
    return Fraction(repr(limit)) - Fraction(1, 10**9)


def yardstick_of(scale: Scale, labels: Iterable[Labelled], at_least: float | None, samples: int) -> Yardstick:
    """Return how these labels are compared with what a judge of this scale answers.

    Args:
        scale: What the judge may answer.
        labels: The labels.
        at_least: From which measurement on something passes; None to compare answers, or for true and false 0.5.
        samples: How many answers are averaged.

    Raises:
        ConfigError: Labels are of several kinds, are no answers on the scale, or need a limit.
    """
    rows = list(labels)
    flags = [isinstance(row.label, bool) for row in rows]
    if any(flags) and not all(flags):
        odd = rows[flags.index(not flags[0])]
        raise ConfigError(f"{odd.place}: the label is {odd.label!r}, and others are of another kind; use one kind")
    for row in rows:
        if not isinstance(row.label, bool):
            _require(scale, row)
    if all(flags) or at_least is not None:
        return Yardstick(scale, 0.5 if at_least is None else at_least, ("fail", "pass"))
    if samples > 1:
        raise ConfigError(
            f"the mean of {samples} samples is none of the answers: say from where on it passes, --at-least"
        )
    if isinstance(scale, Choices):
        for row in rows:
            _named(scale, row)
        return Yardstick(scale, None, tuple(name for name, _ in scale.options))
    names = tuple(f"{number:g}" for number in sorted({float(row.label) for row in rows}))
    if len(names) > _MOST:
        raise ConfigError(f"the labels are {len(names)} different numbers: say from where on one passes, --at-least")
    return Yardstick(scale, None, names)


def _require(scale: Scale, row: Labelled) -> None:
    try:
        _measured(scale, row.label)
    except ValueError as error:
        raise ConfigError(f"{row.place}: {error}") from None


def _named(scale: Choices, row: Labelled) -> None:
    try:
        _name(scale, row.label)
    except ConfigError as error:
        raise ConfigError(f"{row.place}: {error}") from None


def _measured(scale: Scale, label: bool | float | str) -> Fraction:
    """Return the measurement that a label stands for: that of a choice, or a number on the judge's own scale."""
    if isinstance(scale, Choices):
        name = scale.find(label) if isinstance(label, str) else None
        if name is not None:
            return scale.value(name)
        if not isinstance(label, str) and 0 <= label <= 1:
            return Fraction(repr(float(label)))
        known = ", ".join(name for name, _ in scale.options)
        raise ValueError(f"the label {label!r} is none of the judge's answers ({known}), nor a number from 0 to 1")
    value = None if isinstance(label, str) else scale.value(Fraction(repr(float(label))))
    if value is None:
        raise ValueError(f"the label {label!r} is no number from {scale.low} to {scale.high}, as the judge answers")
    return value


def _name(scale: Scale, label: bool | float | str) -> str:
    if not isinstance(scale, Choices):
        return f"{float(label):g}"
    if isinstance(label, str):
        return scale.find(label) or label
    nearest = [name for name, value in scale.options if value == label]
    if len(nearest) != 1:
        raise ConfigError(f"the label {label!r} is not the measurement of one of the judge's answers: give --at-least")
    return nearest[0]


def _passes(passes: bool) -> str:
    return "pass" if passes else "fail"
