"""The pages say everything there is to say by name, and point to what exists. Their examples run by `conftest.py`."""

import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

import niceeval
import niceeval_expect
from niceeval.cli.main import cli
from niceeval.config import Config

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
ALL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ALIASES = {"toolMatch", "jsonMatch", "defineEval", "defineScoreEval"}

X = niceeval_expect
SAMPLES: dict[str, Any] = {
    "equals": X.equals(1),
    "one_of": X.one_of([1]),
    "between": X.between(0, 1),
    "length": X.length(exactly=1),
    "is_defined": X.is_defined(),
    "is_true": X.is_true(),
    "is_false": X.is_false(),
    "includes": X.includes("x"),
    "excludes": X.excludes("x"),
    "pattern": X.pattern("x"),
    "similarity": X.similarity("x"),
    "json_match": X.json_match({"a": X.is_defined()}),
    "json_text": X.json_text(),
    "at": X.at("a", X.is_defined()),
    "has_keys": X.has_keys("a"),
    "non_empty": X.non_empty(),
    "absent": X.absent(),
    "matches": X.matches(int),
    "tool_match": X.tool_match("x"),
    "event_match": X.event_match("error"),
    "command_succeeded": X.command_succeeded(),
}


def entries() -> dict[str, str]:
    """Return the entries of the page on matches, by name."""
    text = (ROOT / "docs" / "matches.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (\S+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = found[name] = found.get(name, -1) + 1
        names.add(f"{name}-{count}" if count else name)
    return names


@pytest.mark.parametrize("name", sorted(set(niceeval_expect.__all__) - ALIASES))
def test_every_public_match_has_an_entry(name: str) -> None:
    if isinstance(getattr(niceeval_expect, name), type) or name[0].isupper():
        types = (ROOT / "docs" / "matches.md").read_text(encoding="utf-8").rpartition("## Types")[2]
        assert f"| `{name}` |" in types, f"docs/matches.md has no row for the type {name}"
        return
    entry = entries().get(name)
    assert entry is not None, f"docs/matches.md has no entry '### {name}'"
    assert ">>>" in entry, f"the entry of {name} has no example"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_family_and_reach_are_as_documented(name: str) -> None:
    said = re.search(r"^Family: (\w+)\. Reaches outside: (yes|no|if)\b", entries()[name], re.MULTILINE)
    assert said is not None, f"the entry of {name} does not say its family and whether it reaches outside"
    assert said[1] == SAMPLES[name].family
    assert (said[2] == "yes") == SAMPLES[name].reaches_outside


@pytest.mark.parametrize("name", sorted(set(niceeval.__all__) - ALIASES - {"__version__"}))
def test_every_public_name_is_mentioned(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", ALL), f"no page mentions niceeval.{name}"


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_and_option_is_documented(command: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"## niceeval {command}\n" in page
    for parameter in cli.commands[command].params:
        if isinstance(parameter, click.Option):
            for option in parameter.opts:
                assert f"`{option}" in page or f"[{option}" in page, f"docs/cli.md does not mention {option}"


def test_every_configuration_key_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    table = re.search(r'^```toml title="pyproject.toml"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    assert table is not None
    keys = tomllib.loads(table[1])["tool"]["niceeval"]
    known = {field.name for field in Config.__attrs_attrs__} - {"root", "source"}
    assert set(keys) == known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {path}, which does not exist"
        if anchor:
            assert anchor in anchors(linked), f"{page.name} links to {target}; there is no such heading"
