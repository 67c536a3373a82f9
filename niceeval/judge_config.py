"""Which model judges, where it is reached, and within which limits."""

import difflib
import os
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, Self, final
from urllib.parse import urlsplit

import attrs

__all__ = ["PROVIDERS", "JudgeConfig", "judge_named"]

PROVIDERS: Final = ("openai", "anthropic")
_KEYS: Final[Mapping[str, str]] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_URLS: Final[Mapping[str, str]] = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


@final
@attrs.frozen(kw_only=True)
class JudgeConfig:
    """The model that answers judge matches, and how it is called.

    The key is never part of it: `key_variable` names the environment variable that holds the key, and its value is
    kept out of everything that is stored or printed.

    Args:
        model: The name of the model, as its provider knows it; without one every judge match is unavailable.
        provider: The protocol: ``"openai"`` for chat completions of any endpoint that speaks them, ``"anthropic"`` for
            messages.
        base_url: Where the endpoint is; that of the provider by default.
        key_variable: The environment variable with the key; ``OPENAI_API_KEY`` or ``ANTHROPIC_API_KEY`` by default,
            and ``""`` for an endpoint that takes no key.
        timeout: Seconds that one call may take, above 0.
        temperature: What is asked of the model, 0 or more; None says nothing, which some models insist on.
        max_tokens: How long a reply may get, in tokens; None leaves it to the provider, with Anthropic 2,048.
        concurrency: How many calls are made at a time, at least 1.
        samples: How many independent answers are averaged for each judge match, at least 1.
        retries: How often a call is made again that reached nobody, 0 or more.
        structured: Whether the reply is asked for as JSON by a schema; False where an endpoint cannot do that.
        cache: The folder where answers are kept and taken from; None for no cache.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: A number is out of its range, or a name or address cannot be used.

    >>> JudgeConfig(model="small").key_name
    'OPENAI_API_KEY'
    """

    model: str | None = None
    provider: Literal["openai", "anthropic"] = "openai"
    base_url: str | None = None
    key_variable: str | None = None
    timeout: float = 60.0
    temperature: float | None = None
    max_tokens: int | None = None
    concurrency: int = 10
    samples: int = 1
    retries: int = 2
    structured: bool = True
    cache: str | Path | None = None

    def __attrs_post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise ValueError(f"provider is one of {', '.join(PROVIDERS)}, got {self.provider!r}")
        for name in ("model", "base_url"):
            _text(name, getattr(self, name))
        if self.base_url is not None:
            _address(self.base_url)
        variable = self.key_variable
        if variable is not None and (not isinstance(variable, str) or (variable and not variable.isidentifier())):
            raise ValueError(
                "key_variable names the environment variable that holds the key, and is not the key itself; "
                "what was given is no such name"
            )
        _number("timeout", self.timeout, above=0)
        if self.temperature is not None:
            _number("temperature", self.temperature, least=0)
        _count("max_tokens", 1 if self.max_tokens is None else self.max_tokens, 1)
        _count("concurrency", self.concurrency, 1)
        _count("samples", self.samples, 1)
        _count("retries", self.retries, 0)
        if not isinstance(self.structured, bool):
            raise TypeError(f"structured is True or False, got {self.structured!r:.80}")
        if self.cache is not None and not isinstance(self.cache, str | Path):
            raise TypeError(f"cache is the path of a folder, got {self.cache!r:.80}")

    @property
    def key_name(self) -> str | None:
        """The environment variable with the key; None for an endpoint that takes none."""
        return (_KEYS[self.provider] if self.key_variable is None else self.key_variable) or None

    @property
    def url(self) -> str:
        """Where the endpoint is."""
        return (self.base_url or _URLS[self.provider]).rstrip("/")

    def key(self) -> str | None:
        """Return the key as the environment has it now; None where it is not set or blank."""
        return None if self.key_name is None else os.environ.get(self.key_name, "").strip() or None

    def settings(self) -> dict[str, Any]:
        """Return what decides an answer, as an entry and `run.json` keep it."""
        given = {
            "provider": self.provider,
            "model": self.model,
            "base_url": self.url,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "structured": self.structured,
            "samples": self.samples,
        }
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def from_table(cls, table: Mapping[str, Any], root: Path) -> Self:
        """Return what a table ``[tool.niceeval.judge]`` says; a relative cache is meant from `root`.

        Raises:
            TypeError, ValueError: A key or a value cannot be used.
        """
        names = [field.name for field in attrs.fields(cls)]
        for key in table:
            if key not in names:
                near = difflib.get_close_matches(key, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"
                raise ValueError(f"there is no key {key!r}; {hint}")
        made = cls(**table)
        return made if made.cache is None else attrs.evolve(made, cache=root / made.cache)


def judge_named(text: str, base: JudgeConfig | None) -> JudgeConfig:
    """Return the judge that ``[provider:]model`` names; what it does not say is as in `base`.

    Raises:
        ValueError: It names no model.

    >>> judge_named("anthropic:large", JudgeConfig(model="small", base_url="http://localhost/v1")).url
    'https://api.anthropic.com'
    >>> judge_named("llama3:8b", None).model
    'llama3:8b'
    """
    before = JudgeConfig() if base is None else base
    head, colon, rest = text.partition(":")
    provider, model = (head, rest) if colon and head in PROVIDERS else (before.provider, text)
    if not model.strip():
        raise ValueError(f"{text!r} names no model; write MODEL, openai:MODEL or anthropic:MODEL")
    if provider == before.provider:
        return attrs.evolve(before, model=model)
    # Another provider has another address and another key.
    other: Literal["openai", "anthropic"] = "anthropic" if provider == "anthropic" else "openai"
    return attrs.evolve(before, provider=other, model=model, base_url=None, key_variable=None)


def _text(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, got {value!r:.80}")
    if not value.strip() or value != value.strip() or not value.isprintable():
        raise ValueError(f"{name} is {value!r:.80}; give a text that is not blank, without spaces around it")


def _address(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(
            f"base_url is {url!r:.200}; it begins with http:// or https:// and names a host, with a port or none"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        # It is stored with every result.
        raise ValueError("base_url holds a user, a password, a query or a fragment; put the key into key_variable")


def _number(name: str, value: object, *, least: float | None = None, above: float | None = None) -> None:
    limit = f"of {least} or more" if above is None else f"above {above}"
    try:
        good = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        good = False
    if not good:
        raise TypeError(f"{name} is a finite number {limit}, got {value!r:.80}")
    assert isinstance(value, int | float)
    if (least is not None and value < least) or (above is not None and value <= above):
        raise ValueError(f"{name} is a finite number {limit}, got {value!r:.80}")


def _count(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a whole number of at least {least}, got {value!r:.80}")
    if value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, got {value!r:.80}")
