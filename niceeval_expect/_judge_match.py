"""What judge matches have in common: the material they read, the judge they ask, and what its answer means."""

import json
from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias

from niceeval_expect._calls import PENDING, call
from niceeval_expect._equality import as_json, is_absent
from niceeval_expect._evaluation import Diagnostic, Evaluation, errored, unavailable
from niceeval_expect._judge_port import Judgement, JudgeRequest, Sample, current_port
from niceeval_expect._judge_prompt import SYSTEM, placeholders, rendered
from niceeval_expect._judge_scale import Scale
from niceeval_expect._pointer import child
from niceeval_expect._sample import cut_text
from niceeval_expect._score import ScoreMatch

__all__ = ["Judged", "Rule"]

NO_MODEL: Final = "judge-model-unresolved"
_MOST_RATIONALE: Final = 2_000
_MOST_REPLY: Final = 4_096


Rule: TypeAlias = tuple[str, Scale, Mapping[str, str], frozenset[str]]
"""A prompt, its scale, the texts of the match itself, and the keys that a subject may leave out."""


class Judged(ScoreMatch):
    """A rule that a judge applies to ``{"input": …, "output": …}``."""

    __slots__ = ()
    family = "judged"
    _asks_judge: ClassVar[bool] = True

    @property
    def _may_await(self) -> bool:
        return True

    def _rule(self) -> Rule:
        """Return the prompt, the scale, the texts of the match itself, and the keys that a subject may leave out."""
        raise TypeError(f"{type(self).__name__} must define _rule()")

    @property
    def _recipe(self) -> str:
        return self._spec_name

    @property
    def scale(self) -> Scale:
        """What the judge may answer."""
        return self._rule()[1]

    @property
    def keys(self) -> dict[str, bool]:
        """The keys of a subject that the judge reads, each with whether it has to be there."""
        template, _, own, optional = self._rule()
        return {key: key not in optional for key in placeholders(template, "") if key not in own}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        template, scale, own, _ = self._rule()
        material = _material(subject, pointer, self.keys)
        if isinstance(material, Evaluation):
            return material
        port = current_port()
        if port is None:
            return unavailable(f"{NO_MODEL}: no judge model is configured", pointer, code=NO_MODEL)
        request = JudgeRequest(self._recipe, SYSTEM, rendered(template, {**own, **material}), scale)
        said = call(port.ask, request)
        if said is PENDING:
            return unavailable("waits for the judge", pointer, code="pending")
        return _concluded(said, pointer)


def _material(subject: object, pointer: str, keys: Mapping[str, bool]) -> dict[str, str] | Evaluation:
    """Return the texts that a subject gives for a prompt's names, or how the evaluation comes out without them."""
    wanted = "{" + ", ".join(f'"{key}": …' for key in keys) + "}"
    if not isinstance(subject, Mapping):
        return _wrong(f"needs {wanted}, got {type(subject).__name__}", subject, pointer)
    unknown = [key for key in subject if key not in keys]
    if unknown:
        return _wrong(
            f"needs {wanted}, got {unknown[0]!r:.80} as well, which the judge would not see", subject, pointer
        )
    missing = [key for key, needed in keys.items() if needed and key not in subject]
    if missing:
        return _wrong(f"needs {wanted}, and {missing[0]!r} is missing", subject, pointer)
    texts = {}
    for key in keys:
        value = subject.get(key, "(not given)")
        if is_absent(value):
            return unavailable(value.reason, child(pointer, key))
        text = _text(value)
        if text is None:
            return _wrong(f"needs text or data in {key!r}, got {type(value).__name__}", value, child(pointer, key))
        # No protocol can carry half a surrogate pair: the judge reads it as its escape.
        texts[key] = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return texts


def _text(value: object) -> str | None:
    """Return a text as it is, and data as JSON; None for what is neither."""
    if isinstance(value, str):
        return value
    try:
        return (
            None
            if value is None
            else json.dumps(as_json(value), ensure_ascii=False, indent=1, allow_nan=False, default=as_json)
        )
    except (TypeError, ValueError, RecursionError):
        return None


def _wrong(message: str, received: object, pointer: str) -> Evaluation:
    return errored(message, pointer, code="type", received=received)


def _concluded(judgement: Judgement, pointer: str) -> Evaluation:
    samples = judgement.samples
    several = len(samples) > 1
    parts = tuple(_said(sample, number, pointer) for number, sample in enumerate(samples, 1)) if several else ()
    mean = judgement.mean
    if mean is None:
        place, bad = next((n, each) for n, each in enumerate(samples, 1) if each.value is None)
        code = bad.code or "judge-off-format"
        where = f" (sample {place} of {len(samples)})" if several else ""
        reason = f"{code}: {bad.reason}{where}"
        shown = cut_text(bad.reply, _MOST_REPLY) or None
        return Evaluation(
            "unavailable", Diagnostic(code, reason, pointer, None, shown, reason, parts), reason=reason
        )  # fmt: skip
    if not several:
        return Evaluation("measured", _said(samples[0], 1, pointer), value=float(mean))
    spread = judgement.spread()
    message = (
        f"mean of {len(samples)} samples, from {spread['min']:g} to {spread['max']:g}, stdev {spread['stdev']:.3g}"
    )
    return Evaluation("measured", Diagnostic("measured", message, pointer, children=parts), value=float(mean))


def _said(sample: Sample, number: int, pointer: str) -> Diagnostic:
    if sample.value is None:
        code = sample.code or "judge-off-format"
        reason = f"{code}: {sample.reason}"
        return Diagnostic(code, reason, pointer, None, cut_text(sample.reply, _MOST_REPLY) or None, reason)
    when = f" (answered {sample.cached})" if sample.cached else ""
    why = f": {cut_text(sample.rationale, _MOST_RATIONALE)}" if sample.rationale else ""
    return Diagnostic("measured", f"the judge said {sample.verdict}{when}{why}", pointer)
