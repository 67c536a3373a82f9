"""Answers of judges that are kept in files, each under a digest of everything that decides it."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

import attrs

from niceeval.errors import ConfigError
from niceeval.judge.providers import Answer

__all__ = ["AnswerCache", "Kept", "cache_key"]

_FORMAT: Final = 1
_TAG: Final = "CACHEDIR.TAG"
_SIGNATURE: Final = "Signature: 8a477f597d28d172789f06886806bc55\n# Answers of judges, kept by niceeval.\n"
"""What marks a folder as a cache (Bryan Ford, "Cache Directory Tagging Specification"), so that backups leave it."""


@final
@attrs.frozen
class Kept:
    """An answer from the cache, and when it was given."""

    answer: Answer
    date: str


def cache_key(**parts: Any) -> str:
    """Return the digest of everything that decides an answer.

    >>> cache_key(model="a") == cache_key(model="b")
    False
    """
    text = json.dumps({"format": _FORMAT, **parts}, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@final
class AnswerCache:
    """The files of one folder; several processes may share it.

    Args:
        folder: The folder, made where it is not there.
        warn: Told in a sentence of what cannot be used.

    Raises:
        ConfigError: The folder cannot be used, or holds something else.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._warn = warn
        self._silent = False
        try:
            _prepare(folder)
        except OSError as error:
            raise ConfigError(f"the judge cache {folder} cannot be used: {error.strerror or error}") from error

    def path(self, key: str) -> Path:
        """Return the file of an answer."""
        return self._folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Kept | None:
        """Return the answer under a key; None where there is none that can be used."""
        path = self.path(key)
        try:
            document = json.loads(path.read_bytes())
            return _kept(document, key)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.damaged(key, str(error) if isinstance(error, OSError) else "it is not what was written")
            return None

    def damaged(self, key: str, why: str) -> None:
        """Say that an answer is not used."""
        self._warn(f"the judge cache's file {self.path(key)} is left out, and the judge asked again: {why}")

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer, whole or not at all; a folder that cannot be written is said once."""
        document = {
            "format": _FORMAT,
            "key": key,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "answer": attrs.asdict(answer),
        }
        document["check"] = _check(document)
        path = self.path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    json.dump(document, file)
                os.replace(name, path)
            except BaseException:
                os.unlink(name)
                raise
        except OSError as error:
            if not self._silent:
                self._silent = True
                self._warn(f"the judge cache {self._folder} cannot be written: {error.strerror or error}")


def _prepare(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"the judge cache {folder} is a file; name a folder: --judge-cache=DIR")
    folder.mkdir(parents=True, exist_ok=True)
    tag = folder / _TAG
    if tag.is_file():
        return
    if any(not each.name.startswith(_TAG) for each in folder.iterdir()):
        raise ConfigError(
            f"the judge cache {folder} is a folder that holds something else; give another one as --judge-cache=DIR, "
            "or put --judge-cache last for the usual one"
        )
    handle, name = tempfile.mkstemp(dir=folder, prefix=_TAG)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(_SIGNATURE)
    os.replace(name, tag)


def _check(document: Mapping[str, Any]) -> str:
    return cache_key(**{f"kept_{name}": value for name, value in document.items() if name != "check"})


def _kept(document: Any, key: str) -> Kept:
    if document["format"] != _FORMAT or document["key"] != key or document["check"] != _check(document):
        raise ValueError(key)
    return Kept(Answer(**document["answer"]), document["date"])
