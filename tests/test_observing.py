"""`observe`: checks over transcripts that are at hand."""

from pathlib import Path
from typing import Any

import pytest

from niceeval import EvalContext, Transcript, define_eval, observe, transcript_from_openai
from niceeval.errors import EvalLoadError
from niceeval.record import Record
from niceeval_expect import includes, tool_match

pytestmark = pytest.mark.anyio


def transcript(answer: str) -> Transcript:
    return transcript_from_openai([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": answer}])


def polite(t: EvalContext) -> None:
    t.check(t.sessions[0].turns[-1].message, includes("please")).key("polite")


async def test_transcripts_are_checked_by_id_in_pairs_or_numbered(tmp_path: Path) -> None:
    one, two = transcript("please"), transcript("no")
    cases: list[tuple[Any, list[str]]] = [
        ({"a": one, "b": two}, ["a", "b"]),
        ([("a", one), ("a", two)], ["a", "a#2"]),
        (iter([one, two]), ["0", "1"]),
    ]
    for given, ids in cases:
        run = await observe(given, polite)
        assert {attempt.case_id: attempt.status for attempt in run.attempts} == dict(
            zip(ids, ["passed", "failed"], strict=True)
        )
    await observe({"a": one, "b": two}, polite, name="manners", record=tmp_path)
    with Record.open(tmp_path) as record:
        (requirement,) = record.requirements()
        assert (requirement.key, requirement.failed, requirement.decided) == ("polite", 1, 2)


async def test_matches_stand_for_requirements() -> None:
    run = await observe([transcript("please")], {"polite": includes("please"), "acts": tool_match("act")})
    (attempt,) = run.attempts
    assert attempt.eval_id == "checks"
    assert [failure.requirement for failure in attempt.failures] == ["acts"]


async def test_a_conversation_without_a_turn_has_no_message() -> None:
    run = await observe([Transcript(())], {"polite": includes("please")})
    assert [attempt.status for attempt in run.attempts] == ["errored"]


@define_eval
async def an_eval(t: EvalContext) -> None: ...


@pytest.mark.parametrize(
    ("given", "checks", "error", "sentence"),
    [
        ("text", polite, TypeError, "observe.. takes transcripts, by id or in a list, got str"),
        (transcript("x"), polite, TypeError, "takes transcripts"),
        ([7], polite, TypeError, "got int where a transcript is meant, at '0'"),
        ([], polite, EvalLoadError, "there is nothing to run"),
        ([], 7, TypeError, "checks are a function of t or a mapping"),
        ([], {}, TypeError, "an empty mapping, which checks nothing"),
        ([], {"x": "text"}, TypeError, "checks map a requirement's name to a match, got 'x'"),
        ([], an_eval, TypeError, "is an eval, which sends"),
    ],
)
async def test_what_cannot_be_meant_is_refused(given: Any, checks: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        await observe(given, checks)


async def test_limits_make_sense() -> None:
    with pytest.raises(ValueError, match="concurrency is a whole number"):
        await observe([transcript("x")], polite, concurrency=0)
    judge: Any = "gpt"
    with pytest.raises(TypeError, match="takes a JudgeConfig"):
        await observe([transcript("x")], polite, judge=judge)
