from typing import Any

import attrs
import pytest

from niceeval_expect import Absent, at, equals, from_spec, includes, json_match, satisfies, similarity, tool_match
from niceeval_expect._tool_names import is_that_tool


@attrs.frozen
class Call:
    """A call as any adapter may bring it: a tool match reads attributes, whatever the class."""

    name: str
    input: Any = attrs.field(factory=lambda: Absent("the arguments end inside a string"))
    output: Any = attrs.field(factory=lambda: Absent("no result yet"))
    status: str | None = None
    id: str | None = None
    server: str | None = None


OSLO = {"city": "Oslo"}


@pytest.mark.parametrize(
    ("match", "call", "outcome", "code"),
    [
        # the name, exactly
        (tool_match("search"), Call("search"), "matched", "matched"),
        (tool_match("search"), Call("research"), "mismatched", "name"),
        (tool_match("search"), Call("search_all"), "mismatched", "name"),
        (tool_match("search"), Call("Search"), "mismatched", "name"),
        # input: left out is anything, {} is none at all
        (tool_match("open"), Call("open", {"path": "/etc"}), "matched", "matched"),
        (tool_match("open", input={}), Call("open", {"path": "/etc"}), "mismatched", "input"),
        (tool_match("open", input={}), Call("open", {}), "matched", "matched"),
        (tool_match("weather", input=OSLO), Call("weather", {"city": "Oslo"}), "matched", "matched"),
        (tool_match("weather", input=OSLO), Call("weather", {"city": "Oslo", "unit": "C"}), "mismatched", "input"),
        (tool_match("weather", input=json_match(OSLO)), Call("weather", {"city": "Oslo", "unit": "C"}), "matched", "matched"),
        (tool_match("weather", input=None), Call("weather", None), "matched", "matched"),
        (tool_match("weather", input=None), Call("weather", {}), "mismatched", "input"),
        # an input that could not be read is unknown, never {}
        (tool_match("weather"), Call("weather"), "matched", "matched"),
        (tool_match("weather", input=OSLO), Call("weather"), "unavailable", "absent"),
        (tool_match("weather", input={}), Call("weather"), "unavailable", "absent"),
        (tool_match("weather", input={}), Call("climate"), "mismatched", "name"),
        # output and status
        (tool_match("read", output="A"), Call("read", {}, "A"), "matched", "matched"),
        (tool_match("read", output="A"), Call("read", {}, "B"), "mismatched", "output"),
        (tool_match("read", output="A"), Call("read", {}), "unavailable", "absent"),
        (tool_match("read", status="completed"), Call("read", status="completed"), "matched", "matched"),
        (tool_match("read", status="completed"), Call("read", status="pending"), "mismatched", "status"),
        (tool_match("read", status="pending"), Call("read", status="pending"), "matched", "matched"),
        (tool_match("read", status="completed"), Call("read"), "unavailable", "absent"),
        # a definite part decides whatever else is unknown
        (tool_match("read", output="A", status="completed"), Call("read", {}, status="failed"), "mismatched", "status"),
        (tool_match("read", input=OSLO, output="A"), Call("read", {"city": "Rome"}), "mismatched", "input"),
        # the server
        (tool_match("search", server="web"), Call("search", server="web"), "matched", "matched"),
        (tool_match("search", server="web"), Call("search", server="files"), "mismatched", "server"),
        (tool_match("search", server="web"), Call("search"), "unavailable", "absent"),
        (tool_match("search", server="web"), Call("open"), "mismatched", "name"),
        (tool_match("search"), Call("search", server="anywhere"), "matched", "matched"),
        # the type of an argument travels up
        (tool_match("say", input=includes("x")), Call("say", {"text": "x"}), "mismatched", "type"),
        (tool_match("say", input=includes("x"), status="failed"), Call("say", {}, status="pending"), "mismatched", "status"),
    ],
)  # fmt: skip
def test_a_tool_match_is_an_and_over_one_call(match: Any, call: Call, outcome: str, code: str) -> None:
    evaluation = match.evaluate(call)
    assert (evaluation.outcome, evaluation.code) == (outcome, code)
    denied = (~match).evaluate(call)
    swapped = {"matched": "mismatched", "mismatched": "mismatched" if code == "type" else "matched"}
    assert denied.outcome == swapped.get(outcome, outcome)


@pytest.mark.parametrize(
    ("wanted", "server", "called", "on", "answer"),
    [
        ("b", None, "mcp__a__b", None, None),
        ("c", None, "mcp__a__b", None, False),
        ("a", None, "mcp__a__b", None, False),
        ("mcp__a__b", None, "mcp__a__b", None, True),
        ("b", None, "a__b", None, None),
        ("b", None, "a.b", None, None),
        ("b", None, "a/b", None, None),
        ("b", None, "ab", None, False),
        ("b__c", None, "mcp__a__b__c", None, None),
        ("b", "a", "mcp__a__b", None, None),
        ("b", "a", "mcp__a__b", "a", None),
        ("b", "x", "mcp__a__b", "a", False),
        # a known server resolves the name: its dots and underscores are its own
        ("user", None, "get.user", "crm", False),
        ("b", None, "b", "a", True),
        # the claim spells the same tool differently
        ("mcp__a__b", None, "b", "a", None),
        ("mcp__a__b", None, "b", "z", False),
        ("mcp__a__b", None, "b", None, False),
        ("__init__", None, "__init__", None, True),
        ("init__", None, "__init__", None, False),
    ],
)
def test_a_name_is_resolved_or_undecided_and_never_a_substring(
    wanted: str, server: str | None, called: str, on: str | None, answer: bool | None
) -> None:
    assert is_that_tool(wanted, server, called, on) is answer
    outcome = {True: "matched", False: "mismatched", None: "unavailable"}[answer]
    assert tool_match(wanted, server=server).evaluate(Call(called, server=on)).outcome == outcome


def test_a_definite_part_decides_even_where_the_name_is_unresolved() -> None:
    match = tool_match("pay", input={"amount": 1})
    assert match.evaluate(Call("mcp__bank__pay", {"amount": 2})).outcome == "mismatched"
    assert match.evaluate(Call("mcp__bank__pay", {"amount": 1})).outcome == "unavailable"


@pytest.mark.parametrize("amount", [89, 89.0])
def test_arguments_compare_as_json(amount: object) -> None:
    match = tool_match("pay", input={"amount": 89.0})
    assert match.evaluate(Call("pay", {"amount": amount})).outcome == "matched"
    assert match.evaluate(Call("pay", {"amount": "89"})).outcome == "mismatched"
    assert match.evaluate(Call("pay", {"amount": "eighty-nine"})).outcome == "mismatched"
    assert match.evaluate(Call("pay", {"amount": True})).outcome == "mismatched"


def test_the_diagnostic_points_to_the_argument_and_says_what_was_there() -> None:
    evaluation = tool_match("lookup", input=at("id", "A-1"), status="completed").evaluate(
        Call("lookup", {"id": "A-2"}, "not found", status="failed")
    )
    assert evaluation.diagnostic.message == "the call of lookup has another status and input"
    status, argument = evaluation.diagnostic.children
    assert (status.pointer, status.expected, status.received) == ("/status", "completed", "failed")
    assert argument.pointer.startswith("/input")
    assert "A-2" in str(argument.as_document())


def test_an_empty_input_says_what_it_means() -> None:
    evaluation = tool_match("open", input={}).evaluate(Call("open", {"path": "/etc", "mode": "r"}))
    assert "input={} means no arguments at all; this call has path, mode" in evaluation.diagnostic.message


def test_what_is_missing_is_named() -> None:
    truncated = tool_match("weather", input=OSLO).evaluate(Call("weather"))
    assert truncated.reason == "input of the call of weather: the arguments end inside a string"
    unresolved = tool_match("search").evaluate(Call("mcp__web__search"))
    assert unresolved.reason is not None
    assert "'mcp__web__search' may or may not mean the tool 'search'" in unresolved.reason


def test_a_broken_predicate_is_errored_and_a_definite_mismatch_beside_it_decides() -> None:
    broken = satisfies("explodes", lambda value: value["missing"])
    assert tool_match("open", input=broken).evaluate(Call("open", {})).outcome == "errored"
    assert (
        tool_match("open", input=broken, status="failed").evaluate(Call("open", {}, status="pending")).outcome
        == "mismatched"
    )


@pytest.mark.parametrize("subject", ["search", {"name": "search"}, None, 3, object(), Absent])
def test_a_subject_that_is_no_call_is_a_type_mismatch(subject: object) -> None:
    evaluation = tool_match("search").evaluate(subject)
    assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")


def test_an_absent_call_is_unavailable() -> None:
    assert tool_match("search").evaluate(Absent("no such call")).outcome == "unavailable"


@pytest.mark.anyio
async def test_an_async_predicate_over_an_argument_runs_once_per_call() -> None:
    seen = []

    async def small(value: Any) -> bool:
        seen.append(value)
        return bool(value["amount"] < 10)

    match = tool_match("pay", input=satisfies("is small", small), output="ok")
    assert (await match.evaluate_async(Call("pay", {"amount": 3}, "ok"))).outcome == "matched"
    assert seen == [{"amount": 3}]
    with pytest.raises(TypeError, match="evaluate_async"):
        match.evaluate(Call("pay", {"amount": 3}, "ok"))


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: tool_match("search"), "tool_match('search')"),
        (lambda: tool_match("search", input={"q": "cats"}), "tool_match('search', input={'q': 'cats'})"),
        (lambda: tool_match("search", input={}), "tool_match('search', input={})"),
        (
            lambda: tool_match("pay", output=includes("ok"), status="completed", server="bank"),
            "tool_match('pay', output=includes('ok'), status='completed', server='bank')",
        ),
    ],
)
def test_a_tool_match_is_data_and_reads_like_its_call(build: Any, text: str) -> None:
    match = build()
    assert repr(match) == text
    assert from_spec(match.spec()) == match == build()


def test_arguments_are_copied_when_the_match_is_built() -> None:
    wanted = {"q": ["cats"]}
    match = tool_match("search", input=wanted)
    wanted["q"].append("dogs")
    assert match.evaluate(Call("search", {"q": ["cats"]})).outcome == "matched"


def test_a_plain_value_means_equals() -> None:
    assert tool_match("search", input={"q": 1}) == tool_match("search", input=equals({"q": 1}))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "says"),
    [
        (("",), {}, ValueError, "name is blank"),
        (("  ",), {}, ValueError, "name is blank"),
        ((None,), {}, TypeError, "name is text, got None"),
        ((["search"],), {}, TypeError, r"name is text, got \['search'\]"),
        (("search",), {"server": " "}, ValueError, "server is blank"),
        (("search",), {"server": 1}, TypeError, "server is text, got 1"),
        (("search",), {"status": "done"}, ValueError, "completed, failed, rejected, pending.*got 'done'"),
        (("search",), {"input": tool_match("search")}, TypeError, "input takes a value or a value match"),
        (("search",), {"output": similarity("x")}, TypeError, "output takes a value or a value match"),
    ],
)
def test_a_bad_argument_is_refused_with_a_sentence(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        tool_match(*arguments, **options)
