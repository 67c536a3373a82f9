"""Markdown, GitHub annotations and JSON: read back by what reads them."""

import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from niceeval.cli.view import RunView
from niceeval.record.write import RunWriter
from niceeval.reporters.github import github_lines
from niceeval.reporters.json_report import json_parts
from niceeval.reporters.markdown import markdown_lines

from .conftest import HOSTILE

COMMAND = re.compile(r"^::(error|warning|notice) ([^:]*)::(.*)$")


def test_markdown_is_tables_and_code_and_nothing_of_what_was_said_is_markup(view: RunView) -> None:
    text = "".join(markdown_lines(view))
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    assert sum(token.type == "table_open" for token in tokens) == 3
    html = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert html == [
        "<details><summary>2 failed</summary>",
        "</details>",
        "<details><summary>2 errored or unrankable</summary>",
        "</details>",
    ]
    inline = [child for token in tokens for child in token.children or ()]
    assert not any(child.type in ("link_open", "image", "html_inline", "em_open") for child in inline)
    assert not any("@someone" in child.content for child in inline if child.type == "text")
    assert "\x1b" not in text
    assert "2 / 4" not in text
    assert "| 1 / 3 | 1 | 0.333" in text


def test_rows_of_the_tables_have_as_many_cells_as_their_heads(view: RunView) -> None:
    text = "".join(markdown_lines(view))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    rows: list[int] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append(0)
        elif token.type in ("td_open", "th_open"):
            rows[-1] += 1
    assert set(rows) == {4, 6}


@pytest.mark.parametrize("extra", range(0, 130, 6))
def test_markdown_stays_below_the_limit_and_closes_what_it_opens(extra: int, tmp_path: Path) -> None:
    evals = [
        {"id": "long", "cases": [str(n) for n in range(25)]},
        {"id": "short", "cases": [str(n) for n in range(25)]},
    ]
    writer = RunWriter.create(tmp_path, {"agents": ["|one|", "t"], "evals": evals})
    checks = [
        {"order": n, "requirement": f"{n}" + "|`" * 275, "decision": "unmet", "outcome": "mismatched", "match": "m",
         "subject": "s", "file": "e.py", "line": 1}
        for n in range(3)
    ]  # fmt: skip
    checks.append({**checks[0], "order": 3, "requirement": "z" * 432})
    for number in range(25):
        place = {"case": str(number), "agent": "|one|"}
        long = {
            "id": f"a{number:09x}",
            "eval": "long",
            "status": "failed",
            "assertions": checks,
            "inputs": ["i" * 215, "j" * 480],
        }
        writer.append(json.dumps({**place, **long}))
        writer.append(
            json.dumps({**place, "id": f"b{number:09x}", "eval": "short", "status": "errored", "reason": "r"})
        )
    writer.seal("interrupted", stopped="s" * extra)
    view = RunView(writer.folder)
    try:
        text = "".join(markdown_lines(view))
    finally:
        view.close()
    assert len(text) < 65_536
    assert text.count("<details>") == text.count("</details>") == 2
    assert "agents `|one|`, `t`" in text


def test_annotations_are_commands_with_places_and_the_first_errors_are_failures(view: RunView) -> None:
    lines = "".join(github_lines(view)).splitlines()
    found = [COMMAND.match(line) for line in lines]
    assert all(found)
    levels = [each[1] for each in found if each]
    assert levels == sorted(levels, key=["error", "warning", "notice"].index)
    assert levels.count("notice") == 1
    first = found[0]
    assert first is not None
    properties = dict(part.split("=", 1) for part in first[2].split(","))
    assert properties["file"].endswith("conftest.py")
    assert int(properties["line"]) > 0
    assert not any(line.startswith("::error::") for line in lines)
    assert "%250A" in "".join(lines)


def test_the_json_report_is_one_strict_object_that_says_what_the_record_says(view: RunView) -> None:
    document = json.loads("".join(json_parts(view)), parse_constant=lambda name: 1 / 0)
    assert document["counts"] == {"errored": 2, "failed": 2, "passed": 2, "scored": 1, "skipped": 1}
    assert document["run"]["planned"] == len(document["attempts"]) == 8
    assert {attempt["case"] for attempt in document["attempts"]} >= {HOSTILE, "good"}
