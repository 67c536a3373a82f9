"""Readers of row files. Each yields rows that know their place, and refuses what it would have to guess."""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from niceeval.errors import EvalLoadError

__all__ = ["READERS", "Row", "shown"]


@attrs.frozen
class Row:
    """One row: its value, where it is, and the id that the file gives it."""

    value: Any
    place: str  # "4" is a line, "row 3" a position counted from 1
    id: str | None = None

    def own_id(self) -> object:
        """Return the id that the file gives the row, or the row's own field, which its type may not have; else None."""
        if self.id is not None:
            return self.id
        return self.value.get("id") if isinstance(self.value, dict) else None

    def as_json(self) -> str:
        """Write the value as JSON text, with dates as ISO text."""
        return json.dumps(self.value, default=_json_form, ensure_ascii=False)


def _json_form(value: Any) -> object:
    if isinstance(value, set | frozenset):
        return list(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def shown(path: Path) -> str:
    """Write a path as a person would: relative where it is below the working directory."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _jsonl(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline=None) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield Row(_parsed(path, line.rstrip("\n"), line_offset=number - 1), f"{number}")


def _json(path: Path) -> Iterator[Row]:
    text = path.read_text(encoding="utf-8-sig")
    return _collection(path, _parsed(path, text) if text.strip() else [])


def _collection(path: Path, value: object) -> Iterator[Row]:
    if isinstance(value, list):
        for position, row in enumerate(value, start=1):
            yield Row(row, f" row {position}")
    elif isinstance(value, dict):
        for key, row in value.items():
            yield Row(row, f" row {key!r}", id=key)
    else:
        raise EvalLoadError(
            f"{shown(path)} holds {type(value).__name__}; write a list of rows, or an object of id to row"
        )


def _parsed(path: Path, text: str, *, line_offset: int = 0) -> object:
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        why = "the row is not JSON" if line_offset else "not JSON"
        place = f"{shown(path)}:{line_offset + error.lineno}"
        raise EvalLoadError(f"{place}: {why}: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise EvalLoadError(f"{shown(path)}:{line_offset + 1}: {error}") from None


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON; write null or a text")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is written twice in one object; keep one")
    return made


def _csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        # The module's limit of 131,072 characters per cell is process-wide; recorded answers are longer than that.
        limit = csv.field_size_limit(max(csv.field_size_limit(), os.fstat(file.fileno()).st_size + 1))
        try:
            yield from _records(path, csv.reader(file, strict=True))
        finally:
            csv.field_size_limit(limit)


def _records(path: Path, reader: Any) -> Iterator[Row]:
    header: list[str] | None = None
    start = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise EvalLoadError(f"{shown(path)}:{start}: the row is not CSV: {error}") from None
        line, start = start, reader.line_num + 1
        if not cells:
            continue
        if header is None:
            header = cells
            twice = next((name for name in cells if cells.count(name) > 1), None)
            if twice is not None:
                raise EvalLoadError(f"{shown(path)}:{line}: the header names the column {twice!r} twice; rename one")
        elif len(cells) != len(header):
            raise EvalLoadError(f"{shown(path)}:{line}: the row has {len(cells)} cells, the header {len(header)}")
        else:
            yield Row(dict(zip(header, cells, strict=True)), f"{line}")


def _yaml(path: Path) -> Iterator[Row]:
    try:
        import yaml
    except ImportError:
        raise EvalLoadError(f'{shown(path)}: YAML needs PyYAML: pip install "niceeval[yaml]"') from None
    loader = yaml.SafeLoader(path.read_text(encoding="utf-8-sig"))
    try:
        root = loader.get_single_node()
        if root is None:
            return
        _require_distinct_keys(path, root, set())
        if isinstance(root, yaml.SequenceNode):
            for node in root.value:
                yield Row(loader.construct_object(node, deep=True), f"{node.start_mark.line + 1}")
        elif isinstance(root, yaml.MappingNode):
            for key, node in root.value:
                value = loader.construct_object(node, deep=True)
                yield Row(value, f"{key.start_mark.line + 1}", id=str(key.value))
        else:
            raise EvalLoadError(f"{shown(path)}:1: write a list of rows, or an object of id to row")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        raise EvalLoadError(f"{shown(path)}:{line}: not YAML: {getattr(error, 'problem', None) or error}") from None
    finally:
        loader.dispose()


def _require_distinct_keys(path: Path, node: Any, seen: set[int]) -> None:
    if id(node) in seen or not isinstance(node.value, list):
        return
    seen.add(id(node))
    keys: set[tuple[str, str]] = set()
    for child in node.value:
        if not isinstance(child, tuple):
            _require_distinct_keys(path, child, seen)
            continue
        key, value = child
        if isinstance(key.value, str):
            if (key.tag, key.value) in keys:
                line = key.start_mark.line + 1
                raise EvalLoadError(
                    f"{shown(path)}:{line}: the key {key.value!r} is written twice in one object; keep one"
                )
            keys.add((key.tag, key.value))
        _require_distinct_keys(path, value, seen)


READERS: Mapping[str, Callable[[Path], Iterable[Row]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".csv": _csv,
}
