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
from niceeval_expect._call_claims import max_tool_calls, no_failed_actions, tool_order, used_no_tools
from niceeval_expect._event_scope import event
from niceeval_expect._loops import no_loops
from niceeval_expect._tool_scope import called_tool, not_called_tool
from niceeval_expect._turn_scope import max_cost, max_tokens, succeeded
from niceeval_expect._unordered_calls import tool_calls_unordered

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
ALL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ALIASES = {"toolMatch", "jsonMatch", "defineEval", "defineScoreEval"}

X = niceeval_expect
SAMPLES: dict[str, Any] = {
    "absent": X.absent(),
    "arg": X.arg("a").came_from("session"),
    "at": X.at("a", X.is_defined()),
    "between": X.between(0, 1),
    "called_tool": called_tool("x"),
    "cites_only": X.cites_only([1]),
    "closed_qa": X.closed_qa("x"),
    "close_to": X.close_to(1, abs=0.1),
    "command_match": X.command_match("ls"),
    "command_succeeded": X.command_succeeded(),
    "contains": X.contains(X.is_defined()),
    "define_judge": X.define_judge("x", "{output}", scale=(0, 1)),
    "ends_with": X.ends_with("x"),
    "equals": X.equals(1),
    "event": event(X.event_match("error")),
    "event_match": X.event_match("error"),
    "every": X.every(X.is_defined()),
    "every_claim_cited": X.every_claim_cited(),
    "excludes": X.excludes("x"),
    "factuality": X.factuality("x"),
    "field_order": X.field_order("a", before="b"),
    "forbids": X.forbids(["x"]),
    "has_keys": X.has_keys("a"),
    "has_sections": X.has_sections(min=2),
    "includes": X.includes("x"),
    "includes_all": X.includes_all(["x"]),
    "includes_any": X.includes_any(["x"]),
    "includes_url": X.includes_url(),
    "is_defined": X.is_defined(),
    "is_false": X.is_false(),
    "is_instance": X.is_instance(str),
    "is_true": X.is_true(),
    "json_match": X.json_match({"a": X.is_defined()}),
    "json_text": X.json_text(),
    "keys_exactly": X.keys_exactly("a"),
    "length": X.length(exactly=1),
    "matches": X.matches(int),
    "max_cost": max_cost(1),
    "max_tokens": max_tokens(1),
    "max_tool_calls": max_tool_calls(1),
    "no_failed_actions": no_failed_actions(),
    "no_loops": no_loops(),
    "non_empty": X.non_empty(),
    "normalized": X.normalized("x", rules=["case"]),
    "not_called_tool": not_called_tool("x"),
    "number_in_text": X.number_in_text(1),
    "numbers_from": X.numbers_from("1"),
    "occurs": X.occurs("x"),
    "one_of": X.one_of([1]),
    "pattern": X.pattern("x"),
    "preserves_digits": X.preserves_digits("1"),
    "quotes_from": X.quotes_from("x"),
    "references_any_path": X.references_any_path(["/etc"]),
    "reveals_nothing_of": X.reveals_nothing_of("one two three four five six seven eight"),
    "same_arguments": X.same_arguments({"properties": {"a": {}}}, {"a": 1}),
    "same_call": X.same_call("f(1)"),
    "same_date": X.same_date("2026-03-09"),
    "same_instant": X.same_instant("2026-03-09T12:00:00Z"),
    "same_python": X.same_python("x"),
    "same_sql": X.same_sql("SELECT 1"),
    "semantic": X.semantic(X.json_text(), X.is_defined()),
    "similarity": X.similarity("x"),
    "starts_with": X.starts_with("x"),
    "succeeded": succeeded(),
    "summarizes": X.summarizes("x"),
    "tool_calls_unordered": tool_calls_unordered(["x"]),
    "tool_match": X.tool_match("x"),
    "tool_order": tool_order("x", "y"),
    "unordered": X.unordered([X.is_defined()]),
    "used_no_tools": used_no_tools(),
}
OF_ITS_PARTS = {"all_of", "any_of", "not_"}
OF_CODE = {"satisfies", "define_value_match", "define_score_match", "register_match"}
NO_MATCHES = OF_ITS_PARTS | OF_CODE | {"from_spec"}


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


def test_the_sample_of_every_entry_is_here() -> None:
    assert set(entries()) - NO_MATCHES == set(SAMPLES)


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"similarity"}))
def test_an_entry_shows_a_match_and_a_printed_mismatch_and_says_what_it_cannot_see(name: str) -> None:
    entry = entries()[name]
    shown = "".join(re.findall(r"^```python\n(.*?)^```", entry, re.MULTILINE | re.DOTALL))
    assert "matched" in re.sub(r"mismatched", "", shown) or ".diagnostic.message" in shown, f"{name} shows no match"
    assert re.search(r"^>>> print\(.*\n(\.\.\..*\n)*(mismatched|unavailable)", shown, re.MULTILINE), name
    assert re.search(r"\*blind\s+to:\*", entry, re.IGNORECASE), f"the entry of {name} does not say what it is blind to"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_family_and_reach_are_as_documented(name: str) -> None:
    said = re.search(r"^Family: (\w+)\. Reaches outside: (yes|no|if)\b", entries()[name], re.MULTILINE)
    assert said is not None, f"the entry of {name} does not say its family and whether it reaches outside"
    assert said[1] == SAMPLES[name].family
    assert (said[2] == "yes") == SAMPLES[name].reaches_outside


@pytest.mark.parametrize("name", sorted(set(niceeval.__all__) - ALIASES - {"__version__"}))
def test_every_public_name_is_mentioned(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", ALL), f"no page mentions niceeval.{name}"


def commands_of(group: click.Group, *above: str) -> dict[str, click.Command]:
    """Return every command by its full name, those of groups too."""
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        found[" ".join([*above, name])] = command
        if isinstance(command, click.Group):
            found |= commands_of(command, *above, name)
    return found


COMMANDS = commands_of(cli)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_and_option_is_documented(command: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    level = "#" * (2 + command.count(" "))
    assert f"\n{level} niceeval {command}\n" in page
    for parameter in COMMANDS[command].params:
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
