"""`niceeval export`: a run as files for other tools."""

import tempfile
from pathlib import Path
from typing import Literal, cast

from niceeval.cli.codes import USAGE
from niceeval.cli.screen import Output, complain, open_screen
from niceeval.cli.show import run_folder, warnings_as_lines
from niceeval.cli.text import cut, line
from niceeval.record.export import Format, export_run, export_table

__all__ = ["export_command"]


def export_command(run: str, format: str, table: str | None, out: str | None) -> int:
    """Write one table or all of them, and say where they are."""
    kind = cast(Literal["parquet", "csv", "jsonl"], format)
    if out == "-":
        return _to_stdout(run, kind, table)
    with warnings_as_lines():
        folder = run_folder(run)
        if table is not None:
            path = Path(out or f"{folder.resolve().name}-{table}.{format}")
            written = {table: export_table(folder, table, kind, path)}
        else:
            written = dict(export_run(folder, kind, Path(out or folder.resolve().name)))
    screen = open_screen()
    screen.write(line((f"{name:<14}", "dim"), cut(str(path), 4096)) for name, path in written.items())
    return 0


def _to_stdout(run: str, format: Format, table: str | None) -> int:
    if table is None or format == "parquet":
        complain("--out - writes one table as text: give --table, and --format csv or jsonl")
        return USAGE
    with warnings_as_lines(), tempfile.TemporaryDirectory() as place:
        path = export_table(run_folder(run), table, format, Path(place) / f"{table}.{format}")
        out = Output()
        with open(path, "rb") as file:
            while portion := file.read(1 << 20):
                out.write(portion)
    return 0
