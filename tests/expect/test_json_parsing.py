"""Parsing is the first assertion: what is JSON, what is not and why, and JSON in prose."""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import Absent, at, equals, from_spec, includes, json_match, json_text, matches, pattern, similarity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, true, null, "x"]}', {"a": [1, 2.5, True, None, "x"]}),
        (' \n\t{"a":1}\r\n ', {"a": 1}),
        ("5", 5),
        ('"text"', "text"),
        ("null", None),
        ("[]", []),
        ('"\\ud800"', "\ud800"),
        ("\"NaN, Infinity, 1e999, 'x',}\"", "NaN, Infinity, 1e999, 'x',}"),
        ("1" * 4_300, int("1" * 4_300)),
        ("-" + "1" * 4_300, -int("1" * 4_300)),
        ("1e308", 1e308),
        ('{"a": {"x": 1}, "b": {"x": 1}}', {"a": {"x": 1}, "b": {"x": 1}}),
    ],
)
def test_json_text_yields_the_parsed_value(text: str, value: Any) -> None:
    found = json_text().evaluate(text)
    assert found.outcome == "matched"
    assert type(found.product) is type(value)
    assert found.product == value


REFUSED = [
    ("", "blank", "empty"),
    ("  \n", "blank", "blank"),
    ("\u00a0", "blank", "blank"),
    ('\ufeff{"a":1}', "bom", "byte order mark"),
    ('{"a":1,"b":{"c":1,"c":2}}', "duplicate-key", "'c' appears twice"),
    ('{"p": NaN}', "not-finite", "NaN at character 6"),
    ("[-Infinity]", "not-finite", "-Infinity at character 1"),
    ('["NaN", Infinity]', "not-finite", "Infinity at character 8"),
    ('{"p": 1e999}', "number-range", "1e999 at character 6"),
    ("[1" + "1" * 4_300 + "]", "big-integer", "4,301 digits"),
    ('{"a":1,}', "trailing-comma", "comma at character 6"),
    ("[1, ]", "trailing-comma", "comma at character 2"),
    ("{'a': 1}", "single-quotes", "character 1"),
    ("['a']", "single-quotes", "character 1"),
    ('{"a":1}\n{"b":2}', "several-values", "character 8"),
    ("1 2", "several-values", "character 2"),
    ('{}""', "several-values", "character 2"),
    ('{"a":1} thanks', "trailing-text", "'thanks'"),
    ("[1]]", "trailing-text", "character 3"),
    ('{"a":"x\ny"}', "control-character", "character 7"),
    ('{"a":"\\q"}', "escape", "character 6"),
    ('{"a": True}', "syntax", "JSON writes true"),
    ("{a: 1}", "syntax", "character 1"),
    ('{"a" 1}', "syntax", "character 5"),
    ("[1 2]", "syntax", "character 3"),
    ("Sure: {}", "syntax", "embedded=True"),
    ("no", "syntax", "it starts with 'no'"),
    ("01", "several-values", "character 1"),
    ("[" * 501 + "]" * 501, "depth", "more than 500 levels"),
]
TRUNCATED = [
    ("[", "an array"),
    ('{"a"', "an object"),
    ('{"a":', "an object"),
    ('{"a": 1', "an object"),
    ('{"a": 1.', "an object"),
    ('{"a": 1e-', "an object"),
    ('{"a": -', "an object"),
    ('{"a": tru', "an object"),
    ('{"a": [1,', "an array"),
    ('{"a": "x', "a string"),
    ('{"a": "x\\', "a string"),
    ('{"a": "x\\u12', "a string"),
    ('{"status":"done","items":[{"id":1},{"id":2', "an object"),
    ('{"a":1,  ', "an object"),
]


@pytest.mark.parametrize(
    ("text", "code", "part"), REFUSED, ids=[f"{code}-{i}" for i, (_, code, _) in enumerate(REFUSED)]
)
def test_what_is_not_json_mismatches_with_its_own_reason(text: str, code: str, part: str) -> None:
    found = json_text().evaluate(text)
    assert (found.outcome, found.code) == ("mismatched", code)
    assert part in found.diagnostic.message
    assert found.product is None
    assert (~json_text()).evaluate(text).outcome == "matched"


@pytest.mark.parametrize(("text", "inside"), TRUNCATED)
def test_text_that_ends_too_early_says_where_and_inside_of_what(text: str, inside: str) -> None:
    found = json_text().evaluate(text)
    assert found.code == "truncated"
    assert found.diagnostic.message == f"input ended at character {len(text)} inside {inside}"


def test_nesting_is_read_to_the_limit_and_not_beyond() -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        for levels, code in ((499, "matched"), (501, "depth")):
            assert json_text().evaluate(opening * levels + "1" + closing * levels).code == code
    wide = json.dumps([{"a": [{}] * 3}] * 1_000)
    assert json_text().evaluate(wide).outcome == "matched"
    assert json_text().evaluate(json.dumps("[{" * 5_000)).outcome == "matched"


@pytest.mark.parametrize("limit", [0, 640, 100_000])
def test_the_limit_on_digits_does_not_depend_on_a_setting(limit: int) -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(limit)
    try:
        found = json_text().evaluate('{"n": ' + "7" * 5_000 + "}")
        assert (found.outcome, found.code) == ("mismatched", "big-integer")
        assert json_text().evaluate("7" * 600).outcome == "matched"
    finally:
        sys.set_int_max_str_digits(before)


@given(st.text(alphabet="{}[]\",:1e-.NaNtrue \\\n'", max_size=30))
def test_what_is_accepted_is_what_the_standard_library_accepts_less_what_is_named(text: str) -> None:
    found = json_text().evaluate(text)
    assert found.outcome in ("matched", "mismatched")
    try:
        json.loads(text)
    except ValueError:
        assert found.outcome == "mismatched"
    else:
        assert found.outcome == "matched" or found.code in ("duplicate-key", "not-finite", "number-range")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES, st.data())
def test_a_document_cut_short_never_matches(value: Any, data: st.DataObject) -> None:
    text = json.dumps({"whole": value})
    assert json_text(equals({"whole": value})).evaluate(text).outcome == "matched"
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert json_text().evaluate(cut).code == "truncated"
    for prose in (f"Here it is: {cut}", f"```json\n{cut}", f"Draft [1]. {cut}"):
        assert json_text(embedded=True).evaluate(prose).outcome == "mismatched"


@pytest.mark.parametrize(
    ("text", "value", "part"),
    [
        ('{"note":"```json\\n{\\"x\\":1}\\n```"}', {"note": '```json\n{"x":1}\n```'}, ""),
        ("5", 5, ""),
        ('```bash\necho {}\n```\n\n```json\n{"steps":2}\n```', {"steps": 2}, "block labelled json"),
        ('````json\n{"note":"a ``` b"}\n````', {"note": "a ``` b"}, "block labelled json"),
        ('```json\n{"note":"a ``` b"}\n```', {"note": "a ``` b"}, "block labelled json"),
        ('~~~json\n{"a":1}\n~~~', {"a": 1}, "block labelled json"),
        ('~~~json\n{"a":"```"}\n```\n~~~', None, "trailing-text"),
        ('```JSON\r\n{"a":1}\r\n```\r\n', {"a": 1}, "block labelled json"),
        ('```json\n{"a":1}```\nBye', {"a": 1}, "block labelled json"),
        ('```json\n{"a":1}', {"a": 1}, "block labelled json"),
        ('```json\n[1]\n```\nnot {"a":1}', [1], "block labelled json"),
        ('```\n{"a":1}\n```', {"a": 1}, "the only JSON object"),
        ('```javascript\n{"a":1}\n```', {"a": 1}, "the only JSON object"),
        ('```bash\necho {}\n```\nDone: {"a":1}', {"a": 1}, "at character 26"),
        ('Sure: ```json\n{"a":1}\n```', {"a": 1}, "the only JSON object"),
        ('Draft {skip this}. Answer: {"city":"Oslo","hint":"use } or {"}.', {"city": "Oslo", "hint": "use } or {"}, ""),
        ('As in [1], the result is {"a":[2]} (see [2]).', {"a": [2]}, "the only JSON object"),
        ("The ids are [1, 2].", [1, 2], "the only JSON array"),
        ('List: [{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}], "the only JSON array"),
        ('[link](https://x) and {"a":1}', {"a": 1}, ""),
        ('He said "{not json}" and {"a":"\\"}"}', {"a": '"}'}, ""),
        ('Use {{"a":1}}.', {"a": 1}, ""),
        ('{"a":1,} is wrong, {"b":2} is right', {"b": 2}, ""),
    ],
)
def test_one_value_is_found_in_prose_and_the_evidence_says_which(text: str, value: Any, part: str) -> None:
    found = json_text(embedded=True).evaluate(text)
    if value is None:
        assert (found.outcome, found.code) == ("mismatched", part)
        return
    assert found.outcome == "matched"
    assert found.product == value
    assert part in found.diagnostic.message


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("Nothing here.", "no-json", "no JSON"),
        ("Dear {name}, see [this].", "no-json", "no JSON"),
        ("", "blank", "empty"),
        ('\ufeff{"a":1}', "bom", "byte order mark"),
        ("```json\n\n```", "blank", "block labelled json"),
        ('```json\n{"a":1}\n{"b":2}\n```', "several-values", "character 16"),
        ('```json\n{"a":1,}\n```\n{"a":1}', "trailing-comma", "character 14"),
        ('Sure: {"p": NaN}', "not-finite", "character 12"),
        ('Sure: {"a":{"b":1},"a":2}', "duplicate-key", "'a' appears twice"),
        ('Sure: {"a": 1, oops, "b": {"c": 1}}', "syntax", "character 15"),
        ('Sure: {"a": [1, 2} and {"b": 1}', "syntax", "character 17"),
        ('Sure: {"a": {"b": 1}, "c": ', "truncated", "character 27 inside an object"),
        ('{"a":1} and then {"b":', "truncated", "inside an object"),
        ('{"a":1} and then {', "truncated", "character 18 inside an object"),
        ("As in [1]: [", "truncated", "character 12 inside an array"),
        ('```json\n{"status":"done","items":[{"id":1},{"id":2', "truncated", "character 50 inside an object"),
        ('{"a":1}\n{"b":2}', "ambiguous", "2 JSON objects"),
        ("[1] and [2]", "ambiguous", "2 JSON arrays"),
        ('```json\n{"a":1}\n```\n```json\n{"a":1}\n```', "ambiguous", "2 JSON blocks"),
        ("x" + '{"a":' * 501 + "1" + "}" * 501, "depth", "more than 500 levels"),
    ],
)
def test_prose_without_exactly_one_value_mismatches_with_its_reason(text: str, code: str, part: str) -> None:
    found = json_text(embedded=True).evaluate(text)
    assert (found.outcome, found.code) == ("mismatched", code)
    assert part in found.diagnostic.message


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ('Draft {skip}. {"city":"Oslo"} (shape: {"type":"object"})', {"city": "Oslo"}, {"type": "object"}),
        ('{"a":1}\n{"a":2}\n{"a":3}', {"a": 1}, {"a": 3}),
        ('```json\n{"a":1}\n```\n```json\n{"a":2}\n```', {"a": 1}, {"a": 2}),
        ("[1] [2]", [1], [2]),
    ],
)
def test_pick_chooses_among_several(text: str, first: Any, last: Any) -> None:
    for pick, match, value in (
        ("first", json_text(embedded=True, pick="first"), first),
        ("last", json_text(embedded=True, pick="last"), last),
    ):
        found = match.evaluate(text)
        assert (found.outcome, found.product) == ("matched", value)
        assert pick in found.diagnostic.message


def test_a_truncated_document_is_never_picked_over() -> None:
    text = '{"a":1} and then {"b": {"c":2},'
    assert json_text(embedded=True, pick="first").evaluate(text).product == {"a": 1}
    assert json_text(embedded=True, pick="last").evaluate(text).code == "truncated"


def test_a_truncated_answer_never_satisfies_a_schema_by_a_fragment() -> None:
    reply = '```json\n{"status":"done","items":[{"id":1},{"id":2'
    schema = matches({"type": "object", "required": ["id"]})
    assert json_text(schema, embedded=True).evaluate(reply).outcome == "mismatched"


HOSTILE = {
    "braces": "{" * 200_000,
    "brackets": "[" * 200_000,
    "open objects": '{"a":' * 200_000,
    "open arrays": "[1," * 200_000,
    "quotes": '{"' * 200_000,
    "escapes": '{"\\' * 200_000,
    "spaces": "[" + " " * 1_000_000,
    "prose": "word {x} [y] " * 400_000,
    "ticks": "`" * 1_000_000 + "\n" + "``` " * 100_000,
    "one long string": '["' + '\\"' * 1_000_000,
    "mixed": '[1 "[1 ' * 100_000,
}


@pytest.fixture
def cpu_seconds() -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < 2


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
@pytest.mark.usefixtures("cpu_seconds")
def test_hostile_input_is_refused_quickly(text: str, embedded: bool) -> None:
    assert json_text(embedded=embedded).evaluate(text).outcome == "mismatched"


@pytest.mark.parametrize(
    ("subject", "part"),
    [
        ({"a": 1}, "parsed already"),
        ([1], "parsed already"),
        (b"{}", "needs text"),
        (5, "needs text"),
        (None, "needs text"),
    ],
)
def test_something_else_than_text_is_a_type_mismatch_in_both_polarities(subject: Any, part: str) -> None:
    for match in (json_text(), ~json_text(), json_text(embedded=True)):
        found = match.evaluate(subject)
        assert (found.outcome, found.code) == ("mismatched", "type")
    assert part in json_text().evaluate(subject).diagnostic.message
    assert json_text().evaluate(Absent("the turn failed")).outcome == "unavailable"


def test_what_is_asked_of_the_value_is_reported_at_its_place_in_it() -> None:
    number = json_text(at("order_number", pattern(r"ORD-\d{6}", full=True, ascii=True)))
    assert number.evaluate('{"order_number": "ORD-448192"}').outcome == "matched"
    found = number.evaluate('{"order_number": "ORD-44819"}')
    assert (found.outcome, found.diagnostic.pointer) == ("mismatched", "/order_number")
    assert json_text(at("a", includes("x"))).evaluate('{"a": 1}').code == "type"
    assert (~json_text(at("a", includes("x")))).evaluate('{"a": 1}').outcome == "mismatched"


def test_an_inner_match_that_yields_a_value_is_yielded_on() -> None:
    first, again = (json_text().evaluate("[1, 2]") for _ in range(2))
    assert first.product == again.product == [1, 2]
    assert len({id(value) for value in [first.product, first.product, again.product]}) == 3
    assert json_text(matches(list[int])).evaluate("[1, 2]").product == [1, 2]
    assert json_text(json_match({"a": 1})).evaluate('{"a": 1, "b": 2}').product == {"a": 1, "b": 2}
    assert json_text(json_text()).evaluate('"[1]"').product == [1]
    assert json_text(equals(2)).evaluate("1").product is None


@pytest.mark.parametrize(
    ("arguments", "options", "error", "part"),
    [
        ((similarity("x"),), {}, TypeError, "similarity"),
        ((), {"embedded": 1}, TypeError, "embedded=True"),
        ((), {"pick": "first"}, ValueError, "embedded=True"),
        ((), {"embedded": True, "pick": "middle"}, ValueError, "'middle'"),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments: Any, options: Any, error: type[Exception], part: str) -> None:
    with pytest.raises(error, match="json_text") as caught:
        json_text(*arguments, **options)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (json_text(), "json_text()"),
        (json_text(at("a", 1)), "json_text(at('a', 1))"),
        (json_text(embedded=True, pick="last"), "json_text(embedded=True, pick='last')"),
        (json_text(equals(None)), "json_text(equals(None))"),
    ],
)
def test_json_text_reads_like_its_call_and_is_data(match: Any, text: str) -> None:
    assert repr(match) == text
    assert from_spec(match.spec()) == match
