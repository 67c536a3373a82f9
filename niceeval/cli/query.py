"""`niceeval query`: questions in SQL, answered as a table, CSV or JSON."""

import csv
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from niceeval.cli.numbers import counted
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.show import run_folder, warnings_as_lines
from niceeval.cli.text import cut, line, paragraph
from niceeval.record import Record
from niceeval.record.columns import TABLES
from niceeval.record.layout import Header
from niceeval.record.rows import strict
from niceeval.record.sql import Answer, SqlTables

__all__ = ["query_command", "schema_command"]

_MOST_ROWS: Final = 1000
_NARROWEST: Final = 6


def query_command(sql: str, runs: Sequence[str], format: str, timeout: float) -> int:
    """Print the rows that a query gives."""
    with warnings_as_lines():
        if "all" in runs:
            with Record.open() as record:
                folders = [info.folder for info in record.runs()]
        else:
            folders = list(dict.fromkeys(map(run_folder, runs or ["latest"])))
        with SqlTables(folders) as tables:
            answer = tables.ask(sql, timeout=timeout)
            if format == "table":
                screen = open_screen()
                screen.write(_table(answer, tables.headers, screen))
            else:
                {"csv": _write_csv, "json": _write_json, "jsonl": _write_lines}[format](answer, Output())
    return 0


def schema_command() -> int:
    """Print the tables and their columns."""
    screen = open_screen()
    for name, table in TABLES.items():
        screen.write([line((name, "bold"))])
        for column in table:
            screen.write(paragraph(f"  {column.name:<18}{column.type:<11}", column.meaning, screen.width))
        screen.write([line("")])
    return 0


def _write_csv(answer: Answer, out: Output) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(answer.names)
    for row in answer.rows:
        writer.writerow([_cell(value) for value in row])


def _write_json(answer: Answer, out: Output) -> None:
    out.write("[")
    for number, row in enumerate(answer.rows):
        out.write(("," if number else "") + "\n" + _object(answer.names, row))
    out.write("\n]\n")


def _write_lines(answer: Answer, out: Output) -> None:
    for row in answer.rows:
        out.write(_object(answer.names, row) + "\n")


def _object(names: Sequence[str], row: Sequence[Any]) -> str:
    # JSON has no number for what is not finite; a text keeps it.
    return json.dumps(strict(dict(zip(names, row, strict=True))), allow_nan=False)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict | tuple):
        return json.dumps(strict(value))
    return str(value)


def _table(answer: Answer, headers: Sequence[Header], screen: Screen) -> Iterator[Text]:
    given = list(islice(answer.rows, _MOST_ROWS + 1))
    shown = given[:_MOST_ROWS]
    cells = [[("-" if value is None else _cell(value)) for value in row] for row in shown]
    numbers = [_is_numeric([row[place] for row in shown]) for place in range(len(answer.names))]
    widths = _widths(answer.names, cells, screen.width)
    if widths is None:
        yield from _records(answer.names, cells, screen)
    else:
        yield line((_joined(answer.names, widths, numbers), "dim"))
        for row in cells:
            yield line(_joined(row, widths, numbers))
    yield line("")
    more = "the first " if len(given) > len(shown) else ""
    rest = "; --format csv gives all" if more else ""
    about = f"run {headers[0].id}" if len(headers) == 1 else counted(len(headers), "run")
    yield line((f"{more}{counted(len(shown), 'row')}, asked of {about}{rest}", "dim"))


def _is_numeric(values: Sequence[Any]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in given)


def _widths(names: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Return the widths of the columns, the widest cut back until all fit; None where they are too many."""
    shown = [[cut(cell, width) for cell in row] for row in cells]
    wanted = [max(cell_len(each) for each in column) for column in zip(names, *shown, strict=True)]
    room = width - 2 * (len(names) - 1)
    if sum(min(each, _NARROWEST) for each in wanted) > room:
        return None
    while sum(wanted) > room:
        widest = max(range(len(wanted)), key=wanted.__getitem__)
        wanted[widest] -= 1
    return wanted


def _joined(row: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    parts = []
    for text, width, number in zip(row, widths, numbers, strict=True):
        shown = cut(text, width)
        parts.append(" " * (width - cell_len(shown)) + shown if number else set_cell_size(shown, width))
    return "  ".join(parts).rstrip()


def _records(names: Sequence[str], cells: Sequence[Sequence[str]], screen: Screen) -> Iterator[Text]:
    """One row below the other, a line for each column: for rows of many columns."""
    widest = min(max(cell_len(name) for name in names), screen.width // 3)
    for number, row in enumerate(cells, 1):
        yield line((f"row {number}", "bold"))
        for name, text in zip(names, row, strict=True):
            label = set_cell_size(cut(name, widest), widest)
            yield line(f"  {label}  ", cut(text, screen.width - widest - 4))
