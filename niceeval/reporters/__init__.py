"""Reports of a run for other programs: JUnit XML, Markdown, GitHub annotations, JSON.

Each reads the record alone, and each is one file; `REPORTERS` names them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from niceeval.reporters.base import Contents
from niceeval.reporters.github import github_lines
from niceeval.reporters.json_report import json_parts
from niceeval.reporters.junit import junit_parts
from niceeval.reporters.markdown import markdown_lines

__all__ = ["REPORTERS", "Contents"]

REPORTERS: Final[Mapping[str, Callable[[Contents], Iterator[str]]]] = {
    "json": json_parts,
    "junit": junit_parts,
    "markdown": markdown_lines,
    "github": github_lines,
}
"""What makes each kind of report: pieces of text, in order."""
