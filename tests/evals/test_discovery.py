"""From paths to evals: files, ids, helpers beside them, and everything that can be wrong with them."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from niceeval.evals.discovery import Discovery, discover

HEAD = "from niceeval.evals.define import define_eval, define_score_eval, defineEval\n"
GREETS = HEAD + "@define_eval\nasync def greets(t): ...\n"

Tree = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    monkeypatch.chdir(tmp_path)
    return write


def ids(found: Discovery) -> list[str]:
    assert found.problems == ()
    return [each.id for each in found.evals]


def problems(found: Discovery) -> list[str]:
    return [str(problem) for problem in found.problems]


def test_a_folder_gives_its_eval_files_at_every_depth_and_nothing_else(tree: Tree) -> None:
    tree(
        {
            "evals/eval_orders.py": GREETS,
            "evals/shop/refunds_eval.py": GREETS,
            "evals/shop/deep/eval_x_eval.py": GREETS,
            "evals/helpers.py": "raise RuntimeError('not an eval file')",
            "evals/evaluate.py": "raise RuntimeError('not an eval file')",
            "evals/eval_notes.txt": "",
            "evals/.hidden/eval_a.py": "raise RuntimeError",
            "evals/.venv/eval_a.py": "raise RuntimeError",
            "evals/env/pyvenv.cfg": "",
            "evals/env/eval_a.py": "raise RuntimeError",
            "evals/__pycache__/eval_a.py": "raise RuntimeError",
        }
    )
    assert ids(discover(["evals"])) == ["orders/greets", "shop/deep/x/greets", "shop/refunds/greets"]


def test_an_explicit_file_is_always_taken_and_its_name_is_the_path(tree: Tree) -> None:
    tree({"evals/orders.py": GREETS, "evals/eval_more.py": GREETS})
    assert ids(discover(["evals/orders.py", "evals/eval_more.py"])) == ["orders/greets", "more/greets"]


def test_a_file_found_twice_is_read_once(tree: Tree) -> None:
    root = tree({"evals/eval_orders.py": GREETS})
    paths: list[str | Path] = ["evals", "evals/eval_orders.py", root / "evals" / ".." / "evals"]
    assert ids(discover(paths)) == ["orders/greets"]


def test_folders_that_link_to_each_other_are_walked_once(tree: Tree) -> None:
    root = tree({"evals/eval_orders.py": GREETS})
    os.symlink(root / "evals", root / "evals" / "again", target_is_directory=True)
    assert ids(discover(["evals"])) == ["orders/greets"]


def test_names_that_hold_an_eval_or_a_dict_or_list_of_evals_are_collected(tree: Tree) -> None:
    tree(
        {
            "orders.py": HEAD
            + "async def t1(t): ...\n"
            + "async def t2(t): ...\n"
            + "@define_eval\nasync def decorated(t): ...\n"
            + "assigned = define_eval(t1)\n"
            + "@defineEval(id='given name')\nasync def replaced(t): ...\n"
            + "again = decorated\n"
            + "by_key = {'fast': define_eval(t1), 3: define_score_eval(t2), 'own': define_eval('mine', test=t1)}\n"
            + "listed = [define_eval(t2), define_eval('list/2', test=t2), 'no eval']\n"
            + "_private = define_eval(t1)\n"
        }
    )
    assert ids(discover(["orders.py"])) == [
        "orders/decorated",
        "orders/assigned",
        "orders/given name",
        "orders/fast",
        "orders/3",
        "orders/mine",
        "orders/t2",
        "orders/list/2",
        "orders/_private",
    ]


def test_imported_evals_are_left_to_their_own_file(tree: Tree) -> None:
    tree(
        {
            "evals/eval_base.py": GREETS + "many = [define_eval('one', test=greets.fn)]\n",
            "evals/eval_named.py": "from eval_base import greets, many\nimport eval_base\n" + HEAD,
            "evals/eval_star.py": "from eval_base import *\n" + GREETS.replace("greets", "other"),
            "evals/eval_rebound.py": "from eval_base import greets\n" + GREETS,
            "evals/eval_suite.py": "from eval_base import greets as base\nsuite = [base]\n",
        }
    )
    found = discover(["evals"])
    assert ids(found) == ["base/greets", "base/one", "rebound/greets", "star/other", "suite/greets"]
    assert found.empty == ("evals/eval_named.py",)


def test_evals_made_by_a_helper_count_where_they_are_made(tree: Tree) -> None:
    tree(
        {
            "evals/factory.py": HEAD
            + "def make(name):\n    async def test(t): ...\n    return define_eval(name, test=test)\n",
            "evals/eval_made.py": "from factory import make\na = make('one')\nb = make('two')\n",
        }
    )
    found = discover(["evals"])
    assert ids(found) == ["made/one", "made/two"]
    assert [each.source.line for each in found.evals] == [2, 3]


def test_helpers_beside_the_file_and_packages_in_the_working_directory_are_importable(tree: Tree) -> None:
    tree(
        {
            "agents/plain.py": "NAME = 'agent'",
            "evals/helpers.py": "NAME = 'helper'",
            "evals/orders.py": "from agents.plain import NAME as a\nimport helpers\nassert (a, helpers.NAME) == ('agent', 'helper')\n"
            + GREETS,
        }
    )
    assert ids(discover(["evals/orders.py"])) == ["orders/greets"]


def test_helpers_of_one_name_in_two_folders_each_serve_their_own_eval_files(tree: Tree) -> None:
    use = "import helpers_x\nfrom helpers_x import NAME\n" + GREETS
    tree({f"{f}/helpers_x.py": f"NAME = {f!r}" for f in ("a", "b")})
    tree({f"{f}/eval_{n}.py": use + f"assert NAME == {f!r}" for f, n in [("a", "one"), ("a", "two"), ("b", "three")]})
    assert ids(discover(["a/eval_one.py", "b", "a"])) == ["one/greets", "three/greets", "two/greets"]


def test_a_helper_named_like_a_standard_module_hides_it_from_nobody(tree: Tree) -> None:
    root = tree({"evals/colorsys.py": "raise RuntimeError('shadow')", "evals/orders.py": GREETS})
    sys.modules.pop("colorsys", None)
    assert ids(discover(["evals/orders.py"])) == ["orders/greets"]
    import colorsys

    assert not Path(colorsys.__file__).is_relative_to(root)


def test_eval_files_take_no_name_from_other_modules(tree: Tree) -> None:
    tree({"json.py": GREETS, "sub/json.py": GREETS})
    before = sys.modules["json"]
    assert ids(discover(["json.py"])) == ["json/greets"]
    assert [len(discover([path]).evals) for path in ("json.py", "sub/json.py")] == [1, 1]
    assert sys.modules["json"] is before


def test_relative_imports_work_where_the_folder_is_a_package(tree: Tree) -> None:
    tree({"pack_g/__init__.py": "", "pack_g/help.py": "X = 1", "pack_g/eval_a.py": "from .help import X\n" + GREETS})
    assert ids(discover(["pack_g"])) == ["a/greets"]


def test_a_changed_file_is_read_again(tree: Tree) -> None:
    tree({"orders.py": GREETS})
    assert ids(discover(["orders.py"])) == ["orders/greets"]
    tree({"orders.py": GREETS.replace("greets", "thanks")})
    assert ids(discover(["orders.py"])) == ["orders/thanks"]


def test_a_file_that_does_not_import_is_a_problem_and_the_others_are_there(tree: Tree) -> None:
    tree(
        {
            "evals/eval_a_syntax.py": "x = 1\ndef (:\n",
            "evals/eval_b_missing.py": "import os\nimport no_such_module_x\n",
            "evals/eval_c_raises.py": "def f():\n    raise ValueError('one\\ntwo')\n\nf()\n",
            "evals/eval_d_exits.py": "import sys\nsys.exit(7)\n",
            "evals/eval_e_helper.py": "import broken_helper_x\n",
            "evals/broken_helper_x.py": "\n1 / 0\n",
            "evals/eval_f_library.py": "import json\njson.loads('{')\n",
            "evals/eval_g_null.py": "x = '\0'\n",
            "evals/eval_h_sync.py": HEAD + "@define_eval\ndef sync(t): ...\n",
            "evals/eval_i_skips.py": "import pytest\npytest.skip('not today', allow_module_level=True)\n",
            "evals/eval_z_fine.py": GREETS,
        }
    )
    found = discover(["evals"])
    assert [each.id for each in found.evals] == ["z_fine/greets"]
    assert found.fatal == ()
    lines = problems(found)
    for line, start, says in zip(
        lines,
        [
            "evals/eval_a_syntax.py:2: SyntaxError: ",
            "evals/eval_b_missing.py:2: ModuleNotFoundError: ",
            "evals/eval_c_raises.py:2: ValueError: one two",
            "evals/eval_d_exits.py:2: the file ends the program",
            "evals/broken_helper_x.py:2: ZeroDivisionError: ",
            "evals/eval_f_library.py:2: json.decoder.JSONDecodeError: ",
            "evals/eval_g_null.py",
            "evals/eval_h_sync.py:2: TypeError: define_eval() got sync",
            "evals/eval_i_skips.py:2: Skipped: not today",
        ],
        [
            "def (:",
            "beside the eval file",
            "",
            "SystemExit: 7",
            "(imported from evals/eval_e_helper.py)",
            "",
            "null",
            "async def",
            "",
        ],
        strict=True,
    ):
        assert line.startswith(start)
        assert says in line
        assert "\n" not in line
    assert not any("eval_c_raises" in name for name in sys.modules)


def test_an_interrupt_during_an_import_is_an_interrupt(tree: Tree) -> None:
    tree({"orders.py": "raise KeyboardInterrupt"})
    with pytest.raises(KeyboardInterrupt):
        discover(["orders.py"])


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {"a/math.py": HEAD + "@define_eval(id='add')\nasync def x(t): ...\n", "b/math.py": HEAD + "\nasync def f(t): ...\nadd = define_eval(f)\n"},
            ["b/math.py:4: the id 'math/add' is used by two evals; the other is at a/math.py:2"],
        ),
        (
            {"a/math.py": GREETS + "@define_eval(id='greets')\nasync def other(t): ...\n", "b/math.py": ""},
            ["a/math.py:4: the id 'math/greets' is used by two evals; the other is at a/math.py:2"],
        ),
        (
            {"a/math.py": GREETS + "@define_eval\nasync def greets(t): ...\n", "b/math.py": ""},
            ["a/math.py:2: the eval 'greets' is defined again at a/math.py:4"],
        ),
        (
            {"a/math.py": GREETS, "b/math.py": HEAD + "@define_eval(id='greets[x]')\nasync def a(t): ...\n@define_eval(id='greets', cases={'x': 1})\nasync def b(t, case): ...\n"},
            ["b/math.py:4: the id 'math/greets' is used by two evals; the other is at a/math.py:2"],
        ),
        (
            {"a/math.py": HEAD + "@define_eval(id='g[x]')\nasync def a(t): ...\n", "b/math.py": HEAD + "@define_eval(id='g', cases={'x': 1})\nasync def b(t, case): ...\n"},
            ["b/math.py:2: the id 'math/g[x]' is used by two evals; the other is at a/math.py:2"],
        ),
    ],
)  # fmt: skip
def test_an_id_used_twice_stops_everything_and_names_both_places(
    tree: Tree, files: Mapping[str, str], says: list[str]
) -> None:
    tree(files)
    found = discover(["a/math.py", "b/math.py"])
    lines = problems(found)
    assert len(lines) == len(says)
    assert all(line.startswith(start) for line, start in zip(lines, says, strict=True))
    assert len(found.fatal) == len(says)


def test_ids_that_differ_in_case_or_normal_form_are_different(tree: Tree) -> None:
    names = ["Foo", "foo", "\u00e9", "e\u0301", "a:b?*", "CON", "../x", "n" * 300]
    lines = [f"e{n} = define_eval({name!r}, test=f)" for n, name in enumerate(names)]
    tree({"math.py": HEAD + "async def f(t): ...\n" + "\n".join(lines)})
    assert ids(discover(["math.py"])) == [f"math/{name}" for name in names]


def test_an_eval_that_no_name_holds_is_a_problem_not_a_silent_loss(tree: Tree) -> None:
    tree({"orders.py": GREETS + "define_eval('lost', test=greets.fn)\n"})
    found = discover(["orders.py"])
    assert [each.id for each in found.evals] == ["orders/greets"]
    assert problems(found)[0].startswith("orders.py:4: ")
    assert "'lost'" in problems(found)[0]


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ("[]", "orders/asks: cases= has no case"),
        ("[{'id': 'a'}, {'id': 'a'}]", "orders/asks: the cases at positions 0 and 1"),
        ("lambda: 1 / 0", "orders/asks: reading the cases raised ZeroDivisionError: division by zero"),
        ("lambda: load_cases('bad.jsonl')", "orders/asks: bad.jsonl:2: the row is not JSON"),
    ],
)
def test_cases_that_cannot_be_read_are_a_problem_of_that_eval_only(tree: Tree, cases: str, says: str) -> None:
    tree(
        {
            "bad.jsonl": '{"id": "a"}\n{"id": \n',
            "orders.py": "from niceeval.evals.datasets import load_cases\n"
            + GREETS
            + f"@define_eval(cases={cases})\nasync def asks(t, case): ...\n",
        }
    )
    found = discover(["orders.py"])
    assert [each.id for each in found.evals] == ["orders/greets"]
    [line] = problems(found)
    assert line.startswith(f"orders.py:5: {says}")


def test_a_bad_row_read_while_the_file_is_imported_names_the_row_and_the_line(tree: Tree) -> None:
    tree(
        {
            "evals/bad.csv": "id,n\na,1,2\n",
            "evals/orders.py": "from niceeval.evals.datasets import load_cases\n\nCASES = load_cases('bad.csv')\n",
        }
    )
    [line] = problems(discover(["evals/orders.py"]))
    assert line == "evals/orders.py:3: evals/bad.csv:2: the row has 3 cells, the header 2"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("evals/order.py", "evals/order.py: does not exist; did you mean evals/orders.py?"),
        ("nowhere/at/all.py", "nowhere/at/all.py: does not exist; neither does the folder nowhere/at"),
        ("qqqq", "qqqq: does not exist; paths are relative to the working directory"),
        ("evals/notes.txt", "evals/notes.txt: is not a Python file; give a .py file or a folder"),
    ],
)
def test_a_path_that_leads_nowhere_stops_everything(tree: Tree, path: str, says: str) -> None:
    tree({"evals/orders.py": GREETS, "evals/notes.txt": ""})
    found = discover(["evals/orders.py", path])
    assert [str(problem) for problem in found.fatal] == [says]


def test_files_without_an_eval_are_named(tree: Tree) -> None:
    tree({"evals/eval_a.py": "", "evals/eval_b.py": GREETS})
    assert discover(["evals"]).empty == ("evals/eval_a.py",)
