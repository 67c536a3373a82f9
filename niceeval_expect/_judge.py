"""Judge recipes: pure score matches that hold a rule and a scale. Somebody else supplies the model that is asked."""

from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from niceeval_expect._freeze import call_repr
from niceeval_expect._judge_match import Judged, Rule
from niceeval_expect._judge_prompt import placeholders
from niceeval_expect._judge_scale import Choices, Scale, choices_of, range_of
from niceeval_expect._score import ScoreMatch
from niceeval_expect._spec import register

__all__ = ["closed_qa", "define_judge", "factuality", "summarizes"]


def _author_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, got {value!r:.200}")
    if not value.strip():
        raise ValueError(f"{what} is blank; say what the judge is to look at")
    return str(value)


_NOTHING: Final[frozenset[str]] = frozenset()

_CLOSED_QA: Final = """\
Rule: decide how far the output meets the criterion. The input is what the output answers.

A: the criterion is met in full.
B: it is met, with a flaw that a reader would hardly notice.
C: it is met in part.
D: little of it is met.
E: it is not met.

Criterion:
{criterion}
Input:
{input}
Output:
{output}
"""
_CLOSED_QA_SCALE: Final = Choices((("A", 1.0), ("B", 0.8), ("C", 0.5), ("D", 0.2), ("E", 0.0)))


@final
@attrs.frozen(eq=False, repr=False)
class _ClosedQA(Judged):
    _spec_name = "closed_qa"
    _question: str

    def _args(self) -> dict[str, object]:
        return {"question": self._question}

    def _rule(self) -> Rule:
        return _CLOSED_QA, _CLOSED_QA_SCALE, {"criterion": self._question}, _NOTHING


def closed_qa(question: str, /) -> ScoreMatch:
    """Measure by a judge how far an output meets a criterion, over ``{"input": …, "output": …}``.

    The judge answers A (1.0, in full), B (0.8, with a flaw hardly noticed), C (0.5, in part), D (0.2, little of it) or
    E (0.0, not). Without a judge, and wherever its reply cannot be used, the evaluation is unavailable.

    Args:
        question: The criterion, as a question about the output.

    Raises:
        TypeError: It is no text.
        ValueError: It is blank.

    >>> from niceeval_expect import closed_qa
    >>> polite = closed_qa("Is the answer specific and polite?")
    >>> polite.evaluate({"input": "Where is it?", "output": "At the depot."}).code
    'judge-model-unresolved'
    """
    return _ClosedQA(_author_text(question, "closed_qa() question"))


_FACTUALITY: Final = """\
Rule: compare the facts that the output states with those of the reference, as answers to the input. Wording, order and
style do not matter.

A: it states every fact of the reference that answers the input, and none that conflicts with it.
B: as A, and it adds facts of which the reference says nothing.
C: facts of the reference that answer the input are missing, and none conflicts with it.
D: a fact that it states conflicts with the reference.

Reference:
{reference}
Input:
{input}
Output:
{output}
"""
_FACTUALITY_SCALE: Final = Choices((("A", 1.0), ("B", 0.7), ("C", 0.5), ("D", 0.0)))


@final
@attrs.frozen(eq=False, repr=False)
class _Factuality(Judged):
    _spec_name = "factuality"
    _reference: str

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"reference": self._reference}

    def _rule(self) -> Rule:
        return _FACTUALITY, _FACTUALITY_SCALE, {"reference": self._reference}, _NOTHING


def factuality(reference: str, /) -> ScoreMatch:
    """Measure by a judge how far an output agrees in facts with a reference, over ``{"input": …, "output": …}``.

    The judge answers A (1.0, all facts and no conflict), B (0.7, with facts that the reference does not have), C (0.5,
    facts are missing) or D (0.0, a conflict). Without a usable reply the evaluation is unavailable.

    Args:
        reference: The answer that is known to be right.

    Raises:
        TypeError: It is no text.
        ValueError: It is blank.

    >>> from niceeval_expect import factuality
    >>> factuality("It left on Monday.").at_least(0.7)
    factuality('It left on Monday.').at_least(0.7)
    """
    return _Factuality(_author_text(reference, "factuality() reference"))


_SUMMARIZES: Final = """\
Rule: decide how well the output sums up the source, for the purpose that the input gives if there is one.

A: every main point of the source is there, and nothing that the source does not bear out.
B: a lesser point is missing, and nothing is there that the source does not bear out.
C: a main point is missing, and nothing is there that the source does not bear out.
D: something is there that the source does not bear out, or the output is no summary of it.

Source:
{source}
Input:
{input}
Output:
{output}
"""
_SUMMARIZES_SCALE: Final = Choices((("A", 1.0), ("B", 0.7), ("C", 0.3), ("D", 0.0)))


@final
@attrs.frozen(eq=False, repr=False)
class _Summarizes(Judged):
    _spec_name = "summarizes"
    _source: str

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"source": self._source}

    def _rule(self) -> Rule:
        return _SUMMARIZES, _SUMMARIZES_SCALE, {"source": self._source}, frozenset({"input"})


def summarizes(source: str, /) -> ScoreMatch:
    """Measure by a judge how well an output sums up a source, over ``{"output": …}`` with or without ``"input"``.

    The judge answers A (1.0, every main point and nothing else), B (0.7, a lesser point is missing), C (0.3, a main
    point is missing) or D (0.0, something the source does not bear out). Without a usable reply the evaluation is
    unavailable.

    Args:
        source: The text that is to be summed up.

    Raises:
        TypeError: It is no text.
        ValueError: It is blank.

    >>> from niceeval_expect import summarizes
    >>> summarizes("The parcel left on Monday and was returned on Friday.").family
    'judged'
    """
    return _Summarizes(_author_text(source, "summarizes() source"))


@final
@attrs.frozen(eq=False, repr=False)
class _DefinedJudge(Judged):
    _spec_name = "define_judge"
    _name: str
    _prompt: str
    _scale: Scale

    @property
    def _recipe(self) -> str:
        return self._name

    def _args(self) -> dict[str, object]:
        return {"name": self._name, "prompt": self._prompt, **self._scale.document()}

    def __repr__(self) -> str:
        if isinstance(self._scale, Choices):
            return call_repr("define_judge", self._name, self._prompt, choices=dict(self._scale.options))
        return call_repr("define_judge", self._name, self._prompt, scale=(self._scale.low, self._scale.high))

    def _rule(self) -> Rule:
        return self._prompt, self._scale, {}, _NOTHING


def define_judge(
    name: str,
    prompt: str,
    /,
    *,
    scale: tuple[float, float] | None = None,
    choices: Mapping[str, float] | None = None,
) -> ScoreMatch:
    """Define a judge of your own: a rule in words, and what may be answered.

    Where the prompt names ``{output}``, ``{input}`` or another key of the subject, the judge reads what the subject
    holds there, in quotes that the text cannot get out of. How to answer is added to the prompt.

    Args:
        name: What the judge looks at, for people.
        prompt: The rule. It names ``{output}`` at least; braces that are meant as such are doubled.
        scale: Two numbers: the lowest, which measures 0, and the highest, which measures 1.
        choices: In place of `scale`: what may be answered, each with its measurement from 0 to 1.

    Raises:
        TypeError: An argument is of another kind, or `scale` and `choices` are both given or both missing.
        ValueError: The prompt, the scale or a choice cannot be used.

    >>> from niceeval_expect import define_judge
    >>> polite = define_judge("polite", "How polite is this reply? {output}", choices={"polite": 1, "rude": 0})
    >>> polite.spec()["choices"]
    [['polite', 1], ['rude', 0]]
    >>> polite.at_least(0.5).evaluate({"output": "Good morning!"}).outcome
    'unavailable'
    """
    _author_text(name, "define_judge() name")
    names = placeholders(_author_text(prompt, "define_judge() prompt"), "define_judge() prompt")
    if "output" not in names:
        raise ValueError("define_judge() prompt does not name {output}, so that the judge would not see the output")
    if (scale is None) == (choices is None):
        raise TypeError("define_judge() takes either scale=(low, high) or choices={name: measurement}")
    if scale is not None:
        return _DefinedJudge(name, prompt, range_of(scale, "define_judge() scale"))
    return _DefinedJudge(name, prompt, choices_of(choices, "define_judge() choices"))


def _rebuild(args: Mapping[str, Any]) -> ScoreMatch:
    return define_judge(args["name"], args["prompt"], scale=args.get("scale"), choices=args.get("choices"))


register("closed_qa", lambda args: closed_qa(args["question"]))
register("factuality", lambda args: factuality(args["reference"]))
register("summarizes", lambda args: summarizes(args["source"]))
register("define_judge", _rebuild)
