"""A run read together with the runs that it goes on with, as if they were one."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from niceeval.errors import RecordError, RecordWarning
from niceeval.record.layout import Header, blob_path
from niceeval.record.lines import Damaged, FolderSource, Line, RunSource, parse

__all__ = ["AttemptKey", "ChainSource", "attempt_key", "open_source"]


class AttemptKey(NamedTuple):
    """Which planned attempt a line is."""

    eval: str
    case: str | None
    agent: str
    attempt: int

    @property
    def name(self) -> str:
        """The eval's id with the case in brackets."""
        return self.eval if self.case is None else f"{self.eval}[{self.case}]"


def open_source(folder: Path) -> RunSource:
    """Return what reads a run: of one that resumes another, both together.

    Args:
        folder: The run's folder; runs that it resumes are looked for beside it.

    Raises:
        RecordError: `run.json` cannot be read, or the runs resume each other in a circle.
    """
    newest = FolderSource(folder)
    resumed = newest.header().resumes
    if resumed is None:
        return newest
    older, missing = _older(folder, resumed)
    return ChainSource([newest, *older], missing)


def _older(folder: Path, resumed: str) -> tuple[list[FolderSource], str | None]:
    """Return the runs before `folder`, the newest first, and what is said of the one where the chain breaks."""
    beside = folder.absolute().parent
    older = list[FolderSource]()
    seen = [folder.absolute().name]
    wanted: str | None = resumed
    while wanted is not None:
        if wanted in seen:
            circle = " resumes ".join([*seen, wanted])
            raise RecordError(f"the runs in {beside} go in a circle: {circle}; mend 'resumes' in one run.json")
        source = FolderSource(beside / wanted)
        beside_it = wanted not in ("", ".", "..") and Path(wanted).name == wanted
        if not beside_it or not source.folder.is_dir():
            return older, f"{seen[-1]} resumes the run {wanted!r}, which is not in {beside}: its attempts are missing"
        try:
            following = source.header().resumes
        except RecordError as error:
            return older, f"{seen[-1]} resumes the run {wanted!r}, whose attempts are left out: {error}"
        older.append(source)
        seen.append(wanted)
        wanted = following
    return older, None


@final
class ChainSource:
    """Several runs as one: of every planned attempt, the line of the newest run that holds it.

    Args:
        sources: The runs, the newest first; the first one's plan and status count.
        missing: What is warned of, whenever the lines are read, where an older run cannot be.
    """

    __slots__ = ("_keys", "_sources", "folder", "missing")

    def __init__(self, sources: Sequence[FolderSource], missing: str | None = None) -> None:
        self.folder = sources[0].folder
        self._sources = tuple(sources)
        self.missing = missing
        self._keys: dict[FolderSource, tuple[object, frozenset[AttemptKey]]] = {}

    @property
    def older(self) -> tuple[FolderSource, ...]:
        """The runs that the newest one goes on with, the newest of them first."""
        return self._sources[1:]

    def header(self) -> Header:
        """Return what the newest `run.json` says now."""
        return self._sources[0].header()

    def lines(self) -> Iterator[tuple[Line, bytes]]:
        """Yield the lines that count, of the oldest run first; a damaged one is always among them."""
        if self.missing is not None:
            warnings.warn(self.missing, RecordWarning, stacklevel=3)
        for place in reversed(range(len(self._sources))):
            newer = [self.keys_of(source) for source in self._sources[:place]]
            for line, raw in self._sources[place].lines():
                key = _key(raw) if newer else None
                if key is None or not any(key in keys for keys in newer):
                    yield line, raw

    def text(self, line: Line) -> bytes:
        """Return one line again, by its place in its file."""
        return self._sources[0].text(line)

    def blob(self, digest: str) -> bytes:
        """Return a blob's bytes from the newest run that holds them whole."""
        holding = [source for source in self._sources if blob_path(source.folder, digest).exists()]
        for source in holding[:-1]:
            try:
                return source.blob(digest)
            except RecordError:
                continue
        return (holding[-1] if holding else self._sources[0]).blob(digest)

    def signature(self) -> object:
        """Return the names and sizes of the files of every run."""
        return [(source.folder.name, source.signature()) for source in self._sources], self.missing

    def keys_of(self, source: FolderSource) -> frozenset[AttemptKey]:
        """Return which attempts one of the runs holds."""
        signature = source.signature()
        known = self._keys.get(source)
        if known is None or known[0] != signature:
            found = (_key(raw) for _, raw in source.lines())
            known = self._keys[source] = signature, frozenset(key for key in found if key is not None)
        return known[1]


def _key(raw: bytes) -> AttemptKey | None:
    try:
        return attempt_key(parse(raw))
    except Damaged:
        return None


def attempt_key(document: Mapping[str, Any]) -> AttemptKey:
    """Return which planned attempt a document is: eval, case, agent and number."""
    case, number = document.get("case"), document.get("attempt", 1)
    return AttemptKey(
        document["eval"],
        None if case is None else str(case),
        str(document.get("agent") or ""),
        number if isinstance(number, int) else 1,
    )
