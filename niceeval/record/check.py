"""Looking through a record for what was damaged, lost or left behind; nothing is changed and nothing evaluated."""

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, final

import attrs

from niceeval.errors import RecordError, RecordWarning
from niceeval.record.chain import AttemptKey, ChainSource, attempt_key, open_source
from niceeval.record.layout import Header, RunStatus, read_header, run_process
from niceeval.record.lines import Damaged, FolderSource, Line, parse
from niceeval.record.locate import run_folders
from niceeval.record.process import ProcessState
from niceeval.record.remnants import Remnant, find_remnants

__all__ = ["Problem", "RecordCheck", "RunCheck", "check_record"]

_BLOB: Final = re.compile(r"([0-9a-f]{64})\.json\.gz", re.ASCII)


@final
@attrs.frozen
class Problem:
    """One thing that is not as it should be.

    Attributes:
        kind: ``unreadable`` for a run, ``file`` for a file of attempts that cannot be read, ``torn line``,
            ``damaged line``, ``duplicate``, ``blob`` for one that is missing or altered, ``unreferenced blob``,
            ``killed`` for a run whose process is gone, ``unfinished`` for attempts that a sealed run lacks, or
            ``chain`` for a resumed run that is not there.
        place: The file, with the line where there is one.
        message: What is wrong, in a sentence.
    """

    kind: Literal[
        "unreadable", "file", "torn line", "damaged line", "duplicate", "blob", "unreferenced blob", "killed",
        "unfinished", "chain",
    ]  # fmt: skip
    place: str
    message: str


@final
@attrs.frozen
class RunCheck:
    """What was found in one run.

    Attributes:
        id: The name of its folder.
        folder: Where it is.
        status: ``running``, ``sealed`` or ``interrupted``; None where it cannot be read.
        process: Whether the process of a run that is ``running`` is still there; None for other runs.
        format: The version of its format; None where it does not say.
        version: The version of NiceEval that wrote it; None where it does not say.
        planned: How many attempts were meant to run.
        finished: How many of its own attempts can be read.
        resumes: The run that it goes on with.
        problems: What is wrong.
    """

    id: str
    folder: Path
    status: RunStatus | None
    process: ProcessState | None
    format: object
    version: object
    planned: int
    finished: int
    resumes: str | None
    problems: tuple[Problem, ...]


@final
@attrs.frozen
class RecordCheck:
    """What was found in a record.

    Attributes:
        root: The record's folder.
        runs: Its runs, the newest first.
        remnants: What killed processes left behind.
    """

    root: Path
    runs: tuple[RunCheck, ...]
    remnants: tuple[Remnant, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.remnants and not any(run.problems for run in self.runs)


def check_record(root: Path, only: Path | None = None) -> RecordCheck:
    """Look through a record, or one run of it. Values are not compared with what was made of them: `verify_run` does.

    Args:
        root: The record's folder.
        only: Look at this run alone.

    Raises:
        RecordError: The record cannot be read.
    """
    headers = {folder: _header(folder) for folder in run_folders(root)}
    resumed = frozenset(header.resumes for header in headers.values() if header is not None and header.resumes)
    folders = sorted(headers, key=lambda folder: _age(folder, headers[folder]), reverse=True)
    checked = tuple(_Checker(folder, resumed).result() for folder in ([only] if only else folders))
    return RecordCheck(root, checked, tuple(find_remnants(root, only)))


def _header(folder: Path) -> Header | None:
    try:
        return read_header(folder)
    except RecordError:
        return None


def _age(folder: Path, header: Header | None) -> tuple[str, float, str]:
    """Return what sorts runs by time: names tell the second, and only `run.json` what comes after it."""
    return folder.name[:15], 0.0 if header is None else header.started.timestamp(), folder.name


@final
class _Checker:
    """One run, read from its beginning to its end."""

    def __init__(self, folder: Path, resumed: frozenset[str]) -> None:
        self._folder = folder
        self._source = FolderSource(folder)
        self._resumed = folder.name in resumed
        self._problems: list[Problem] = []
        self._seen: dict[AttemptKey, Line] = {}
        self._ids: dict[str, Line] = {}
        self._blobs: dict[str, Line] = {}
        self._process: ProcessState | None = None

    def result(self) -> RunCheck:
        """Return what was found."""
        document = _raw_header(self._folder)
        try:
            # Before anything else is read: what a process that is gone has written stays as it is.
            self._process = run_process(self._folder)
            header = self._source.header()
        except RecordError as error:
            self._problem("unreadable", "run.json", str(error))
            return self._checked(None, document)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RecordWarning)
            self._read_lines()
        for each in caught:
            self._problem("file", "attempts", str(each.message))
        for digest, line in self._blobs.items():
            try:
                self._source.blob(digest)
            except RecordError as error:
                self._problem("blob", self._place(line), str(error))
        self._look_for_unreferenced()
        self._count(header)
        return self._checked(header, document)

    def _checked(self, header: Header | None, document: Mapping[str, Any]) -> RunCheck:
        return RunCheck(
            id=self._folder.name,
            folder=self._folder,
            status=None if header is None else header.status,
            process=self._process,
            format=document.get("format"),
            version=document.get("niceeval"),
            planned=0 if header is None else header.planned(),
            finished=len(self._seen),
            resumes=None if header is None else header.resumes,
            problems=tuple(self._problems),
        )

    @property
    def _in_progress(self) -> bool:
        return self._process in ("alive", "unknown")

    def _problem(self, kind: Any, place: str, message: str) -> None:
        self._problems.append(Problem(kind, place, message))

    def _place(self, line: Line) -> str:
        return f"{Path(line.file).name}, line {line.number}"

    def _read_lines(self) -> None:
        for line, raw in self._source.lines():
            try:
                document = parse(raw)
            except Damaged as error:
                torn = not raw.endswith(b"\n")
                # What a living process has not finished writing is not torn.
                if not (torn and self._in_progress):
                    self._problem("torn line" if torn else "damaged line", self._place(line), str(error))
                continue
            self._take(line, document)

    def _take(self, line: Line, document: Mapping[str, Any]) -> None:
        key, identity = attempt_key(document), document["id"]
        first = self._seen.setdefault(key, line)
        if first is not line:
            what = f"attempt {key.attempt} of {key.name}" + (f" by {key.agent}" if key.agent else "")
            self._problem("duplicate", self._place(line), f"{what} is already in {self._place(first)}")
        elif (other := self._ids.setdefault(identity, line)) is not line:
            self._problem("duplicate", self._place(line), f"the id {identity} is already in {self._place(other)}")
        for digest in _blobs_of(document):
            self._blobs.setdefault(digest, line)

    def _look_for_unreferenced(self) -> None:
        if self._in_progress:
            return
        for path in sorted(self._folder.glob("blobs/*")):
            found = _BLOB.fullmatch(path.name)
            if found is not None and found[1] not in self._blobs:
                self._problem("unreferenced blob", f"blobs/{path.name}", "no attempt that can be read needs it")

    def _count(self, header: Header) -> None:
        together, planned = self._together(), header.planned()
        ended = f"{together} of {planned} planned attempts have ended"
        if self._process == "gone" and not self._resumed:
            remedy = f"; niceeval resume {header.id} runs the rest" if 0 < together < planned else ""
            self._problem("killed", "run.json", f"its process is gone; {ended}{remedy}")
        elif header.status == "sealed" and header.stopped is None and together < planned:
            self._problem("unfinished", "run.json", f"the run went to its end, but only {ended}")

    def _together(self) -> int:
        """Return how many attempts have ended in this run and those that it goes on with."""
        try:
            source = open_source(self._folder)
        except RecordError as error:
            self._problem("chain", "run.json", str(error))
            return len(self._seen)
        if not isinstance(source, ChainSource):
            return len(self._seen)
        if source.missing is not None:
            self._problem("chain", "run.json", source.missing)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecordWarning)
            return len(set(self._seen).union(*map(source.keys_of, source.older)))


def _raw_header(folder: Path) -> Mapping[str, Any]:
    try:
        document = json.loads((folder / "run.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _blobs_of(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the digests of the blobs that an attempt needs."""
    subjects, sessions = document.get("subjects"), document.get("sessions")
    needing = [*subjects.values()] if isinstance(subjects, dict) else []
    digests = [each.get("blob") for each in needing if isinstance(each, dict)]
    if isinstance(sessions, dict):
        digests.append(sessions.get("sha256"))
    yield from (digest for digest in digests if isinstance(digest, str))
