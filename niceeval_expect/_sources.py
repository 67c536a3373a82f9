"""What an answer is held against: source texts, and how a check says how much of the answer it looked at."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final

from niceeval_expect._evaluation import Diagnostic, Evaluation

__all__ = ["UNSPACED", "examined", "options", "plural", "read_flag", "read_sources"]

UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""The characters, as a set of a regular expression, of scripts that put no spaces between words."""


def read_sources(owner: str, source: object) -> tuple[str, ...]:
    """Return the source texts that an argument holds: one text, or several.

    Raises:
        TypeError: If it is neither text nor a collection of texts.
    """
    if isinstance(source, str):
        return (str.__str__(source),)
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise TypeError(
            f"{owner} takes a source text or a list of them, got {source!r:.200}; give what is in it as text"
        )
    texts = sorted(source, key=repr) if isinstance(source, set | frozenset) else list(source)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{owner} takes source texts, got {text!r:.200} in the list; give what is in it as text")
    return tuple(str.__str__(text) for text in texts)


def options(args: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """Return the arguments of a spec that were given by name."""
    return {name: value for name, value in args.items() if name not in without}


def read_flag(owner: str, name: str, value: object) -> bool:
    """Return an option that is on or off.

    Raises:
        TypeError: If it is no bool.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{owner} takes {name}=True or {name}=False, got {value!r:.200}")
    return value


def plural(count: int, noun: str) -> str:
    """Return ``1 number`` or ``2 numbers``.

    >>> plural(1, "number"), plural(1_200, "number")
    ('1 number', '1,200 numbers')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@functools.lru_cache(maxsize=1024)
def examined(count: int, noun: str) -> Evaluation:
    """Return the match of a check that looked at so many things of this kind; at none, and it says so."""
    message = f"{plural(count, noun)} checked" if count else f"the text holds no {noun}, so that none was checked"
    return Evaluation("matched", Diagnostic("matched", message), examined=count)
