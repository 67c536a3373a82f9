import hashlib
import json
import threading
from decimal import Decimal
from typing import Any

import attrs
import pydantic
import pytest

from niceeval.codec import SIZE_LIMIT, decode_subject, encode_subject, register_snapshot
from niceeval.command import CommandResult
from niceeval_expect._evaluation import Absent, AbsentText


class Order(pydantic.BaseModel):
    number: str
    total: Decimal


@attrs.frozen
class Box:
    value: Any


class Frame:
    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows


class WideFrame(Frame):
    pass


class LockedFrame(Frame):
    pass


class Unknown:
    pass


@pytest.mark.parametrize(
    ("value", "type_name", "text"),
    [
        ("done", "str", '"done"'),
        ("Grüße 😀", "str", '"Gr\\u00fc\\u00dfe \\ud83d\\ude00"'),
        ("\ud83d\ude00", "str", '{"$":"str","parts":[55357,56832]}'),
        ({"b": 1, "a": [None, True, 1.5]}, "dict", '{"b":1,"a":[null,true,1.5]}'),
        (None, "NoneType", "null"),
        ((1, 2), "tuple", '{"$":"tuple","items":[1,2]}'),
        (float("nan"), "float", '{"$":"float","value":"nan"}'),
        (Box(1), f"{__name__}.Box", f'{{"$":"object","kind":"attrs","type":"{__name__}.Box","value":{{"value":1}}}}'),
        (AbsentText("the turn failed"), "AbsentText", '{"$":"absent","reason":"the turn failed"}'),
    ],
)
def test_a_subject_becomes_ascii_text_with_size_and_digest(value: Any, type_name: str, text: str) -> None:
    subject = encode_subject(value)
    assert (subject.type, subject.text, subject.size) == (type_name, text, len(text))
    assert subject.digest == hashlib.sha256(text.encode("ascii")).hexdigest()
    assert (subject.problem, subject.rebuildable) == (None, True)


def test_equal_text_has_one_digest_whatever_the_object() -> None:
    assert encode_subject({"a": [1]}).digest == encode_subject({"a": [1]}).digest
    assert encode_subject({"a": [1]}).digest != encode_subject({"a": (1,)}).digest
    assert encode_subject("1").digest != encode_subject(1).digest


@pytest.mark.parametrize(
    "value",
    [
        "",
        "text",
        False,
        0,
        [],
        {},
        None,
        (1, {2: b"x"}),
        {"$": "not a tag"},
        10**5000,
        Decimal("1.50"),
        Absent("x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_come_back_as_they_were(value: Any) -> None:
    read = decode_subject(encode_subject(value).text)
    assert read == value
    assert type(read) is type(value)


def test_a_command_result_comes_back_as_one() -> None:
    result = CommandResult(["git", "status"], None, stdout="\ud800", duration=1.5, timed_out=True)
    subject = encode_subject(result)
    assert subject.type == "CommandResult"
    assert json.loads(subject.text)["$"] == "command"
    assert decode_subject(subject.text) == result
    assert decode_subject(encode_subject([{"r": result}]).text) == [{"r": result}]


def test_a_model_reads_as_its_json_mode_dict() -> None:
    read = decode_subject(encode_subject(Order(number="A", total=Decimal("1.50"))).text)
    assert dict(read) == {"number": "A", "total": "1.50"}


def test_a_registered_type_and_its_subclasses_are_kept() -> None:
    assert encode_subject(Unknown()).problem is not None
    register_snapshot(Frame, lambda frame: {"rows": frame.rows})
    for value in (Frame([(1, 2)]), WideFrame([(1, 2)])):
        subject = encode_subject({"frame": value})
        assert subject.problem is None
        assert not subject.rebuildable, "what the match saw was the frame, not its snapshot"
        kept = decode_subject(subject.text)["frame"]
        assert (kept.kind, kept.type, dict(kept)) == (
            "snapshot",
            f"{__name__}.{type(value).__name__}",
            {"rows": [(1, 2)]},
        )
    register_snapshot(WideFrame, lambda frame: "wide")
    assert decode_subject(encode_subject(WideFrame([])).text).value == "wide"
    assert decode_subject(encode_subject(Frame([])).text)["rows"] == []


def test_a_snapshot_function_that_breaks_is_named() -> None:
    def broken(frame: LockedFrame) -> object:
        raise OSError("disk gone")

    register_snapshot(LockedFrame, broken)
    problem = encode_subject(LockedFrame([])).problem
    assert problem is not None
    assert "disk gone" in problem


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("Frame", str), TypeError, "needs a class first, got 'Frame'"),
        ((dict, str), ValueError, "type dict are kept as they are"),
        ((object, str), ValueError, "register a class of your own"),
        ((Unknown, "x"), TypeError, "needs a function second"),
    ],
)
def test_a_bad_registration_is_refused(arguments: tuple[Any, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        register_snapshot(*arguments)


def test_a_coroutine_function_makes_no_snapshot() -> None:
    async def later(value: Unknown) -> object:
        return value

    with pytest.raises(TypeError, match="got a coroutine function"):
        register_snapshot(Unknown, later)


@pytest.mark.parametrize(
    ("value", "where"),
    [(Unknown(), ""), ({"a": [1, Unknown()]}, " at /a/1"), (Box(Unknown()), " at /value")],
)
def test_an_unknown_type_cannot_be_retained_and_the_remedy_is_named(value: Any, where: str) -> None:
    subject = encode_subject(value)
    assert subject.problem == (
        f"a value of type {__name__}.Unknown{where} cannot be kept; "
        "call register_snapshot(Unknown, fn) with a function that returns what to keep of it"
    )
    assert not subject.rebuildable
    assert "0x7" not in subject.text


@pytest.mark.parametrize("make", [lambda: "x" * (SIZE_LIMIT + 1), lambda: ["x" * (SIZE_LIMIT + 1)]])
def test_a_subject_over_the_limit_cannot_be_retained(make: Any) -> None:
    subject = encode_subject(make())
    assert subject.problem is not None
    assert "over the limit of 64 MiB" in subject.problem
    assert subject.size < 1_000
    decode_subject(subject.text)


@pytest.mark.parametrize("value", [ValueError("x"), threading.Lock], ids=["exception", "class"])
def test_what_comes_back_as_something_else_is_not_rebuildable(value: Any) -> None:
    assert not encode_subject(value).rebuildable


def test_nesting_without_end_is_kept_as_far_as_it_goes() -> None:
    value: Any = 1
    for _ in range(3_000):
        value = [value]
    subject = encode_subject(value)
    assert (subject.problem, subject.rebuildable) == (None, False)
    assert subject.size < 10_000


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("git status", 0), {}, TypeError, r"write \['git', 'status'\]"),
        (([], 0), {}, TypeError, "argv must be a list"),
        ((["a", 1], 0), {}, TypeError, r"got 1; write str\(1\)"),
        ((["a"], True), {}, TypeError, "exit_code must be an int, or None"),
        ((["a"], "0"), {}, TypeError, "exit_code must be an int, or None"),
        ((["a"], 0), {"stdout": b"x"}, TypeError, "stdout must be text, got bytes"),
        ((["a"], 0), {"duration": -1}, ValueError, "not negative"),
        ((["a"], 0), {"duration": float("nan")}, ValueError, "finite"),
        ((["a"], 0), {"duration": True}, TypeError, "number of seconds"),
        ((["a"], 0), {"timed_out": 1}, TypeError, "True or False"),
    ],
)
def test_a_command_result_refuses_what_it_cannot_mean(
    arguments: Any, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        CommandResult(*arguments, **options)
