"""Files that are there whole or not at all."""

import os
import re
import secrets
from pathlib import Path
from typing import Final

__all__ = ["is_temporary", "write_atomically"]

_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{8}", re.DOTALL)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name beside `path` and rename it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_temporary(name: str) -> bool:
    """Tell whether a file's name is one that `write_atomically` gives until the file is whole."""
    return _TEMPORARY.fullmatch(name) is not None
