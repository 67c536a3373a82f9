"""`load_cases`: formats, validation, and the sentences of bad rows."""

import codecs
import csv
import datetime
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydantic
import pytest
from typing_extensions import TypedDict

from niceeval.errors import EvalLoadError
from niceeval.evals.cases import CaseSource
from niceeval.evals.datasets import load_cases
from niceeval.evals.define import define_eval

untyped_load: Any = load_cases  # what type checkers refuse is refused at run time too


class Order(pydantic.BaseModel):
    id: str
    total_cents: int
    due: datetime.date | None = None
    gift: bool = False


class Row(TypedDict):
    id: str


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


ORDERS = [Order(id="a", total_cents=1), Order(id="b", total_cents=2, due=datetime.date(2026, 1, 2))]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.jsonl", '{"id":"a","total_cents":1}\n\n{"id":"b","total_cents":2,"due":"2026-01-02"}\n'),
        ("c.ndjson", '{"id":"a","total_cents":1}\r\n{"id":"b","total_cents":2,"due":"2026-01-02"}'),
        ("C.JSON", '[{"id":"a","total_cents":1},{"id":"b","total_cents":2,"due":"2026-01-02"}]'),
        ("c.json", '{"x":{"id":"a","total_cents":1},"y":{"id":"b","total_cents":2,"due":"2026-01-02"}}'),
        ("c.yaml", "- id: a\n  total_cents: 1\n- {id: b, total_cents: 2, due: 2026-01-02}\n"),
        ("c.yml", "x:\n  id: a\n  total_cents: 1\ny: {id: b, total_cents: 2, due: 2026-01-02}\n"),
        ("c.csv", "id,total_cents,due,gift\r\na,1,0,false\r\nb,2,2026-01-02,no\r\n".replace(",0,", ",1970-01-01,")),
    ],
)
@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
def test_every_format_gives_the_same_validated_cases(tmp_path: Path, name: str, text: str, bom: bytes) -> None:
    cases = load_cases(written(tmp_path, name, bom + text.encode()), Order)
    if name == "c.csv":
        cases[0].due = None
    assert cases == ORDERS


@pytest.mark.parametrize("name", ["c.json", "c.yaml"])
def test_ids_given_by_the_file_become_case_ids_also_after_slicing(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, '{"first": {"q": "x"}, "second": {"q": "y"}, "third": {"q": "z"}}')

    @define_eval(cases=load_cases(path)[1:])
    async def asks(t: object, case: dict[str, Any]) -> None: ...

    assert asks.iter_cases() == [("second", {"q": "y"}), ("third", {"q": "z"})]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.jsonl", '{"id":"a","total":1}\n{"total":2}\n{"id":"c","total":3}\n'),
        ("c.json", '[{"id":"a","total":1},{"id":null,"total":2},{"id":"c","total":3}]'),
        ("c.yaml", "- {id: a, total: 1}\n- {total: 2}\n- {id: c, total: 3}\n"),
    ],
)
def test_the_id_of_a_row_is_the_case_id_also_where_its_type_has_none(tmp_path: Path, name: str, text: str) -> None:
    class Total(pydantic.BaseModel):
        total: int

    loaded = load_cases(written(tmp_path, name, text), Total)
    assert [case_id for case_id, _ in CaseSource(loaded).pairs()] == ["a", "1", "c"]
    loaded.reverse()
    assert [(case_id, case.total) for case_id, case in _totals(loaded)] == [("c", 3), ("1", 2), ("a", 1)]
    del loaded[0]
    loaded.append(Total(total=9))
    assert [(case_id, case.total) for case_id, case in _totals(loaded[1:])] == [("a", 1), ("1", 9)]


def _totals(cases: Any) -> Any:
    return CaseSource(cases).pairs()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "c.jsonl",
            '{"id":"a","total_cents":1}\n{"id":"b","total_cents":"2"}',
            r"c\.jsonl:2: field 'total_cents': .*got '2'",
        ),
        ("c.jsonl", '{"id":"a","total_cents":1}\n\n{"id":"b"}', r"c\.jsonl:3: field 'total_cents': field required$"),
        ("c.jsonl", '{"id":"a","total_cents":1,"gift":1}', r"c\.jsonl:1: field 'gift': .*got 1"),
        ("c.jsonl", '{"id":"a"}\n{"id": ', r"c\.jsonl:2: .*not JSON.*column"),
        ("c.jsonl", "[1]", r"c\.jsonl:1: .*got \[1\]"),
        ("c.json", '[{"id":"a","total_cents":1},{"id":"b","total_cents":2.5}]', r"c\.json: row 2: field 'total_cents'"),
        ("c.json", '{"x":{"id":"a","total_cents":null}}', r"c\.json: row 'x': field 'total_cents'"),
        ("c.json", '[\n{"id":"a",}]', r"c\.json:2: not JSON"),
        ("c.json", '[{"id":"a","total_cents":NaN}]', "NaN is not JSON"),
        ("c.json", '[{"id":"a","id":"b"}]', "the key 'id' is written twice"),
        ("c.json", '{"x":{"id":"a"},"x":{"id":"b"}}', "the key 'x' is written twice"),
        ("c.json", "3", "holds int; write a list of rows"),
        ("c.json", "[" * 100_000, "nested too deeply"),
        ("c.yaml", "- id: a\n  total_cents: 1\n- id: b\n  total_cents: '2'\n", r"c\.yaml:3: field 'total_cents'"),
        ("c.yaml", "x: {id: a}\nx: {id: b}", r"c\.yaml:2: the key 'x' is written twice"),
        ("c.yaml", "- {id: a\n- b", r"c\.yaml:2: not YAML"),
        ("c.yaml", "text", "write a list of rows"),
        ("c.csv", "id,total_cents\na,1\n\nb,x\n", r"c\.csv:4: field 'total_cents': .*got 'x'"),
        ("c.csv", 'id,total_cents\n"a\nb",1\nc,\n', r"c\.csv:4: field 'total_cents': .*got ''"),
        ("c.csv", "id,total_cents\na,1,2\n", r"c\.csv:2: the row has 3 cells, the header 2"),
        ("c.csv", "id,id\na,1\n", r"c\.csv:1: the header names the column 'id' twice"),
        ("c.csv", 'id,total_cents\na,"1\n', r"c\.csv:2: the row is not CSV"),
        ("c.jsonl", "", "nothing to check"),
        ("c.jsonl", "\n\n", "nothing to check"),
        ("c.json", "[]", "nothing to check"),
        ("c.json", "", "nothing to check"),
        ("c.yaml", "", "nothing to check"),
        ("c.csv", "id,total_cents\n", "nothing to check"),
        ("c.csv", "", "nothing to check"),
        ("c.jsonl", b'{"id":"\xe9"}', "not UTF-8 text .byte 0xe9 at position 7."),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_naming_place_and_value(
    tmp_path: Path, name: str, text: str | bytes, says: str
) -> None:
    with pytest.raises(EvalLoadError, match=says):
        load_cases(written(tmp_path, name, text), Order)


def test_without_a_type_rows_are_dicts_and_empty_csv_cells_empty_texts(tmp_path: Path) -> None:
    assert load_cases(written(tmp_path, "c.csv", "id,note\n1,\n")) == [{"id": "1", "note": ""}]
    assert load_cases(written(tmp_path, "c.jsonl", '{"id":"\\ud83d"}\n')) == [{"id": "\ud83d"}]
    with pytest.raises(EvalLoadError, match=r"c\.json: row 1: the row is 1, not an object"):
        load_cases(written(tmp_path, "c.json", "[1]"))


def test_line_separators_inside_json_texts_do_not_split_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "c.jsonl", '{"id":"a\u2028b\u0085c"}\n{"id":"d"}\n')
    assert load_cases(path) == [{"id": "a\u2028b\u0085c"}, {"id": "d"}]


def test_a_long_csv_cell_is_read_and_the_limit_of_the_process_is_left_alone(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    [case] = load_cases(written(tmp_path, "c.csv", "answer\n" + "x" * 200_000 + "\n"))
    assert len(case["answer"]) == 200_000
    assert csv.field_size_limit() == limit


def test_many_bad_fields_are_counted_not_listed(tmp_path: Path) -> None:
    class Wide(pydantic.BaseModel):
        a: int
        b: int
        c: int
        d: int
        e: int

    with pytest.raises(EvalLoadError, match=r"field 'c': field required \(2 more\)$"):
        load_cases(written(tmp_path, "c.jsonl", "{}"), Wide)


def test_paths_are_relative_to_the_file_that_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "evals"
    folder.mkdir()
    written(folder, "cases.jsonl", '{"id":"a"}')
    script = written(
        folder, "use.py", "from niceeval.evals.datasets import load_cases\ncases = load_cases('cases.jsonl')\n"
    )
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    exec(compile(script.read_text(), str(script), "exec"), namespace)
    assert namespace["cases"] == [{"id": "a"}]

    written(tmp_path, "elsewhere.jsonl", '{"id":"a"}')
    with pytest.raises(
        EvalLoadError, match=r"tried .*elsewhere\.jsonl; elsewhere\.jsonl exists, but paths are relative"
    ):
        exec(compile("load_cases('elsewhere.jsonl')", str(script), "exec"), namespace)
    with pytest.raises(EvalLoadError, match=r"found no file: tried .*evals.*typo\.jsonl; paths are relative"):
        exec(compile("load_cases('typo.jsonl')", str(script), "exec"), namespace)


def test_an_unknown_ending_and_an_unusable_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in one of \.jsonl, \.ndjson"):
        load_cases("cases.txt")
    with pytest.raises(TypeError, match="cannot be validated"):
        untyped_load(written(tmp_path, "c.jsonl", '{"id":"a"}'), object.__new__)


def test_a_typed_dict_is_a_type_like_any_other(tmp_path: Path) -> None:
    assert load_cases(written(tmp_path, "c.jsonl", '{"id":"a"}'), Row) == [{"id": "a"}]


def test_reading_dicts_needs_neither_pydantic_nor_yaml(tmp_path: Path) -> None:
    path = written(tmp_path, "c.jsonl", '{"id":"a"}')
    code = (
        "import sys; from niceeval.evals.datasets import load_cases; "
        f"load_cases({str(path)!r}); assert not {{'pydantic', 'yaml'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
