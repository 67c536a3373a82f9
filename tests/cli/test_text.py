"""Text on a terminal: safe, measured in cells, and cut where it does not fit."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from niceeval.cli.text import apart, columns, cut, line, paragraph, safe, wrapped

ANY = st.text(st.characters(), max_size=60) | st.text(
    "\x00\x1b[31m]0;\x07\r\n\t\u202e\ud800日本é[bold]👩‍💻", max_size=60
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [bold]text[/bold]", "plain [bold]text[/bold]"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\r\nb\tc\x07", "a\\r\\nb\\tc\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("half \ud83d of a pair", "half \\ud83d of a pair"),
        ("evil \u202etxt.exe", "evil \\u202etxt.exe"),
        ("zero\u200bwidth \ufeff", "zero\\u200bwidth \\ufeff"),
        ("line\u2028break", "line\\u2028break"),
        ("\U000e0041 tag", "\\U000e0041 tag"),
        ("日本語 ½ é e\u0301 👩\u200d💻", "日本語 ½ é e\u0301 👩\u200d💻"),
    ],
)
def test_what_cannot_be_seen_is_written_as_an_escape(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(ANY)
def test_safe_text_encodes_and_holds_nothing_that_moves_the_cursor(text: str) -> None:
    shown = safe(text)
    shown.encode()
    assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in shown)


@given(ANY, st.integers(1, 30))
def test_cut_text_fits_and_is_marked_only_where_something_is_missing(text: str, width: int) -> None:
    shown = cut(text, width)
    assert cell_len(shown) <= width
    assert shown == safe(text) or shown.endswith("…")


@given(ANY, st.integers(4, 30))
def test_wrapped_text_fits_and_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cell_len(each) <= width for each in lines)
    assert "".join(lines).replace(" ", "") == safe(text).replace(" ", "")


def test_cutting_a_long_text_costs_no_more_than_what_is_shown() -> None:
    assert cut("\x1b" * 10_000_000, 12) == "\\x1b\\x1b\\x1…"


def test_markup_in_a_line_is_text() -> None:
    assert line("[red]", ("[/red]", "bold")).plain == "[red][/red]"


def test_a_paragraph_is_indented_below_its_label_and_bounded() -> None:
    shown = [each.plain for each in paragraph("error   ", "one two three four five six", 20, most=2)]
    assert shown == ["error   one two", "        three four…"]


@given(st.lists(st.tuples(ANY, st.integers(0, 10**6)), max_size=5), st.integers(40, 100))
def test_a_table_never_exceeds_its_width(rows: list[tuple[str, int]], width: int) -> None:
    shown = columns(["name", "count"], [[name, str(count)] for name, count in rows], width)
    assert all(cell_len(each.plain) <= width for each in shown)
    assert len(shown) == len(rows) + 1


def test_numbers_are_aligned_below_their_heads() -> None:
    shown = [each.plain for each in columns(["eval", "rate"], [["a", "0.67"], ["日本", "1"]], 80)]
    assert shown == [f"  {'eval':<28}   rate", f"  {'a':<28}   0.67", f"  日本{'':<24}      1"]


@pytest.mark.parametrize("width", [8, 12, 40])
@pytest.mark.parametrize(
    "texts",
    [
        ["x" * 90 + str(number) for number in range(30)],
        ["x" * 90 + str(number) + "y" * 90 for number in range(30)],
        ["日本" * 50 + end + "語" * 50 for end in "ab\n"],
        ["one", "two", "one", "\x1b" * 60 + "a", "\x1b" * 60 + "b"],
    ],
)
def test_rows_that_differ_are_shown_as_different(texts: list[str], width: int) -> None:
    shown = apart(texts, width)
    assert len(set(shown)) == len(set(texts))
    assert all(cell_len(each) <= width and each.isprintable() for each in shown)
