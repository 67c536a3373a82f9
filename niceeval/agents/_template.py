"""Requests as templates: JSON in which ``{message}`` and other names stand for what a turn is about."""

import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, Final

from niceeval.agents.base import AgentContext
from niceeval.errors import AgentUnavailable, told
from niceeval.redaction import register_secret
from niceeval_expect._freeze import freeze

__all__ = [
    "MISSING",
    "Names",
    "encoded",
    "environment",
    "fill",
    "fill_text",
    "keep_secret",
    "names_of",
    "remember",
    "seconds",
    "template",
    "texts",
    "uses",
]

MISSING: Final[Any] = object()
"""What stands in the place of a name that has no value in this turn."""

Names = Callable[[str], Any]
"""Gives the value of a name, or `MISSING`."""

_NAME: Final = re.compile(r"\{(\{)?([A-Za-z_][A-Za-z0-9_.:\-]*)\}(?(1)\})")
_PLAIN: Final = ("message", "history", "messages", "model", "flags", "attempt", "output_schema")
_FAMILIES: Final = ("session.", "flags.", "env:")
_HISTORY: Final = "niceeval.history"
_LEAST_SECRET: Final = 8
_SECRET_NAMES: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def template(value: Any, where: str) -> Any:
    """Return a private copy of a template whose names are all known.

    Raises:
        TypeError: It is not made of what JSON is made of.
        ValueError: A name in it is unknown.
    """
    for name in _names_in(value, where):
        if name not in _PLAIN and not any(name.startswith(one) and name != one for one in _FAMILIES):
            known = ", ".join([f"{{{one}}}" for one in _PLAIN] + ["{session.NAME}", "{flags.NAME}", "{env:NAME}"])
            raise ValueError(
                f"{where} has {{{name}}}, and what can be filled in is {known}; write {{{{{name}}}}} for text"
            )
    return freeze(value)


def texts(given: Mapping[str, str] | None, where: str) -> dict[str, str]:
    """Return a copy of a mapping of names to templates of text.

    Raises:
        TypeError: A name or a value is no text.
        ValueError: A name in a value is unknown.
    """
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{where} maps names to texts, got {given!r:.100}")
    for name, value in (given or {}).items():
        if not isinstance(value, str):
            raise TypeError(f"{where} maps names to texts, got {value!r:.100} for {name!r:.100}")
    return dict(template(given or {}, where))


def encoded(value: Any) -> bytes:
    """Return a request as JSON.

    Raises:
        AgentUnavailable: It is not made of what JSON is made of.
    """
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise AgentUnavailable(f"the request cannot be sent: {told(error)}", retryable=False) from error


def _names_in(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, str):
        yield from (found[2] for found in _NAME.finditer(value) if not found[1])
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where} is JSON, whose keys are text, got the key {key!r:.100}")
            yield from _names_in(item, where)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names_in(item, where)
    elif value is not None and not isinstance(value, bool | int | float):
        raise TypeError(f"{where} is made of JSON values, got {value!r:.100}; for anything else give a function")


def uses(value: Any, names: tuple[str, ...]) -> bool:
    """Tell whether a template has one of these names."""
    return any(name in names for name in _names_in(value, ""))


def fill(value: Any, names: Names) -> Any:
    """Return a template with everything filled in: a text that is one name becomes its value, of whatever type.

    A key or an item whose value is `MISSING` is left out.

    >>> values = {"message": "Hi", "history": [], "model": MISSING}
    >>> fill({"text": "{message}", "earlier": "{history}", "model": "{model}", "who": "user: {message}"}, values.get)
    {'text': 'Hi', 'earlier': [], 'who': 'user: Hi'}
    """
    if isinstance(value, str):
        whole = _NAME.fullmatch(value)
        return names(whole[2]) if whole is not None and not whole[1] else fill_text(value, names)
    if isinstance(value, Mapping):
        pairs = ((key, fill(item, names)) for key, item in value.items())
        return {key: item for key, item in pairs if item is not MISSING}
    if isinstance(value, list | tuple):
        return [item for item in (fill(each, names) for each in value) if item is not MISSING]
    return value


def fill_text(text: str, names: Names, quote: Callable[[str, str], str] = lambda _, value: value) -> str:
    """Return a text with its names filled in; what is no text stands there as JSON.

    Args:
        text: The template.
        names: Gives the values.
        quote: Makes of a name and its value, as text, what stands there.

    Raises:
        AgentUnavailable: A name has no value, and within a text it cannot be left out.
    """

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:-1]
        value = names(found[2])
        if value is MISSING:
            raise AgentUnavailable(
                f"the request has {found[0]} within a text, and there is no such value in this turn", retryable=False
            )
        return quote(found[2], value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    return _NAME.sub(one, text)


def names_of(message: str, ctx: AgentContext, *, own_id: bool) -> Names:
    """Return what gives the values of one turn.

    Args:
        message: The user's message.
        ctx: The context of the turn.
        own_id: Whether the session's id is made up here, since the agent gives none.
    """
    if own_id:
        ctx.session.setdefault("id", uuid.uuid4().hex)

    def value(name: str) -> Any:
        family, _, rest = name.partition("." if ":" not in name else ":")
        if family == "session":
            return ctx.session.get(rest, MISSING)
        if family == "env":
            return environment(rest)
        if family == "flags" and rest:
            return ctx.flags.get(rest, MISSING)
        earlier = [dict(each) for each in ctx.session.get(_HISTORY, ())]
        given: Any = {
            "message": message,
            "history": earlier,
            "messages": [*earlier, {"role": "user", "content": message}],
            "model": ctx.model,
            "flags": dict(ctx.flags),
            "attempt": ctx.attempt,
            "output_schema": ctx.output_schema,
        }[name]
        return MISSING if given is None else given

    return value


def remember(message: str, answer: str, ctx: AgentContext) -> None:
    """Keep what was said in a turn for the history of the next."""
    said = [{"role": "user", "content": message}]
    if answer:
        said.append({"role": "assistant", "content": answer})
    ctx.session[_HISTORY] = (*ctx.session.get(_HISTORY, ()), *said)


def seconds(name: str, value: float | None) -> float | None:
    """Return a number of seconds above 0, or None.

    Raises:
        ValueError: It is something else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise ValueError(f"{name} is a number of seconds above 0, or None for no limit, got {value!r:.100}")
    return value


def environment(name: str) -> str:
    """Return an environment variable, which is kept out of everything that is stored where it is long enough for that.

    Raises:
        AgentUnavailable: It is not set.
    """
    value = os.environ.get(name, "")
    if not value.strip():
        raise AgentUnavailable(f"the environment variable {name} is not set, and the agent needs it", retryable=False)
    if len(value.strip()) >= _LEAST_SECRET:
        register_secret(name, value)
    return value.strip()


def keep_secret(name: str, value: str) -> None:
    """Keep a variable out of everything that is stored, if its name says that it holds a secret."""
    if name.upper().endswith(_SECRET_NAMES) and len(value.strip()) >= _LEAST_SECRET:
        register_secret(name, value)
