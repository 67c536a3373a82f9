from time import process_time
from typing import Any

import pytest

from niceeval import ToolCall
from niceeval_expect import from_spec
from niceeval_expect._alike import LATEST, group_alike
from niceeval_expect._call_scope import CallScope
from niceeval_expect._loops import no_loops
from niceeval_expect._scope import findings

TRIES = ["I will try again now.", "I will try again now!", "I will try again, now."]
LOST = ToolCall.unreadable("search", "{", "cut off")


def calls(*inputs: Any, tool: str = "search", **options: Any) -> CallScope:
    made = [made if isinstance(made, ToolCall) else ToolCall(tool, made) for made in inputs]
    return CallScope(tuple((f"s0.t0.c{n}", call) for n, call in enumerate(made)), **options)


def texts(*said: str, **options: Any) -> CallScope:
    return CallScope((), texts=tuple((f"s0.t0.m{n}", text) for n, text in enumerate(said)), **options)


@pytest.mark.parametrize(
    ("similarity", "over", "outcome"),
    [
        (None, texts(*TRIES), "matched"),
        (0.9, texts(*TRIES), "mismatched"),
        (1, texts(*TRIES), "matched"),
        (1, texts(*[TRIES[0]] * 3), "mismatched"),
        (0.9, texts(*[TRIES[0]] * 3), "mismatched"),
        (0.9, texts("Hello", "Where is it?", "It is on its way."), "matched"),
        (0.9, texts("", " ", "  "), "matched"),
        (None, calls({"q": "cats 1"}, {"q": "cats 2"}, {"q": "cats 3"}), "matched"),
        (0.8, calls({"q": "cats 1"}, {"q": "cats 2"}, {"q": "cats 3"}), "mismatched"),
        (0.8, calls({"q": "cats 1", "n": 1}, {"n": 1, "q": "cats 2"}, {"q": "cats 3", "n": 1}), "mismatched"),
        # of one tool, and of one server, only
        (0.8, calls({"q": "cats 1"}, ToolCall("open", {"q": "cats 2"}), {"q": "cats 3"}), "matched"),
        (0.8, calls({"q": "cats 1"}, ToolCall("search", {"q": "cats 2"}, server="b"), {"q": "cats 3"}), "matched"),
        (0.8, calls({"q": "cats 1"}, {"q": "cats 2"}, LOST), "unavailable"),
        (None, calls({"q": "cats 1"}, {"q": "cats 2"}, LOST), "matched"),
        (0.8, calls({"q": "cats 1"}, coverage="partial"), "unavailable"),
        (0.8, texts("Hi", texts_coverage="partial"), "unavailable"),
    ],
)
def test_nearly_the_same_again_and_again(similarity: float | None, over: CallScope, outcome: str) -> None:
    assert no_loops(similarity=similarity).evaluate(over).outcome == outcome


def test_the_mismatch_names_the_places_in_order() -> None:
    over = texts(TRIES[0], "Hello", TRIES[1], TRIES[0], TRIES[2])
    evaluation = no_loops(max_repeats=3, similarity=0.9).evaluate(over)
    assert evaluation.diagnostic.message == (
        "nearly the same text came 4 times, at s0.t0.m0, s0.t0.m2, s0.t0.m3, s0.t0.m4"
    )
    assert evaluation.diagnostic.expected == "calls or texts that are 0.9 alike at most 3 times"
    assert evaluation.diagnostic.children[0].pointer == "/s0.t0.m4"
    assert findings(evaluation).matching == ("s0.t0.m0", "s0.t0.m2", "s0.t0.m3", "s0.t0.m4")


@pytest.mark.parametrize(
    ("similarity", "error"),
    [("0.9", TypeError), (True, TypeError), (0, ValueError), (1.1, ValueError), (-1, ValueError)],
)
def test_bad_arguments_are_refused(similarity: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"no_loops\(\) similarity"):
        no_loops(similarity=similarity)


def test_nan_is_no_similarity() -> None:
    with pytest.raises(ValueError, match="similarity"):
        no_loops(similarity=float("nan"))


def test_it_is_data() -> None:
    claim = no_loops(max_repeats=1, similarity=0.9)
    assert from_spec(claim.spec()) == claim != no_loops(max_repeats=1)
    assert repr(claim) == "no_loops(max_repeats=1, similarity=0.9)"
    assert no_loops(max_repeats=1).spec() == {"match": "no_loops", "max_repeats": 1}


def test_of_long_texts_both_ends_are_compared() -> None:
    middle = "x" * 9_000
    assert group_alike(["a" * 2_000 + middle + "b" * 2_000, "a" * 2_000 + "y" + middle + "b" * 2_000], 1.0) == [0, 0]
    assert group_alike(["a" * 5_000, "b" * 5_000], 0.1) == [0, 1]


def test_a_text_is_compared_with_the_latest_different_ones() -> None:
    others = [chr(0x4E00 + n) * 20 for n in range(LATEST)]
    assert group_alike(["the same text", *others[:-1], "the same text!"], 0.9)[-1] == 0
    assert group_alike(["the same text", *others, "the same text!"], 0.9)[-1] == LATEST + 1


def test_ten_thousand_different_calls_take_linear_time() -> None:
    many = calls(*[{"path": f"{n:x}{n * 7919:x}{n * 104729:x}"} for n in range(10_000)])
    begun = process_time()
    assert no_loops(similarity=0.95).evaluate(many).outcome == "matched"
    assert process_time() - begun < 6
