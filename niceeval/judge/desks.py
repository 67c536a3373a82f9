"""The judges of one run: one desk for each that is configured, shared by all attempts."""

import contextlib
import warnings
from pathlib import Path
from typing import Final, final

import attrs

from niceeval.errors import JudgeWarning
from niceeval.judge.desk import Hearer, JudgeDesk
from niceeval.judge_config import JudgeConfig
from niceeval.retries import Backoff

__all__ = ["NO_JUDGE", "Desks", "Warns"]

NO_JUDGE: Final = JudgeConfig()
"""What stands where no judge is configured: it has no model."""


class Warns:
    """Says what goes wrong as Python warnings, where nothing shows the run."""

    def noted(self, text: str) -> None:
        """Warn."""
        # Where warnings are errors, one that ended a check would pass for a broken match.
        with contextlib.suppress(JudgeWarning):
            warnings.warn(text, JudgeWarning, stacklevel=2)

    def hopeless(self, text: str, config: JudgeConfig) -> None:
        """Warn."""
        self.noted(text)


@final
class Desks:
    """One desk for each judge of a run, opened when it is first needed.

    Args:
        usual: The judge where nothing else is said.
        cache: The folder of the cache, in place of what the judges say.
        backoff: How long to wait before a call is made again.
        hearer: Told what goes wrong.
    """

    def __init__(self, usual: JudgeConfig | None, cache: Path | None, backoff: Backoff, hearer: Hearer) -> None:
        self._usual = usual or NO_JUDGE
        self._cache = cache
        self._backoff = backoff
        self._hearer = hearer
        self._desks: dict[JudgeConfig, JudgeDesk] = {}

    def config(self, own: JudgeConfig | None) -> JudgeConfig:
        """Return the judge that counts: an experiment's own, or the usual one."""
        config = own or self._usual
        return config if self._cache is None else attrs.evolve(config, cache=self._cache)

    def of(self, own: JudgeConfig | None) -> JudgeDesk:
        """Return the desk of an experiment's own judge, or of the usual one.

        Raises:
            ConfigError: Its cache cannot be used.
        """
        config = self.config(own)
        desk = self._desks.get(config)
        if desk is None:
            desk = self._desks[config] = JudgeDesk(config, self._backoff, self._hearer)
        return desk

    async def aclose(self) -> None:
        """Close every connection."""
        for desk in self._desks.values():
            await desk.aclose()
