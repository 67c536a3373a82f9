"""How files hold conversations, and their records, each parsed when it is asked for."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

import attrs

from niceeval.errors import EvalLoadError
from niceeval.transcripts._scanning import Places
from niceeval_expect._paths import Blocked, parse_path, resolve

__all__ = ["Records", "Shape", "text_of", "value_at"]


@final
@attrs.frozen(kw_only=True)
class Shape:
    """How files hold conversations.

    Attributes:
        format: The name of a format, or ``"auto"``.
        messages: The path to the messages within a record; None where they are looked for.
        ids: The paths to what makes up a conversation's id; empty where it is looked for.
        group_by: The path to what tells conversations apart where every record is a single message.
    """

    format: str = "auto"
    messages: str | None = None
    ids: Sequence[str] = ()
    group_by: str | None = None

    def __attrs_post_init__(self) -> None:
        for name, path in [("messages", self.messages), ("group-by", self.group_by), *(("id", x) for x in self.ids)]:
            if path is not None:
                parse_path(path, name)


@final
class Records:
    """The records of a file, each parsed when it is asked for."""

    def __init__(self, path: Path, name: str, places: Places, joint: str) -> None:
        self._path, self._name, self._places, self._joint = path, name, places, joint

    def __len__(self) -> int:
        return len(self._places)

    def place(self, index: int) -> str:
        return f"{self._name}{self._joint}{self._places.number(index)}"

    def first(self) -> Any:
        """Return the first record that can be read."""
        for index in range(min(len(self), 100)):
            try:
                return self.value(index)
            except EvalLoadError:
                continue
        return None

    def value(self, index: int) -> Any:
        try:
            with self._path.open("rb") as file:
                raw = self._places.read(file, index)
            return json.loads(raw)
        except OSError as error:
            raise EvalLoadError(f"{self.place(index)} cannot be read: {error.strerror or error}") from None
        except RecursionError:
            raise EvalLoadError(f"{self.place(index)} is nested too deeply to be read") from None
        except json.JSONDecodeError as error:
            raise EvalLoadError(
                f"{self.place(index)} is not JSON: {error.msg} at character {error.pos + 1:,}"
            ) from None
        except ValueError as error:
            raise EvalLoadError(f"{self.place(index)} is not JSON: {error}") from None

    def values(self) -> Iterator[tuple[int, Any]]:
        """Yield the records with their indexes; None for one that cannot be read."""
        with self._path.open("rb") as file:
            for index in range(len(self)):
                try:
                    yield index, json.loads(self._places.read(file, index))
                except (ValueError, RecursionError):
                    yield index, None


def value_at(value: Any, path: str) -> Any:
    """Return what is at a path, or None where nothing is."""
    found = resolve(value, parse_path(path, "a path"))
    return None if isinstance(found, Blocked) else found


def text_of(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip() else None
