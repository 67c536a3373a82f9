"""JUnit XML: read by strict parsers whatever was said, and adding up."""

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import junitparser
import pytest

from niceeval.cli.view import RunView
from niceeval.record.write import RunWriter
from niceeval.reporters.junit import junit_parts, xml_text

from .conftest import HOSTILE


def parsed(view: RunView) -> ET.Element:
    return ET.fromstring("".join(junit_parts(view)).encode("utf-8"))


def test_statuses_become_failure_error_and_skipped_and_the_counts_are_those_of_the_children(view: RunView) -> None:
    root = parsed(view)
    kinds = Counter(child.tag for case in root.iter("testcase") for child in case if child.tag != "properties")
    assert kinds == {"failure": 2, "error": 2, "skipped": 1}
    for element in (root, *root.iter("testsuite")):
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert element.get(name) == str(sum(case.find(tag) is not None for case in cases))
    assert view.statuses == {"passed": 2, "failed": 2, "errored": 2, "skipped": 1, "scored": 1}


def test_hostile_text_is_shown_visibly_and_the_rest_is_kept(view: RunView) -> None:
    text = "".join(junit_parts(view))
    assert "\x1b" not in text
    assert "[31m" not in text
    [case] = [case for case in parsed(view).iter("testcase") if "bad" in (case.get("name") or "")]
    assert case.get("name") == xml_text(HOSTILE)
    failure = case.find("failure")
    assert failure is not None
    for part in ("\\x12", "\\x00", "\\ufffe", 'red ]]> <&"', "\\ud83d", "\u6771\u4eac", "\U0001f600"):
        assert part in (case.get("name") or "")
    assert "is fine" in (failure.get("message") or "")
    assert "received" in (failure.text or "")


def test_a_parser_of_the_format_reads_it(view: RunView, tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_text("".join(junit_parts(view)), encoding="utf-8")
    report = junitparser.JUnitXml.fromfile(str(path))
    names = [(case.classname, case.name) for suite in report for case in suite]
    assert len(names) == len(set(names)) == 8
    assert {suite.name for suite in report} == {"a/answers", "b/answers", "a/style"}


def test_scores_are_properties(view: RunView) -> None:
    said = {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in parsed(view).iter("testcase")
        if case.get("classname") == "a/style"
    }
    assert said["good"]["score"] == "2.75"
    assert "score" not in said["down"]


def test_attempts_of_the_same_name_get_names_of_their_own(tmp_path: Path) -> None:
    header = {"agents": ["x"], "attempts": 1, "evals": [{"id": "e", "style": "pass", "cases": ["a"]}]}
    writer = RunWriter.create(tmp_path, header)
    for number in range(2):
        attempt = {"id": f"{number:012x}", "eval": "e", "case": "a", "agent": "x", "status": "failed", "reason": "r"}
        writer.append(json.dumps(attempt))
    writer.seal()
    view = RunView(writer.folder)
    names = [case.get("name") for case in parsed(view).iter("testcase")]
    view.close()
    assert names == ["a", "a #2"]


def test_what_was_planned_and_did_not_run_is_an_error(tmp_path: Path) -> None:
    header = {"agents": ["x"], "attempts": 3, "evals": [{"id": "e", "style": "pass", "cases": ["a"]}]}
    writer = RunWriter.create(tmp_path, header)
    writer.append(json.dumps({"id": "0" * 12, "eval": "e", "case": "a", "agent": "x", "status": "passed"}))
    writer.seal("interrupted")
    view = RunView(writer.folder)
    root = parsed(view)
    view.close()
    assert (root.get("tests"), root.get("errors")) == ("2", "1")
    assert root.findall(".//error")[0].get("message") == "the run is interrupted"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x85\x9f\u200b", "\x85\x9f\u200b"),
        ("\uffff\x7f", "\\uffff\x7f"),
    ],
)
def test_terminal_codes_go_and_characters_stay(text: str, shown: str) -> None:
    assert xml_text(text) == shown
    assert ET.fromstring(f"<a>{xml_text(text)}</a>").text == shown
