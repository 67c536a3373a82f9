"""What the plugin costs those who do not use it."""

from typing import Any

pytest_plugins = ["pytester"]


def test_ordinary_tests_load_nothing_and_change_nothing(project: Any) -> None:
    project.write(
        {
            "test_plain.py": "import sys\nimport pytest\n"
            "@pytest.fixture\ndef t():\n    return 'mine'\n"
            "def test_it(t):\n"
            "    assert t == 'mine'\n"
            "    own = {name for name in sys.modules if name.split('.')[0] in ('niceeval', 'niceeval_expect')}\n"
            "    assert own == {'niceeval', 'niceeval.pytest_plugin'}\n"
            "@pytest.mark.parametrize('t', [1, 2])\n"
            "def test_parameter(t):\n"
            "    assert t in (1, 2)\n"
        }
    )
    done = project.pytest("--strict-markers")
    done.assert_outcomes(passed=3)
    assert "= niceeval" not in done.stdout.str()
    assert not (project.root / ".niceeval").exists()
