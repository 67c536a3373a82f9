"""`matches` over pydantic models, dataclasses, attrs classes and other types."""

import dataclasses
import enum
import json
import uuid
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar, assert_type

import attrs
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, computed_field, field_validator
from typing_extensions import TypedDict

from niceeval_expect import Absent, ParsingMatch, ValueMatch, from_spec, matches
from niceeval_expect._codec import decode, encode

T = TypeVar("T")


class Gift(BaseModel):
    qty: int
    gift: bool


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    qty: int


class Lenient(BaseModel):
    model_config = ConfigDict(strict=False)
    qty: Annotated[int, Field(strict=False)]


class Guarded(BaseModel):
    qty: Annotated[int, Field(strict=True)]


class Parcel(BaseModel):
    status: Literal["pending", "in_transit"]
    stage: Literal[1, 2] = 1
    total: Annotated[int, Field(gt=0)] = 5
    sent: date | None = None
    inner: "Parcel | None" = None


class Renamed(BaseModel):
    number: int = Field(alias="orderNumber", exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def doubled(self) -> int:
        return self.number * 2


class Picky(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 0:
            raise KeyError("boom")
        if value < 0:
            raise ValueError("must not be negative")
        return value


class Numbers(RootModel[list[int]]):
    pass


class Level(enum.Enum):
    ONE = 1
    TWO = "two"


class Point(TypedDict):
    x: int


@dataclasses.dataclass
class Line:
    qty: int
    when: date = date(2026, 1, 1)
    tags: set[str] = dataclasses.field(default_factory=set)


@attrs.define
class Item:
    sku: str
    n: int = attrs.field(default=1, validator=attrs.validators.ge(1))


@attrs.define
class Node:
    name: str
    items: list[Item] = attrs.Factory(list)
    children: "list[Node]" = attrs.Factory(list)
    parent: "Node | None" = None
    _secret: int = 0
    noted: date | None = None
    size: int = attrs.field(init=False, default=0)


@attrs.define
class Checked:
    name: Any = attrs.field(validator=attrs.validators.instance_of(str))


@attrs.define
class Box(Generic[T]):
    content: T


@attrs.define
class Converted:
    n: int = attrs.field(converter=int)


@attrs.define
class Faulty:
    n: int

    def __attrs_post_init__(self) -> None:
        raise TypeError("a fault in the class")


def outcome(schema: Any, subject: object, **options: bool) -> str:
    return str(matches(schema, **options).evaluate(subject).outcome)


@pytest.mark.parametrize(
    ("subject", "pointers", "received"),
    [
        ({"qty": "5", "gift": "no"}, ["/qty", "/gift"], ["5", "no"]),
        ({"qty": 5.0, "gift": 1}, ["/qty", "/gift"], [5.0, 1]),
        ({"qty": True, "gift": False}, ["/qty"], [True]),
    ],
)
def test_nothing_is_converted_to_fit(subject: object, pointers: list[str], received: list[object]) -> None:
    evaluation = matches(Gift).evaluate(subject)
    diagnostic = evaluation.diagnostic
    nodes = diagnostic.children or (diagnostic,)
    assert (evaluation.outcome, evaluation.code) == ("mismatched", "schema")
    assert [node.pointer for node in nodes] == pointers
    assert [(type(node.received), node.received) for node in nodes] == [(type(value), value) for value in received]


def test_extra_keys_follow_the_rule_of_the_model() -> None:
    assert outcome(Gift, {"qty": 5, "gift": False, "evil": 1}) == "matched"
    diagnostic = matches(Closed).evaluate({"qty": 5, "evil": 1}).diagnostic
    assert (diagnostic.code, diagnostic.pointer) == ("schema", "/evil")
    assert outcome(Item, {"sku": "a", "evil": 1}) == "mismatched"


def test_coercion_is_asked_for_and_the_evidence_keeps_the_raw_value() -> None:
    match = matches(Gift, coerce=True)
    subject = {"qty": "5", "gift": "no"}
    assert match.evaluate(subject).outcome == "matched"
    assert subject == {"qty": "5", "gift": "no"}
    assert match.evaluate({"qty": "x", "gift": "no"}).diagnostic.received == "x"
    assert outcome(Guarded, {"qty": "5"}, coerce=True) == "mismatched"


@pytest.mark.parametrize(
    ("schema", "subject", "expected"),
    [
        (Lenient, {"qty": "5"}, "mismatched"),
        (int, 5.0, "mismatched"),
        (int, True, "mismatched"),
        (float, 5, "matched"),
        (bool, 1, "mismatched"),
        (Literal[1], True, "mismatched"),
        (Literal[1], 1.0, "mismatched"),
        (Literal[1], 1, "matched"),
        (Literal[True], 1, "mismatched"),
        (Literal[True], True, "matched"),
        (Literal[0, "a"], False, "mismatched"),
        (Literal[1, True], True, "matched"),
        (Literal[1] | bool, True, "matched"),
        (list[Literal[1]], [1, True], "mismatched"),
        (Level, True, "mismatched"),
        (Level, 1.0, "mismatched"),
        (Level, 1, "matched"),
        (Level, Level.ONE, "matched"),
        (Level, "two", "matched"),
        (date, "2026-01-01", "matched"),
        (date, date(2026, 1, 1), "matched"),
        (date, "01.01.2026", "mismatched"),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678", "matched"),
        (uuid.UUID, uuid.UUID(int=1), "matched"),
        (Decimal, Decimal("1.10"), "matched"),
        (Decimal, "1.10", "matched"),
        (float, Decimal("1.5"), "matched"),
        (set[int], {1}, "matched"),
        (set[int], [1], "matched"),
        (list[int], {1}, "mismatched"),
        (tuple[int, ...], [1, 2], "matched"),
        (tuple[int, ...], (1, 2), "matched"),
        (str, b"x", "mismatched"),
        (bytes, b"x", "matched"),
        (dict[int, str], {1: "a"}, "matched"),
        (dict[str, int], {1: 1}, "mismatched"),
        (Point, {"x": 1}, "matched"),
        (Point, {"x": "1"}, "mismatched"),
        (Gift | None, None, "matched"),
        (Gift | None, {"qty": 1}, "mismatched"),
        (Annotated[int, Field(ge=3)], 2, "mismatched"),
        (float, float("nan"), "mismatched"),
        (Annotated[float, Field(ge=0)], float("inf"), "mismatched"),
        (str, "\ud800", "mismatched"),
        (Numbers, [1, 2], "matched"),
        (Numbers, Numbers.model_construct(json.loads('["1"]')), "mismatched"),
        (Line, {"qty": 1, "when": "2026-02-01"}, "matched"),
        (Line, {"qty": "1"}, "mismatched"),
        (Line, Line(1, tags={"a"}), "matched"),
        (Line, Line("1"), "mismatched"),  # type: ignore[arg-type]
        (Gift, Gift(qty=1, gift=True), "matched"),
        (Gift, Gift.model_construct(qty="1", gift=True), "mismatched"),
        (list[Gift], [Gift.model_construct(qty=1)], "mismatched"),
        (Renamed, {"orderNumber": 1}, "matched"),
        (Renamed, {"number": 1}, "mismatched"),
        (Renamed, Renamed(orderNumber=1), "matched"),
        (Renamed, Renamed.model_construct(number="1"), "mismatched"),
        (Parcel, Parcel(status="pending", sent=date(2026, 1, 1)), "matched"),
        (Parcel, {"status": "pending", "inner": {"status": "pending", "stage": True}}, "mismatched"),
        (TypeAdapter(list[Gift]), [{"qty": 1, "gift": True}], "matched"),
        (Item, {"sku": "a"}, "matched"),
        (Item, {"sku": "a", "n": "1"}, "mismatched"),
        (Item, {"sku": "a", "n": 0}, "mismatched"),
        (Item, Item("a"), "matched"),
        (list[Item] | None, [{"sku": "a"}, {"sku": 1}], "mismatched"),
        (Node, {"name": "a", "children": [{"name": "b", "items": [{"sku": "c"}], "secret": 3}]}, "matched"),
        (Node, {"name": "a", "children": [{"name": 5}]}, "mismatched"),
        (Node, {"name": "a", "noted": "2026-01-01", "parent": {"name": "b"}}, "matched"),
        (Node, {"name": "a", "size": 1}, "mismatched"),
        (Node, Node("a", children=[Node("b", items=[Item("c")])]), "matched"),
        (Node, Node("a", items=[Item(3)]), "mismatched"),  # type: ignore[arg-type]
        (Checked, {"name": 3}, "mismatched"),
        (Box[int], {"content": 1}, "matched"),
        (Box[int], {"content": "1"}, "mismatched"),
        (Box[Item], {"content": {"sku": "a"}}, "matched"),
        (Converted, {"n": "5"}, "mismatched"),
        (Converted, {"n": 5}, "matched"),
    ],
)
def test_decides_as_json_and_strictly(schema: Any, subject: object, expected: str) -> None:
    assert outcome(schema, subject) == expected


def test_integers_of_any_size() -> None:
    assert outcome(int, 10**6_000) == "matched"
    assert outcome(list[str], [10**6_000]) == "mismatched"


@pytest.mark.parametrize(
    ("schema", "subject", "code", "pointer", "message", "expected"),
    [
        (Parcel, {"status": "refunded"}, "constraint", "/status", None, 'one of "pending", "in_transit"'),
        (Parcel, {"status": "pending", "stage": 3}, "constraint", "/stage", None, "one of 1, 2"),
        (
            Parcel,
            {"status": "pending", "total": 0},
            "constraint",
            "/total",
            "should be greater than 0",
            "greater than 0",
        ),
        (Parcel, {"status": "pending", "total": None}, "schema", "/total", None, "a valid integer"),
        (Parcel, {}, "schema", "", 'the key "status" is missing', 'the key "status"'),
        (Closed, {"qty": 1, "x": 1}, "schema", "/x", 'the key "x" is not allowed', "no such key"),
        (Level, "three", "constraint", "", None, 'one of 1, "two"'),
        (Literal["it's"], "its", "constraint", "", None, '"it\'s"'),
        (list[Gift], [{"qty": 1, "gift": 2}], "schema", "/0/gift", None, "a valid boolean"),
        (dict[str, int], {"a/b": "x"}, "schema", "/a~1b", None, "a valid integer"),
        (Gift | list[int], ["x"], "schema", None, None, None),
        (Node, {"name": "a", "items": [{"sku": 1}]}, "schema", "/items/0/sku", None, "a valid string"),
    ],
)
def test_says_where_what_was_expected_and_why(
    schema: Any, subject: object, code: str, pointer: str | None, message: str | None, expected: str | None
) -> None:
    diagnostic = matches(schema).evaluate(subject).diagnostic
    assert diagnostic.code == code
    if pointer is not None:
        assert diagnostic.pointer == pointer
    if message is not None:
        assert diagnostic.message == message
    if expected is not None:
        assert diagnostic.expected == {"$": "repr", "text": expected}


def test_at_most_eight_errors_are_kept() -> None:
    diagnostic = matches(list[int]).evaluate(["x"] * 100).diagnostic
    assert [child.pointer for child in diagnostic.children] == [f"/{index}" for index in range(8)]
    assert diagnostic.truncated


def test_validators_of_the_author() -> None:
    refused = matches(Picky).evaluate({"n": -1})
    assert (refused.outcome, refused.code, refused.diagnostic.message) == (
        "mismatched",
        "constraint",
        "must not be negative",
    )
    for match in (matches(Picky), ~matches(Picky)):
        broken = match.evaluate({"n": 0})
        assert broken.outcome == "errored"
        assert "KeyError" in str(broken.reason)
        assert "boom" in str(broken.diagnostic.traceback)
    assert matches(Faulty).evaluate({"n": 1}).outcome == "errored"


def test_what_is_yielded() -> None:
    produced = matches(Gift).evaluate({"qty": 1, "gift": True}).product
    assert produced == Gift(qty=1, gift=True)
    original = Gift(qty=1, gift=True)
    assert matches(Gift).evaluate(original).product is not original
    assert matches(Node).evaluate({"name": "a", "items": [{"sku": "b"}]}).product == Node("a", [Item("b")])


def test_absence_inside_is_unavailable() -> None:
    evaluation = matches(dict[str, str]).evaluate({"output": Absent("no result yet")})
    assert (evaluation.outcome, evaluation.reason) == ("unavailable", "no result yet")


@pytest.mark.parametrize("innermost", [0, b"x"])
def test_values_that_are_too_deep_are_errored(innermost: object) -> None:
    value: object = innermost
    for _ in range(3_000):
        value = [value]
    evaluation = matches(list[Any]).evaluate(value)
    assert (evaluation.outcome, evaluation.code) == ("errored", "depth")


def test_moderately_deep_values_are_decided() -> None:
    value: object = 0
    for _ in range(150):
        value = [value]
    assert outcome(list[Any], value) == "matched"


anything: Any = matches


class Unfinished(BaseModel):
    other: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: matches(Any), ValueError, "checks nothing"),
        (lambda: matches(object), ValueError, "checks nothing"),
        (lambda: matches(Any | None), ValueError, "checks nothing"),
        (lambda: anything(Gift(qty=1, gift=True)), TypeError, "give it a class"),
        (lambda: anything(5), TypeError, "or a type, got 5"),
        (lambda: anything(None), TypeError, "or a type, got None"),
        (lambda: anything([Gift]), TypeError, "or a type, got"),
        (lambda: anything(matches(int)), TypeError, "or a type, got matches"),
        (lambda: matches(Unfinished), TypeError, "not fully defined"),
        (lambda: anything(int, allow=["x"]), TypeError, "allow= with a JSON Schema only"),
        (lambda: anything(int, coerce="yes"), TypeError, "coerce must be True or False"),
    ],
)
def test_bad_arguments(call: Callable[[], object], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_a_type_is_named_in_the_spec_and_needs_its_code() -> None:
    spec = matches(Gift).spec()
    assert spec["type"]["name"] == "Gift"
    assert spec["json_schema"] == Gift.model_json_schema()
    with pytest.raises(ValueError, match=r"code that a spec can only name: .*Gift"):
        from_spec(json.loads(json.dumps(spec)))


def test_fingerprints_tell_types_apart() -> None:
    different: list[Any] = [Gift, list[Gift], Gift | None, Closed, Item, Line, Literal[1], Literal[True], Literal["1"]]
    assert len({matches(schema).fingerprint for schema in different}) == len(different)
    assert matches(list[Gift]) == matches(list[Gift])
    assert matches(Gift) != matches(Gift, coerce=True)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (Gift, "matches(Gift)"),
        (list[Gift], "matches(list[Gift])"),
        (Gift | None, "matches(Gift | None)"),
        (Literal["a", 1], "matches(Literal['a', 1])"),
        (dict[str, tuple[int, ...]], "matches(dict[str, tuple[int, ...]])"),
        (TypeAdapter(list[Gift]), "matches(TypeAdapter(list[Gift]))"),
    ],
)
def test_repr_reads_like_the_call(schema: Any, text: str) -> None:
    assert repr(matches(schema)) == text


def test_static_types() -> None:
    assert_type(matches(Gift), ParsingMatch[Gift])
    assert_type(matches(TypeAdapter(list[int])), ParsingMatch[list[int]])
    assert_type(matches({"type": "string"}), ValueMatch)


@attrs.frozen
class _Stored:
    size: int = 1


@dataclasses.dataclass
class _StoredToo:
    size: int = 1


class _StoredModel(BaseModel):
    size: int = 1


@pytest.mark.parametrize("good", [_Stored(2), _StoredToo(2), _StoredModel(size=2)])
@pytest.mark.parametrize("schema", [_Stored, _StoredToo, _StoredModel, dict[str, int], {"required": ["size"]}])
def test_a_stored_instance_is_decided_like_the_instance(good: Any, schema: Any) -> None:
    match = matches(schema)
    for subject in (good, [good], {"size": good}):
        assert match.evaluate(decode(encode(subject))).outcome == match.evaluate(subject).outcome
    assert match.evaluate(good).outcome == "matched"


def test_a_stored_instance_is_no_instance_by_what_was_stored_beside_it() -> None:
    bad = decode(encode(_StoredModel.model_construct(size="two")))
    assert matches(_StoredModel).evaluate(bad).outcome == "mismatched"


@pytest.mark.parametrize("schema", [int, float, {"type": "number"}])
def test_a_signalling_nan_satisfies_no_schema(schema: Any) -> None:
    assert matches(schema).evaluate(Decimal("sNaN")).code == "non-finite"
