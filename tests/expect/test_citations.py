"""cites_only and every_claim_cited: ids that were retrieved, and a marker in every claim."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from niceeval_expect import Absent, cites_only, equals, every_claim_cited, from_spec, includes, pattern, similarity

pytestmark = pytest.mark.anyio
cites_any: Any = cites_only
claims_any: Any = every_claim_cited
DOC = r"\((doc-\w+)\)"


@pytest.mark.parametrize(
    ("ids", "options", "text", "examined"),
    [
        ([4102, 4188], {}, "Refunds take 30 days [4102]. Shipping is free [4188].", 2),
        ([4102, 4188], {}, "Both say so [4102, 4188].", 2),
        ([4102, 4188], {}, "Both say so [ 4102 ], though [4102;4188][4188].", 4),
        (["4102"], {}, "As text [4102].", 1),
        ([7], {}, "A leading zero is the same number [07].", 1),
        ([42], {}, "Digits of another script [\u0664\u0662].", 1),
        ({7, 8}, {}, "A set of ids [8] [7].", 2),
        (["doc-a", "doc-b"], {"marker": DOC}, "Thirty days (doc-b).", 1),
        (["Smith, 2020"], {"marker": r"\(([A-Z][^)]+)\)"}, "It holds (Smith, 2020).", 1),
        (["a", "b"], {"marker": r"<(?:ref:(\w+)|src:(\w+))>"}, "One <ref:a>, another <src:b>.", 2),
        (["#1"], {"marker": r"#\d+"}, "Without a group all of it is the id: #1.", 1),
        ([1], {"min_citations": 2}, "Twice [1] [1].", 2),
    ],
)
def test_a_text_that_cites_what_was_retrieved_matches(
    ids: Any, options: dict[str, Any], text: str, examined: int
) -> None:
    evaluation = cites_only(ids, **options).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", examined)


@pytest.mark.parametrize(
    ("ids", "options", "text", "message"),
    [
        ([4102, 4188], {}, "It is so [3901].", "1 of 1 citation was not retrieved: '3901' at index 9"),
        ([4102], {}, "[4102, 3901] [7]", "2 of 3 citations were not retrieved: '3901' at index 0"),
        (["07"], {}, "As text [7].", "1 of 1 citation was not retrieved: '7' at index 8"),
        ([], {}, "Nothing was retrieved [1].", "1 of 1 citation was not retrieved: '1' at index 22"),
        (["doc-a"], {"marker": DOC}, "x (doc-A)", "1 of 1 citation was not retrieved: 'doc-A' at index 2"),
    ],
)
def test_an_id_that_was_not_retrieved_is_named_with_its_place(
    ids: Any, options: dict[str, Any], text: str, message: str
) -> None:
    evaluation = cites_only(ids, **options).evaluate(text)
    assert (evaluation.outcome, evaluation.code, evaluation.diagnostic.message) == (
        "mismatched",
        "not-retrieved",
        message,
    )
    assert evaluation.diagnostic.expected == list(ids)


def test_invented_ids_are_listed_once_each_and_the_first_place_is_shown() -> None:
    text = "x" * 5_000 + " [9] [8] [9] [1]"
    evaluation = cites_only([1]).evaluate(text)
    assert [child.message for child in evaluation.diagnostic.children] == [
        "'9' is cited 2 times, first at index 5,001",
        "'8' is cited at index 5,005",
    ]
    assert "[9]" in evaluation.diagnostic.received


@pytest.mark.parametrize("text", ["", "No citation at all.", "[not a number]", "[12", "12]"])
def test_a_text_without_a_citation_matches_and_says_that_nothing_was_examined(text: str) -> None:
    evaluation = cites_only([1]).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", 0)
    assert evaluation.diagnostic.message == "the text holds no citation, so that none was checked"
    asked = cites_only([1], min_citations=1).evaluate(text)
    assert (asked.outcome, asked.code) == ("mismatched", "no-citation")
    assert asked.diagnostic.message == "holds 0 citations, at least 1 wanted"


def test_a_marker_that_backtracks_without_end_is_given_up() -> None:
    evaluation = cites_only([1], marker=r"((a|aa)+)+\$").evaluate("a" * 60)
    assert (evaluation.outcome, evaluation.code) == ("errored", "budget")


@pytest.mark.parametrize("size", [1, 1_000])
def test_an_id_of_any_length_is_compared(size: int) -> None:
    assert cites_only([1]).evaluate("[" + "2" * 10 * size + "]").code == "not-retrieved"


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: cites_any("4102"), TypeError, "takes a list of retrieved ids, got '4102'"),
        (lambda: cites_any({"a": 1}), TypeError, "takes a list of retrieved ids"),
        (lambda: cites_any(4102), TypeError, "takes a list of retrieved ids, got 4102"),
        (lambda: cites_any([True]), TypeError, "takes ids that are text or whole numbers, got True"),
        (lambda: cites_any([1.5]), TypeError, "takes ids that are text or whole numbers, got 1.5"),
        (lambda: cites_any([" "]), ValueError, "got the blank id"),
        (lambda: cites_any(["doc-a"]), ValueError, "the usual marker finds numbers only"),
        (lambda: cites_any([1], marker=""), ValueError, "got the blank marker=''"),
        (lambda: cites_any([1], marker="("), ValueError, "cannot be used"),
        (lambda: cites_any([1], marker=r"\d*"), ValueError, "found even in the empty text"),
        (lambda: cites_any([1], marker=re.compile("x")), TypeError, "takes marker= as the text"),
        (lambda: cites_any([1], min_citations=-1), ValueError, "0 or more, got -1"),
        (lambda: cites_any([1], min_citations=True), TypeError, "a whole number, got True"),
        (lambda: claims_any(is_claim="all"), ValueError, "'sentence', 'statement', 'number'"),
        (lambda: claims_any(is_claim=3), TypeError, "a value match or a predicate, got 3"),
        (lambda: claims_any(is_claim=similarity("x")), TypeError, "a value match or a predicate"),
        (lambda: claims_any(if_any=1), TypeError, "if_any=True or if_any=False"),
        (lambda: claims_any(language=""), ValueError, "blank language"),
        (lambda: claims_any(language=None), TypeError, "language= as the code of a language"),
        (lambda: claims_any(marker="x?"), ValueError, "found even in the empty text"),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_do(
    build: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        build()


MATCHES = [cites_only([4102, "4188"]), every_claim_cited(), every_claim_cited(is_claim=pattern(r"\d"))]


@pytest.mark.parametrize("match", MATCHES, ids=repr)
@pytest.mark.parametrize("subject", [b"[1]", {"text": "[1]"}, ["[1]"], 1, None])
def test_what_is_not_text_mismatches_in_both_polarities(match: Any, subject: object) -> None:
    for each in (match, ~match):
        evaluation = each.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")


@pytest.mark.parametrize("match", MATCHES, ids=repr)
def test_a_missing_reply_is_unavailable_in_both_polarities(match: Any) -> None:
    for each in (match, ~match):
        assert each.evaluate(Absent("the turn failed")).outcome == "unavailable"


def test_ids_are_held_against_what_was_retrieved_and_markers_against_nothing() -> None:
    assert (cites_only([1]).family, cites_only([1]).reaches_outside) == ("referential", True)
    assert (every_claim_cited().family, every_claim_cited().reaches_outside) == ("lexical", False)
    assert every_claim_cited(is_claim=equals("x")).reaches_outside


@pytest.mark.parametrize(
    ("match", "shown"),
    [
        (cites_only((4102, "4188")), "cites_only([4102, '4188'])"),
        (cites_only([], min_citations=2), "cites_only([], min_citations=2)"),
        (cites_only(["a"], marker=DOC), f"cites_only(['a'], marker={DOC!r})"),
        (every_claim_cited(), "every_claim_cited()"),
        (every_claim_cited(is_claim="number", if_any=True), "every_claim_cited(is_claim='number', if_any=True)"),
        (
            every_claim_cited(marker=DOC, is_claim=includes("a"), language="de"),
            f"every_claim_cited(marker={DOC!r}, is_claim=includes('a'), language='de')",
        ),
    ],
)
def test_they_read_like_the_call_that_made_them_and_are_data(match: Any, shown: str) -> None:
    assert repr(match) == shown
    assert from_spec(match.spec()) == match


ANSWER = "Refunds take 30 days [1]. Shipping is free. Anything else?"


@pytest.mark.parametrize(
    ("options", "text", "examined"),
    [
        ({}, "Refunds take 30 days [1]. Shipping is free [2, 3].", 2),
        ({}, "Refunds take 30 days. [1] Shipping is free.[2]", 2),
        ({}, "[1] says that refunds take 30 days.", 1),
        ({"marker": DOC}, "Refunds take 30 days. (doc-a) Shipping is free (doc-b).", 2),
        ({"marker": DOC}, "Refunds take 30 days. (doc-a) (doc-b)\n\nIt is free (doc-b).", 2),
        ({"is_claim": "statement"}, "# Returns\n\nHere is what we know:\n\nIt takes 30 days [1].\n\nAnything else?", 1),
        ({"is_claim": "number"}, "Hello there. 30 days [1]. Bye.", 1),
        ({"is_claim": "number"}, "1. Hello there. 30 days [1].", 1),
        ({"is_claim": pattern(r"\d")}, ANSWER, 1),
        ({"is_claim": lambda sentence: "days" in sentence}, ANSWER, 1),
        ({"is_claim": includes("x"), "if_any": True}, ANSWER, 0),
        ({"if_any": True}, "", 0),
        ({}, "[1] [2]\n\nIt is so [3].", 1),
        ({"language": "de"}, "Das gilt z. B. fünf Tage lang [1].", 1),
    ],
)
def test_a_text_with_a_marker_in_every_claim_matches(options: dict[str, Any], text: str, examined: int) -> None:
    evaluation = every_claim_cited(**options).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", examined), evaluation


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        ({}, ANSWER, "2 of 3 claims carry no citation: 'Shipping is free.' at index 26"),
        ({"is_claim": "statement"}, ANSWER, "1 of 2 claims carries no citation: 'Shipping is free.' at index 26"),
        (
            {"marker": DOC},
            "Nothing here. (doc-a) is about that.",
            "1 of 2 claims carries no citation: '(doc-a) is about that.' at index 14",
        ),
        ({"marker": DOC}, "One.\n\n(doc-a) says so.", "1 of 2 claims carries no citation: 'One.' at index 0"),
        (
            {"is_claim": "number"},
            "See [12]. It takes 30 days.",
            "1 of 1 claim carries no citation: 'It takes 30 days.'",
        ),
    ],
)
def test_a_claim_without_a_marker_is_shown_with_its_place(options: dict[str, Any], text: str, message: str) -> None:
    evaluation = every_claim_cited(**options).evaluate(text)
    assert (evaluation.outcome, evaluation.code) == ("mismatched", "uncited")
    assert evaluation.diagnostic.message.startswith(message)


@pytest.mark.parametrize("text", ["", "  \n", "[1]", "12 34."])
def test_a_text_without_a_claim_is_no_pass(text: str) -> None:
    evaluation = every_claim_cited().evaluate(text)
    assert (evaluation.outcome, evaluation.code, evaluation.examined) == ("mismatched", "no-claim", 0)


def test_a_predicate_that_breaks_is_no_mismatch_but_an_uncited_claim_decides() -> None:
    def breaks_on_shipping(sentence: str) -> bool:
        if "Shipping" in sentence:
            raise LookupError("no such row")
        return True

    match = every_claim_cited(is_claim=breaks_on_shipping)
    broken = match.evaluate("Refunds take 30 days [1]. Shipping is free.")
    assert (broken.outcome, "no such row" in str(broken.reason)) == ("errored", True)
    assert match.evaluate("Refunds take 30 days. Shipping is free [1].").outcome == "mismatched"
    assert claims_any(is_claim=lambda _: None).evaluate(ANSWER).code == "not-bool"


async def test_a_predicate_may_be_async_and_sees_each_sentence_once() -> None:
    seen: list[str] = []

    async def is_claim(sentence: str) -> bool:
        seen.append(sentence)
        return not sentence.endswith("?")

    evaluation = await every_claim_cited(is_claim=is_claim).evaluate_async(ANSWER)
    assert (evaluation.outcome, evaluation.examined) == ("mismatched", 2)
    assert seen == ["Refunds take 30 days.", "Shipping is free.", "Anything else?"]


def test_a_predicate_is_code_that_a_spec_can_only_name() -> None:
    match = every_claim_cited(is_claim=lambda sentence: True)
    with pytest.raises(ValueError, match="code that a spec can only name"):
        from_spec(match.spec())


@pytest.mark.parametrize(
    ("text", "outcome", "examined"),
    [
        ("So it is [1-3].", "matched", 3),
        ("So it is [1\u20133, 5].", "matched", 4),
        ("So it is [ 2 - 3 ].", "matched", 2),
        ("So it is [2-5].", "mismatched", 4),
        ("So it is [3\u20149].", "mismatched", 7),
        ("So it is [3-1].", "mismatched", 1),
        ("So it is [1-99999999].", "mismatched", 1),
        ("So it is [1-2-3].", "mismatched", 1),
    ],
)
def test_a_range_cites_each_number_in_it(text: str, outcome: str, examined: int) -> None:
    evaluation = cites_only([1, 2, 3, 5]).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == (outcome, examined)
    assert every_claim_cited().evaluate(text).outcome == "matched"


def test_a_marker_of_ones_own_has_no_ranges() -> None:
    assert cites_only(["a-1"], marker=r"\[([\w-]+)\]").evaluate("It is [a-1].").outcome == "matched"
    assert cites_only([1, 2], marker=r"\[([\d-]+)\]").evaluate("It is [1-2].").outcome == "mismatched"
