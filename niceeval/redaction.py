"""Secrets: which texts they are, and how they are kept out of everything that is stored or printed.

Known are the secrets that were registered, the environment variables that `[tool.niceeval] secrets` names, and the
variables whose names end in KEY, TOKEN, SECRET or PASSWORD (values of 8 characters and more that are neither numbers
nor booleans). A secret that nobody made known is not promised to be found.
"""

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, final

import attrs

from niceeval._secret_forms import CUT, SecretForms, forms_of
from niceeval._secret_trees import join_pieces, needs_look, redact_node
from niceeval_expect._codec import dumps

__all__ = ["CUT", "Redactor", "ShortSecretWarning", "current_redactor", "growing_redactor", "register_secret"]

_ENDINGS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORT: Final = 8


class ShortSecretWarning(UserWarning):
    """A registered secret is so short that replacing it may destroy ordinary text."""


@final
@attrs.frozen
class Redactor:
    """The secrets that are known at one moment; immutable, and shared as long as nothing changes.

    Attributes:
        secrets: What is looked for, the longest value first.
    """

    secrets: tuple[SecretForms, ...] = attrs.field(default=(), repr=lambda secrets: f"<{len(secrets)} secrets>")
    _exotic: bool = attrs.field(init=False, repr=False)
    # All forms of all secrets, each behind the text without which it cannot be there.
    _probes: tuple[tuple[str, SecretForms], ...] = attrs.field(init=False, repr=False)
    # Of a secret that is split over two pieces of a stream, one of the two halves is whole.
    _halves: tuple[str, ...] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        probes = tuple((form.anchor, secret) for secret in self.secrets for form in secret.forms)
        object.__setattr__(self, "_probes", probes)
        object.__setattr__(self, "_halves", tuple(half for secret in self.secrets for half in secret.halves))
        object.__setattr__(self, "_exotic", any(secret.exotic for secret in self.secrets))

    @classmethod
    def of(cls, secrets: Iterable[tuple[str, str]]) -> "Redactor":
        """Return a redactor for pairs of name and value; of two names for one value the first counts."""
        named: dict[str, str] = {}
        for name, value in secrets:
            # A line end that came with a file is no part of what is sent.
            for text in (value, value.strip()):
                if text:
                    named.setdefault(text, name)
        longest_first = sorted(named.items(), key=lambda item: -len(item[0]))
        return cls(tuple(forms_of(name, value) for value, name in longest_first))

    def joined(self, other: "Redactor") -> "Redactor":
        """Return a redactor for the secrets of both."""
        if other is self:
            return self
        secrets = dict.fromkeys((*self.secrets, *other.secrets))
        return Redactor(tuple(sorted(secrets, key=lambda secret: -len(secret.forms[0].text))))

    def touches(self, text: str) -> bool:
        """Return whether encoded JSON text may hold a form of a secret; no false "no"."""
        for anchor, secret in self._probes:
            if anchor in text and secret.occurs(text):
                return True
        if any(half in text for half in self._halves):
            return True
        return self._exotic and needs_look(text)

    def redact_text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the text with ``[redacted:NAME]`` in place of each form, and the names, sorted.

        Next to a mark that something was cut off, the rest of a form counts as one. Where forms of several secrets
        overlap, everything they cover is replaced once, by the name of the longest.

        >>> Redactor.of([("API", "sk-secret-1")]).redact_text("key=sk%2Dsecret-1;")
        ('key=[redacted:API];', ('API',))
        """
        parts: list[str] = []
        names: set[str] = set()
        done = 0
        for start, end, ranks in self._spans(text):
            parts.append(text[done:start])
            parts.append(self._stand_in(ranks))
            names.update(self.secrets[rank].name for rank in ranks)
            done = end
        if not names:
            return text, ()
        parts.append(text[done:])
        return "".join(parts), tuple(sorted(names))

    def _stand_in(self, ranks: set[int]) -> str:
        return f"[redacted:{self.secrets[min(ranks)].name}]"

    def _spans(self, text: str) -> list[tuple[int, int, set[int]]]:
        """Return what is replaced in a text, in order: from where to where, and which secrets are in it."""
        spans: list[tuple[int, int, int]] = []
        for rank, secret in enumerate(self.secrets):
            if secret.occurs(text):
                spans.extend((start, end, rank) for start, end in secret.spans(text))
            if CUT in text:
                spans.extend((start, end, rank) for start, end in secret.cut_spans(text))
        merged: list[tuple[int, int, set[int]]] = []
        for start, end, rank in sorted(spans):
            if merged and start < merged[-1][1]:
                first, last, ranks = merged[-1]
                merged[-1] = (first, max(last, end), ranks | {rank})
            else:
                merged.append((start, end, {rank}))
        return merged

    def redact_tree(self, tree: Any) -> tuple[Any, tuple[str, ...]]:
        """Return an encoded tree without any form of a secret in its texts, keys, numbers and bytes, and the names.

        The tree itself is not changed, and is returned as it is where nothing was found. What was found in a number or
        in another value that is no text (a Decimal, a date) makes that value text. A secret that the pieces of a list
        spell only together, as those of a stream do, is replaced in the first of them and taken out of the others.
        """
        if not self.secrets:
            return tree, ()
        names: set[str] = set()

        def replace(text: str) -> str:
            redacted, found = self.redact_text(text)
            names.update(found)
            return redacted

        try:
            clean = redact_node(tree, replace)
            for ranks in join_pieces(clean, self._spans, self._stand_in):
                names.update(self.secrets[rank].name for rank in ranks)
        except RecursionError:
            # Those who called had nearly used up the stack; the text of the tree is safe to keep.
            clean = replace(dumps(tree))
        return (clean, tuple(sorted(names))) if names else (tree, ())


_NOTHING: Final = Redactor()
_lock: Final = threading.Lock()
_registered: tuple[tuple[str, str], ...] = ()
# What the last redactor was made from, and that redactor: replaced together, in one assignment.
_last: tuple[object, object, object, Redactor] = (None, None, None, _NOTHING)


def register_secret(name: str, value: str, /) -> None:
    """Keep a text out of everything that NiceEval stores or prints from now on.

    It is replaced by ``[redacted:NAME]`` wherever it stands raw, JSON-escaped, percent-encoded or in base64. Checks
    still read the real value. Attempts that have started already are not changed.

    Args:
        name: What stands in its place; letters, digits and ``_ . -``.
        value: The secret, not blank.

    Raises:
        TypeError: An argument is no text.
        ValueError: `value` is empty or blank, or `name` has other characters.

    Warns:
        ShortSecretWarning: `value` has fewer than 8 characters: ordinary text that holds it is replaced as well.

    >>> register_secret("DOCS", "sk-example-0123456789")
    >>> current_redactor().redact_text("Bearer sk-example-0123456789")[0]
    'Bearer [redacted:DOCS]'
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a secret must be text, got {type(name).__name__}; pass the name first")
    if not name or not all(character.isalnum() or character in "_.-" for character in name):
        raise ValueError(f"the name of a secret must be made of letters, digits and _ . -, got {name!r}")
    if not isinstance(value, str):
        raise TypeError(f"the secret {name!r} must be text, got {type(value).__name__}; decode bytes before")
    if not value.strip():
        raise ValueError(f"the secret {name!r} is empty; register it only where it is set")
    if len(value.strip()) < _SHORT:
        warnings.warn(
            f"the secret {name!r} has fewer than {_SHORT} characters: ordinary text that holds it is replaced too",
            ShortSecretWarning,
            stacklevel=2,
        )
    global _registered
    with _lock:
        if (name, value) not in _registered:
            _registered = (*_registered, (name, value))


def forget_secrets() -> None:
    """Forget what was registered; for tests."""
    global _registered
    with _lock:
        _registered = ()


def current_redactor(declared: tuple[str, ...] = (), environ: Mapping[str, str] | None = None) -> Redactor:
    """Return a redactor for the secrets known now; the one returned before, while nothing has changed.

    Args:
        declared: Names of environment variables that hold secrets whatever they are called (`Config.secrets`).
        environ: The environment to read; that of the process by default.
    """
    global _last
    source = os.environ if environ is None else environ
    # The dict behind os.environ is compared in about a microsecond; decoding a hundred variables takes fifty.
    raw: Mapping[Any, Any] = getattr(source, "_data", source)
    registered = _registered
    last = _last
    if last[0] is registered and last[1] == declared and last[2] == raw:
        return last[3]
    snapshot = dict(raw)
    secrets = [*registered, *_from_environment(dict(source), declared)]
    redactor = Redactor.of(secrets) if secrets else _NOTHING
    _last = (registered, declared, snapshot, redactor)
    return redactor


def growing_redactor(declared: tuple[str, ...] = ()) -> Callable[[], Redactor]:
    """Return what gives a redactor for the secrets that are known now and those that become known later."""
    before = current_redactor(declared)

    def grown() -> Redactor:
        now = current_redactor(declared)
        return before if now is before else before.joined(now)

    return grown


def _from_environment(environ: Mapping[str, str], declared: tuple[str, ...]) -> list[tuple[str, str]]:
    found = [(name, environ[name]) for name in declared if environ.get(name, "").strip()]
    for name in sorted(environ):
        value = environ[name].strip()
        if name.upper().endswith(_ENDINGS) and len(value) >= _SHORT and not _is_plain_setting(value):
            found.append((name, environ[name]))
    return found


def _is_plain_setting(value: str) -> bool:
    if value.lower() in ("true", "false"):
        return True
    try:
        float(value)
    except ValueError:
        return False
    return True
