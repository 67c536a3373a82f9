"""A score-style eval: no verdict, but points that add up, so that variants of an agent can be ranked."""

from niceeval import EvalContext, define_score_eval
from niceeval_expect import define_score_match, excludes, includes, length

QUESTIONS = {
    "express": ("How long does express delivery take?", "1 working day"),
    "abroad": ("Do you ship abroad, say to France?", "EU"),
    "weekend": ("Will it come at the weekend?", "Sundays"),
}


@define_score_match
def kindness(answer: str) -> float:
    """A measurement of our own, from 0 to 1: how many of three small courtesies an answer has."""
    courtesies = ("good question", "anything else", "thank")
    return sum(courtesy in answer.casefold() for courtesy in courtesies) / len(courtesies)


@define_score_eval(cases=QUESTIONS)
async def delivery_answer(t: EvalContext, case: tuple[str, str]) -> None:
    question, fact = case
    turn = await t.send(question)
    # A stop is no failure here: the attempt is scored with what it had earned until then.
    await turn.succeeded().or_stop()

    t.check(turn.message, includes(fact)).score(5).key("says_the_fact")
    t.check(turn.message, kindness()).score(3).key("kind")
    t.check(turn.message, length(at_most=80)).score(1).key("short")
    # Without its usage nobody knows whether a turn was cheap. That is not zero points: the attempt cannot be ranked.
    turn.max_tokens(80).score(1).key("cheap")
    # An entry without points is recorded and changes no score.
    t.check(turn.message, excludes("I do not know")).key("knows_it")
