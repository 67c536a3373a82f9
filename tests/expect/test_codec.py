import dataclasses
import datetime as dt
import enum
import json
import math
import re
import threading
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect._codec import Note, Opaque, Snapshot, decode, dumps, encode, plain_object
from niceeval_expect._codec_types import MAX_DEPTH
from niceeval_expect._evaluation import Absent, AbsentText


def stored(value: Any) -> Any:
    """Encode, write, read, decode; the text is ASCII, and encoding what was read gives the same text."""
    text = dumps(encode(value))
    assert text.isascii()
    assert "NaN" not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    read = decode(json.loads(text))
    assert dumps(encode(read)) == text
    return read


def same(a: Any, b: Any) -> bool:
    """Equal in type and value at every depth, with NaN equal to NaN and 0.0 unlike -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, Decimal):
        return str(a) == str(b)
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a.items(), b.items(), strict=True))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, set | frozenset):
        return sorted(dumps(encode(x)) for x in a) == sorted(dumps(encode(x)) for x in b)
    if isinstance(a, dt.datetime | dt.time):
        return bool(
            a.replace(tzinfo=None) == b.replace(tzinfo=None) and a.utcoffset() == b.utcoffset() and a.fold == b.fold
        )
    return bool(a == b)


any_text = st.text(st.characters(), max_size=8) | st.text(st.sampled_from('a"$\ud83d\ude00\udfff\n\0😀'), max_size=6)
zones = st.none() | st.timezones() | st.just(dt.timezone(dt.timedelta(hours=-3, minutes=7, seconds=1)))
hashable = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | any_text
    | st.binary(max_size=9)
    | st.decimals()
    | st.fractions()
    | st.complex_numbers()
    | st.datetimes(timezones=zones)
    | st.dates()
    | st.times(timezones=zones)
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from([Path("a/b"), Path("/x/\udcff"), PurePosixPath("c"), PureWindowsPath("C:\\d")])
    | st.integers(590, 5_000).map(lambda n: -(10**n))
    | st.sampled_from([2**64, -0.0, Absent("never came"), Opaque("x.Y", "<Y>")])
)
keys = hashable.filter(lambda key: not key.is_nan() if isinstance(key, Decimal) else key == key)
values = st.recursive(
    hashable | st.binary(max_size=5).map(bytearray),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(any_text, inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=3)
        | st.sets(keys, max_size=3)
        | st.frozensets(keys, max_size=3)
        | st.tuples(keys, st.frozensets(keys, max_size=2)).map(lambda key: {key: 1})
    ),
    max_leaves=12,
)


@given(values)
def test_a_round_trip_keeps_type_and_value(value: Any) -> None:
    assert same(stored(value), value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | any_text, lambda x: st.lists(x) | st.dictionaries(any_text, x)
    )
)
def test_json_values_without_oddities_are_written_as_the_standard_library_does(value: Any) -> None:
    tree = encode(value)
    if tree is value:
        assert json.loads(dumps(tree)) == value
        assert dumps(tree) == json.dumps(value, separators=(",", ":"))
    else:
        assert '{"$":' in dumps(tree)


class Color(enum.Enum):
    RED = 3


class Status(enum.StrEnum):
    OPEN = "open"


class Level(enum.IntEnum):
    HIGH = 9


class Text(str):
    def __str__(self) -> str:
        return "something else"


Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Item:
    name: str
    price: Decimal
    tags: frozenset[str] = frozenset()
    color: Color = Color.RED


@attrs.frozen
class Box:
    items: tuple[Any, ...]
    when: Any = None


class Order(pydantic.BaseModel):
    number: str
    when: dt.datetime
    total: Decimal
    extra: Any = None


WHEN = dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        (float("nan"), {"$": "float", "value": "nan"}),
        (float("-inf"), {"$": "float", "value": "-inf"}),
        (-0.0, -0.0),
        ((1, [2]), {"$": "tuple", "items": [1, [2]]}),
        ({3, 1, 2}, {"$": "set", "items": [1, 2, 3]}),
        ({"$": 1}, {"$": "dict", "items": [["$", 1]]}),
        ({1: "a", "1": "b"}, {"$": "dict", "items": [[1, "a"], ["1", "b"]]}),
        (b"\xff", {"$": "bytes", "b64": "/w=="}),
        ("a\ud83d\ude00b", {"$": "str", "parts": ["a", 0xD83D, 0xDE00, "b"]}),
        (10**600, {"$": "int", "hex": hex(10**600)}),
        (10**599, 10**599),
        (Decimal("1.50"), {"$": "decimal", "value": "1.50"}),
        (Absent("late"), {"$": "absent", "reason": "late"}),
        (AbsentText("late"), {"$": "absent", "reason": "late"}),
        (re.compile("a+", re.I), {"$": "regex", "pattern": "a+", "flags": int(re.I | re.U)}),
    ],
    ids=repr,
)
def test_a_tag_says_what_json_cannot(value: Any, tree: Any) -> None:
    assert repr(encode(value)) == repr(tree)


def test_a_plain_tree_is_returned_as_it_is() -> None:
    tree = {"b": [1, 2.5, None, True], "a": {"é": "ü😀"}}
    assert encode(tree) is tree
    assert decode(tree) is tree
    assert list(json.loads(dumps(tree))) == ["b", "a"]


@pytest.mark.parametrize("text", ["\ud83d\ude00", "\ud83d", "x\udfffy"])
def test_two_halves_of_a_surrogate_pair_stay_two_code_points(text: str) -> None:
    assert stored(text) == text
    assert stored({text: [text]}) == {text: [text]}
    assert stored("😀") == "😀"


@pytest.mark.parametrize(
    ("value", "base", "reads_as"),
    [
        (Status.OPEN, str, "open"),
        (Level.HIGH, int, 9),
        (Text("kept"), str, "kept"),
        (OrderedDict(b=1, a=(2,)), dict, {"b": 1, "a": (2,)}),
        (Point(1, "y"), tuple, (1, "y")),
        (MappingProxyType({"a": 1}), dict, {"a": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_instance_of_a_subclass_is_still_an_instance_of_the_builtin(value: Any, base: type, reads_as: Any) -> None:
    read = stored([value])[0]
    assert isinstance(read, base)
    assert read == reads_as
    assert type(value).__qualname__ in dumps(encode(value))


def test_a_plain_enum_does_not_become_a_number() -> None:
    read = stored(Color.RED)
    assert isinstance(read, Snapshot)
    assert not isinstance(read, int | Mapping)
    assert (read.kind, read.value) == ("enum", 3)
    assert read.type.endswith("Color")


@pytest.mark.parametrize(
    ("value", "kind", "reads_as"),
    [
        (Item("a", Decimal("1.50"), frozenset("ba")), "dataclass", {"name": "a", "price": "1.50", "tags": ["a", "b"], "color": 3}),
        (Box((1, {"k": (2,)}), WHEN), "attrs", {"items": [1, {"k": [2]}], "when": "2026-01-02T03:04:00Z"}),
        (Box((Item("a", Decimal(1)),)), "attrs", {"items": [{"name": "a", "price": "1", "tags": [], "color": 3}], "when": None}),
        (Box((b"\xff",)), "attrs", {"items": [b"\xff"], "when": None}),
        (Box((dt.timedelta(days=1), Path("/a"), UUID(int=1), Fraction(1, 3))), "attrs",
         {"items": ["P1D", "/a", "00000000-0000-0000-0000-000000000001", "1/3"], "when": None}),
        (Box(({1: "b", Color.RED: 2},)), "attrs", {"items": [{"1": "b", "3": 2}], "when": None}),
        (Order(number="A", when=WHEN, total=Decimal("2.0")), "pydantic",
         {"number": "A", "when": "2026-01-02T03:04:00Z", "total": "2.0", "extra": None}),
        (Order(number="A", when=WHEN, total=Decimal(2), extra=b"\xff"), "pydantic",
         {"number": "A", "when": "2026-01-02T03:04:00Z", "total": "2", "extra": b"\xff"}),
    ],
)  # fmt: skip
def test_objects_read_as_their_json_mode_dicts_before_and_after_storage(value: Any, kind: str, reads_as: Any) -> None:
    read = stored(value)
    assert (read.kind, read.type) == (kind, f"{type(value).__module__}.{type(value).__qualname__}")
    assert isinstance(read, Mapping)
    assert dict(read) == reads_as == plain_object(value) == plain_object(read)


def test_the_root_model_of_a_list_is_a_list() -> None:
    model = pydantic.RootModel[list[int]]([1, 2])
    assert plain_object(model) == [1, 2] == stored(model).value


@pytest.mark.parametrize("value", [1, "a", None, {"a": 1}, Item, Absent("x"), Color.RED, ValueError("x")], ids=repr)
def test_anything_else_is_not_an_object(value: Any) -> None:
    assert plain_object(value) is None


def test_a_model_with_unchecked_content_is_still_read() -> None:
    order = Order.model_construct(number=5, when="later", total=object)
    assert plain_object(order)["number"] == 5


def test_lists_and_dicts_around_themselves_are_rebuilt() -> None:
    ring: list[Any] = [1]
    ring.append({"back": ring, "t": (ring,)})
    read = decode(json.loads(dumps(encode(ring))))
    assert read[1]["back"] is read
    assert read[1]["t"][0] is read
    assert dumps(encode(read)) == dumps(encode(ring))


def test_a_value_used_twice_is_not_a_cycle() -> None:
    part: list[Any] = [(1,)]
    assert stored([part, part]) == [[(1,)], [(1,)]]


def test_a_cycle_through_a_tuple_or_an_object_says_what_it_became() -> None:
    inner: list[Any] = []
    outer = (inner,)
    inner.append(outer)
    notes: list[Note] = []
    tree = encode(outer, notes=notes)
    assert [note.kind for note in notes] == ["cycle"]
    assert decode(tree) == ([Opaque("cycle", "the value at ''")],)
    looped = Box(())
    object.__setattr__(looped, "items", (looped,))
    assert stored(looped)["items"] == [f"[cycle: {__name__}.Box]"]


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 3_000, 100_000])
@pytest.mark.parametrize(
    "wrap", [lambda x: [x], lambda x: {"k": x}, lambda x: (x,), lambda x: {1: x}, lambda x: Box((x,))]
)
def test_nesting_without_end_is_cut_and_told(depth: int, wrap: Any) -> None:
    value: Any = "core"
    for _ in range(depth):
        value = wrap(value)
    notes: list[Note] = []
    text = dumps(encode(value, notes=notes))
    assert [note.kind for note in notes] == ["deep"]
    assert '{"$":"deep"}' in text
    decode(json.loads(text))
    while isinstance(value, list | dict | tuple | Box):
        # Taken apart one by one: the interpreter itself would recurse to free a deep object.
        value = (
            value.items[0]
            if isinstance(value, Box)
            else next(iter(value.values() if isinstance(value, dict) else value))
        )


def test_the_deepest_level_that_is_kept_survives() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = (value,)
    assert stored(value) == value


class Strange:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Broken(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise OSError("gone")

    def __iter__(self) -> Any:
        return iter("ab")

    def __len__(self) -> int:
        return 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (object(), "<object object at 0x…>"),
        (threading.Lock(), "<unlocked _thread.lock object at 0x…>"),
        (Strange(), f"<{__name__}.Strange>"),
        (iter([]), "<list_iterator object at 0x…>"),
        (Item, f"<class '{__name__}.Item'>"),
        (Broken(), f"<{__name__}.Broken object at 0x…>"),
    ],
)
def test_an_unknown_type_is_opaque_and_named(value: Any, text: str) -> None:
    notes: list[Note] = []
    read = decode(json.loads(dumps(encode({"a/b": [1, (value, 2)]}, notes=notes))))
    assert [(note.kind, note.pointer) for note in notes] == [("opaque", "/a~1b/1/0")]
    assert read == {"a/b": [1, (Opaque(notes[0].type, text), 2)]}


def test_a_long_repr_is_cut() -> None:
    assert len(decode(encode(type("T", (), {"__repr__": lambda self: "x" * 999})())).repr) <= 200


def test_an_exception_keeps_message_and_traceback() -> None:
    def boom() -> None:
        raise KeyError("lost \ud83d")

    with pytest.raises(KeyError) as caught:
        boom()
    notes: list[Note] = []
    text = dumps(encode(caught.value, notes=notes))
    read = stored(caught.value)
    assert [note.kind for note in notes] == ["exception"]
    assert (read.kind, read.type, text.isascii()) == ("exception", "KeyError", True)
    assert "in boom" in read["traceback"]


def test_a_registered_function_decides_what_is_kept() -> None:
    def snapshots(value: Any) -> Any:
        return {"id": (7,)} if isinstance(value, threading.Event) else NotImplemented

    notes: list[Note] = []
    read = decode(
        json.loads(dumps(encode([threading.Event(), Item("a", Decimal(1))], snapshots=snapshots, notes=notes)))
    )
    assert (read[0].kind, read[0].type, dict(read[0])) == ("snapshot", "threading.Event", {"id": (7,)})
    assert read[1].kind == "dataclass"
    assert [note.kind for note in notes] == ["snapshot"]


def test_a_registered_function_that_breaks_leaves_an_opaque_value() -> None:
    def snapshots(value: Any) -> Any:
        raise OSError("gone")

    notes: list[Note] = []
    assert isinstance(decode(encode((object(), 1), snapshots=snapshots, notes=notes))[0], Opaque)
    assert "OSError" in notes[0].detail


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "from a later version", "value": [1]},
        {"$": "decimal", "value": "[redacted:X]"},
        {"$": "bytes", "b64": "%%"},
        {"$": "regex", "pattern": "(", "flags": 0},
        {"$": "datetime"},
        {"$": "cycle", "up": "x", "pointer": ""},
        {"$": ["unhashable"]},
    ],
    ids=str,
)
def test_a_tag_that_cannot_be_read_is_kept_as_it_is(tree: Any) -> None:
    read = decode([1, (tree)])
    assert read[0] == 1
    assert isinstance(read[1], Snapshot)
    assert read[1].kind == str(tree["$"])


def test_a_zone_keeps_its_name() -> None:
    value = dt.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)
    read = stored(value)
    assert read.tzinfo.key == "Europe/Berlin"
    assert read.utcoffset() == dt.timedelta(hours=1)
