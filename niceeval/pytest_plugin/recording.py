"""The run of a pytest session: one folder, whoever writes to it.

With pytest-xdist the workers know what is planned and the controller does not. They meet in a folder: each worker
leaves its plan there, the controller starts the run and leaves its path, and the workers join it when they have
something to write. They end their collection before the controller sends the first test, so that nobody has to wait.
"""

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import attrs
import pytest

from niceeval.errors import RecordError
from niceeval.pytest_plugin import EXCHANGE
from niceeval.pytest_plugin.planned import PlannedAttempt, header
from niceeval.pytest_plugin.rates import AskedRate, Rates
from niceeval.pytest_plugin.settings import settings_of
from niceeval.record.lines import FolderSource
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.runner import writer_for

__all__ = ["Recording", "recording_of"]

_RUN: Final = "run"


@final
class Recording:
    """What this process does for the run: starts and seals it, or joins it as a worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        exchange: str | None = getattr(config, "workerinput", {}).get(EXCHANGE)
        self._exchange = None if exchange is None else Path(exchange)
        self._writer: RunWriter | None = None
        self.rates: Rates | None = None
        self.stopped: str | None = None

    def plan(self, planned: Sequence[PlannedAttempt], asked: Sequence[AskedRate]) -> None:
        """Store what is planned, or leave it to the controller.

        Args:
            planned: The selected attempts.
            asked: The rates that they are to decide.

        Raises:
            RecordError: It cannot be written.
        """
        settings = settings_of(self._config)
        document = header(planned, settings.experiments if settings.in_experiments else ())
        if self._exchange is None:
            self._create(document, asked)
        else:
            left = {"plan": document, "asked": [attrs.asdict(each) for each in asked]}
            _leave(self._exchange / f"plan-{secrets.token_hex(4)}", json.dumps(left))

    def start_for_workers(self, exchange: Path) -> None:
        """Start the run with the plan of the first worker that has left one, and say where it is."""
        if self._writer is None:
            plan = next(path for path in exchange.iterdir() if path.name.startswith("plan-"))
            left = json.loads(plan.read_text("ascii"))
            writer = self._create(left["plan"], [AskedRate(**each) for each in left["asked"]])
            _leave(exchange / _RUN, json.dumps(os.fspath(writer.folder)))

    def _create(self, document: Mapping[str, Any], asked: Sequence[AskedRate]) -> RunWriter:
        settings = settings_of(self._config)
        writer = writer_for(settings.record.absolute(), document, settings.secrets)
        assert isinstance(writer, RunWriter)
        self._writer = writer
        if asked:
            self.rates = Rates(self._config, asked, writer.header())
            self._config.pluginmanager.register(self.rates, "niceeval-rates")
        return writer

    def add(self, written: MemoryWriter) -> None:
        """Write what an attempt has left in memory.

        Raises:
            RecordError: It cannot be written.
        """
        writer = self._join()
        for digest in written.digests:
            writer.blob(written.read_blob(digest))
        for line in written.lines:
            writer.append(line)

    def _join(self) -> RunWriter:
        if self._writer is None:
            try:
                if self._exchange is None:
                    raise RecordError("this attempt is not in the plan of the run: name `t` among the test's arguments")
                self._writer = RunWriter.join(Path(json.loads((self._exchange / _RUN).read_text("ascii"))))
            except OSError as error:
                raise RecordError(f"the run of this session is not to be found: {error}") from error
        return self._writer

    def seal(self, *, interrupted: bool, stopped: str | None = None) -> None:
        """Close the run; where attempts are missing that were planned, it was interrupted, whatever the reason.

        Args:
            interrupted: Whether it is known to be.
            stopped: Why nothing more was started, where that is known; it counts where attempts are missing.

        Raises:
            RecordError: The status cannot be written.
        """
        if self._writer is None:
            return
        if self._exchange is None and (stopped is not None or not interrupted):
            ended = sum(1 for _ in FolderSource(self._writer.folder).lines())
            interrupted = ended < self._writer.header().planned()
        self.stopped = stopped if interrupted else None
        self._writer.seal("interrupted" if interrupted else "sealed", stopped=self.stopped)

    @property
    def result(self) -> RunResult | None:
        """What the run says now; None where there is none, and in a worker."""
        return None if self._writer is None or self._exchange is not None else RunResult.from_writer(self._writer)


def _leave(path: Path, text: str) -> None:
    """Write a file that is whole as soon as it is there."""
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(text, "ascii")
    temporary.replace(path)


_key: Final = pytest.StashKey[Recording]()


def recording_of(config: pytest.Config) -> Recording:
    """Return this process's part in the run of the session."""
    return config.stash.setdefault(_key, Recording(config))
