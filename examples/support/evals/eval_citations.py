"""Is everything that the agent says about policies backed by a policy that it has read for this question?"""

import re
from dataclasses import dataclass

from niceeval import EvalContext, Turn, define_eval
from niceeval_expect import at, ends_with, equals, every_claim_cited, forbids, length, non_empty, one_of

MARKER = re.compile(r"\[(\d+)\]")
BOILERPLATE = ("as an AI", "I cannot", "consult a lawyer")
# A sentence that says something about the shop: not a question, not a courtesy of a few words.
CLAIM = length(at_least=5, unit="words") & ~ends_with("?")
QUESTIONS = {
    "returns": "Can I return unused shoes?",
    "personalised": "Can I return a mug with a name on it?",
    "express": "How long does express delivery take?",
    "lost": "My parcel is late. Is it lost?",
    "christmas": "My aunt gave me a kettle for Christmas. Can I still return it?",
}


@dataclass(frozen=True)
class Citation:
    """A policy id together with the sentence that cites it, so that a failure shows both."""

    id: int
    sentence: str


def sentences(answer: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", answer)


def citations(answer: str) -> list[Citation]:
    return [Citation(int(found), sentence) for sentence in sentences(answer) for found in MARKER.findall(sentence)]


def retrieved_ids(turn: Turn) -> list[int]:
    """The ids that the search returned in this turn: from the tool's output, not from anything the agent wrote."""
    return [found["id"] for call in turn.tool_calls if call.name == "search_policies" for found in call.output]


@define_eval(cases=QUESTIONS, tags=["citations"])
async def cites_what_it_read(t: EvalContext, question: str) -> None:
    turn = await t.send(question)
    await turn.succeeded().or_stop()
    turn.called_tool("search_policies")
    retrieved = await t.check(retrieved_ids(turn), non_empty()).key("search_found_policies").or_stop()

    # A loop over nothing checks nothing, so that there are citations is asked first.
    cited = citations(turn.message)
    t.check(cited, non_empty()).key("names_a_policy")
    for citation in cited:
        t.check(citation, at("id", one_of(retrieved))).key("cited_id_was_retrieved")
    t.check(turn.message, every_claim_cited(is_claim=CLAIM)).key("claim_is_cited")

    t.check(turn.message, forbids(BOILERPLATE, casefold=True)).key("no_boilerplate")
    t.check(turn.message, length(at_most=1200)).key("short_enough")


@define_eval(tags=["citations"])
async def says_when_it_does_not_know(t: EvalContext) -> None:
    turn = await t.send("Do you sell vouchers?")
    turn.called_tool("search_policies")
    t.check(retrieved_ids(turn), equals([])).key("search_found_nothing")
    t.check(citations(turn.message), equals([])).key("cites_nothing")
    t.check(turn.status, equals("waiting")).key("offers_a_colleague")
