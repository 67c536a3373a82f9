"""Names of files made of names that are none: ids, labels and keys may be any text."""

import hashlib
import re
from typing import Final

__all__ = ["safe_file_name"]

_PLAIN: Final = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,79}", re.ASCII)
_ODD: Final = re.compile(r"[^a-z0-9_-]+", re.ASCII)
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.ASCII)
"""Names of devices on Windows, which also take them with an extension ("Naming Files, Paths, and Namespaces")."""
_READABLE: Final = 60


def safe_file_name(text: str) -> str:
    """Return the name of a file for any text, the same one every time and another one for every other text.

    Names differ also where a file system takes letter case or Unicode forms for the same, hold nothing but
    ``a-z 0-9 _ - . ~``, name no device, and leave room for an extension.

    Args:
        text: Any text, also with unpaired surrogates.

    Returns:
        At most 80 characters of ASCII: the text itself where it is such a name, else its readable part, ``~`` and 16
        hexadecimal digits of its SHA-256.

    >>> safe_file_name("greets"), safe_file_name("../x"), safe_file_name("CON")
    ('greets', 'x~d6b96a97d147daaa', 'con~a3dbc4b644a9a2c5')
    """
    if _PLAIN.fullmatch(text) and not text.endswith(".") and not _RESERVED.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    # No plain name holds a tilde, so that none of them can be one of these.
    readable = _ODD.sub("-", text[: 4 * _READABLE].lower()).strip("-")[:_READABLE]
    return f"{readable or '_'}~{digest}"
