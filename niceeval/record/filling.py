"""Filling an index: from the lines of a run into tables, by DuckDB's own reader, with an explicit structure.

The reader gives one row for every line that is not blank, in the file's order, empty where it cannot read the line.
Such lines are read again in Python, which names what is wrong with them or finds an attempt all the same.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from niceeval.errors import RecordError
from niceeval.record.filling_sql import (
    ASSERTIONS,
    ATTEMPTS,
    DROPPED,
    ENTRIES,
    HEADS,
    MEANT,
    ODD,
    PLACES,
    PLAN,
    PLAN_AGENTS,
    PLANNED,
    TABLES,
)
from niceeval.record.layout import Header
from niceeval.record.lines import Damaged, FolderSource, Line, RunSource, parse, plain
from niceeval.record.slim import HEAD_TYPES, slim_line, sql_type

if TYPE_CHECKING:
    import duckdb

__all__ = ["Filling", "quoted"]

_SMALLEST_BUFFER: Final = 1 << 20
_PORTION: Final = 1000


@attrs.define
class _File:
    path: str
    lines: list[Line] = attrs.Factory(list)
    longest: int = 0
    torn: bytes | None = None

    @property
    def whole(self) -> list[Line]:
        """The lines that end as lines do."""
        return self.lines if self.torn is None else self.lines[:-1]


@final
class Filling:
    """One run's lines on their way into tables.

    Args:
        connection: Where temporary tables are made.
        source: The run.
        header: Its plan.

    Attributes:
        files: The files that hold the lines, by their number.
        damaged: The lines that hold no attempt, each with what is wrong.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection", source: RunSource, header: Header) -> None:
        self.damaged: list[tuple[Line, str]] = []
        self._connection = connection
        self._source = source
        self._files = _files(source)
        self._readable: list[int] = []
        for statement in TABLES:
            connection.execute(statement)
        odd: list[tuple[int, int]] = []
        for number, file in enumerate(self._files):
            odd += self._take(number, file)
        self._mend(odd)
        _plan(connection, header)

    @property
    def files(self) -> list[str]:
        """The files that hold the lines, by their number."""
        return [file.path for file in self._files]

    @property
    def attempts(self) -> str:
        """The query whose rows are the attempts, in the plan's order."""
        return ATTEMPTS

    @property
    def assertions(self) -> str:
        """The query whose rows are the assertions; it needs a table `ranks` of file_no, ordinal and position."""
        parts = [
            f"SELECT * FROM (SELECT {number} AS file_no, row_number() OVER () - 1 AS ordinal, assertions "
            f"FROM {self._reader(number, {'assertions': ENTRIES})}) ANTI JOIN patched USING (file_no, ordinal)"
            for number in self._readable
        ]
        structure = json.dumps({"assertions": ENTRIES})
        parts.append(
            f"SELECT file_no, ordinal, json_transform(line, '{structure}').assertions AS assertions FROM patched"
        )
        return ASSERTIONS.replace("LINES", " UNION ALL ".join(parts))

    def close(self) -> None:
        """Drop what was needed on the way."""
        for statement in DROPPED:
            self._connection.execute(statement)

    def _reader(self, number: int, structure: Mapping[str, Any]) -> str:
        file = self._files[number]
        columns = ", ".join(f"'{name}': '{sql_type(kind)}'" for name, kind in structure.items())
        most = max(file.longest + 2, _SMALLEST_BUFFER)
        return (
            f"read_ndjson({quoted(file.path)}, columns = {{{columns}}}, ignore_errors = true, records = true, "
            f"maximum_object_size = {most})"
        )

    def _take(self, number: int, file: _File) -> list[tuple[int, int]]:
        """Read the attempts of a file, and return the places of the lines that the reader made nothing of."""
        ordinals, total = _ordinals(file, self._source)
        lines = file.lines
        columns = (ordinals, *([getattr(line, name) for line in lines] for name in ("number", "offset", "size")))
        self._connection.execute(PLACES, [number, *map(json.dumps, columns)])
        read = f"SELECT {number}, row_number() OVER () - 1, * FROM {self._reader(number, HEAD_TYPES)}"
        self._connection.execute(f"INSERT INTO heads {read}")
        [(count,)] = self._connection.execute(f"SELECT count(*) FROM heads WHERE file_no = {number}").fetchall()
        if count != total:
            # The reader takes other lines for blank than we do, or the file grew: no row can be trusted to be its line.
            self._connection.execute(f"DELETE FROM heads WHERE file_no = {number}")
            return [(number, place) for place in range(len(lines))]
        self._readable.append(number)
        places = {ordinal: place for place, ordinal in enumerate(ordinals)}
        odd = {places[ordinal] for (ordinal,) in self._connection.execute(ODD, [number, number]).fetchall()}
        if file.torn is not None:
            odd.add(len(lines) - 1)
        return [(number, place) for place in sorted(odd)]

    def _mend(self, odd: list[tuple[int, int]]) -> None:
        """Read lines in Python that the reader made nothing of."""
        for start in range(0, len(odd), _PORTION):
            rows: list[dict[str, Any]] = []
            for number, place in odd[start : start + _PORTION]:
                file = self._files[number]
                line = file.lines[place]
                last = file.torn is not None and place == len(file.lines) - 1
                raw = file.torn if last and file.torn is not None else self._source.text(line)
                try:
                    text = slim_line(self._with_sessions(parse(raw)))
                except Damaged as error:
                    self.damaged.append((line, str(error)))
                    text = "{}"
                rows.append({"file_no": number, "number": line.number, "line": text})
            self._connection.execute(
                "INSERT INTO patched SELECT file_no, ordinal, line FROM (SELECT unnest(from_json(?, "
                """'[{"file_no": "INTEGER", "number": "BIGINT", "line": "VARCHAR"}]'), recursive := true)) """
                "JOIN places USING (file_no, number)",
                [json.dumps(rows)],
            )
        if odd:
            self._connection.execute(
                "DELETE FROM heads WHERE (file_no, ordinal) IN (SELECT file_no, ordinal FROM patched)"
            )
            self._connection.execute(HEADS)

    def _with_sessions(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return an attempt with its conversations, which may be too large for its line."""
        sessions = document.get("sessions")
        if not isinstance(sessions, Mapping):
            return document
        try:
            return {**document, "sessions": json.loads(self._source.blob(str(sessions.get("sha256"))))}
        except (RecordError, ValueError):
            return document


def _files(source: RunSource) -> list[_File]:
    found: dict[str, _File] = {}
    file = _File("")
    for line, raw in source.lines():
        if line.file != file.path:
            file = found.setdefault(line.file, _File(line.file))
        file.lines.append(line)
        if line.size > file.longest:
            file.longest = line.size
        if not raw.endswith(b"\n"):
            file.torn = raw
    return list(found.values())


def _ordinals(file: _File, source: RunSource) -> tuple[list[int], int]:
    """Return the place of each line among the file's lines that are not blank, and how many of those there are."""
    if isinstance(source, FolderSource):
        return list(range(len(file.lines))), len(file.lines)
    found: dict[int, int] = {}
    try:
        with open(file.path, "rb") as opened:
            for number, raw in enumerate(opened, 1):
                if raw.strip():
                    found[number] = len(found)
                    file.longest = max(file.longest, len(raw))
    except OSError as error:
        raise RecordError(f"cannot read {file.path}: {error.strerror or error}") from error
    return [found[line.number] for line in file.lines], len(found)


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _plan(connection: "duckdb.DuckDBPyConnection", header: Header) -> None:
    """Put the plan into tables; the cases of an eval are handed over once, whoever runs them."""
    items, meant = [], []
    for number, item in enumerate(header.evals):
        cases = None if item.cases is None else [plain(case) for case in item.cases]
        items.append({"item": number, "eval": plain(item.id), "cases": cases})
        for agent in header.agents or ("",):
            attempts = header.attempts_of(item, agent)
            meant.append({"item": number, "agent": plain(agent), "style": item.style, "attempts": attempts})
    agents = [{"place": place, "agent": plain(agent)} for place, agent in enumerate(header.agents)]
    for statement, rows in ((PLANNED, items), (MEANT, meant), (PLAN_AGENTS, agents)):
        connection.execute(statement, [json.dumps(rows)])
    for statement in PLAN:
        connection.execute(statement)
