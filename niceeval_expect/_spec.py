"""`spec()` and `from_spec()`: a match as data, and code inside it as a name with a digest."""

import functools
import hashlib
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from niceeval_expect._codec import Note, decode, encode

if TYPE_CHECKING:
    from niceeval_expect._match import Match

__all__ = [
    "UnknownMatch",
    "argument_to_data",
    "canonical",
    "code_reference",
    "digest",
    "find_code",
    "from_spec",
    "is_rebuildable",
    "register",
    "register_again",
]

_BUILDERS: Final[dict[str, Callable[[Mapping[str, Any]], "Match"]]] = {}
# Claims over a scope register their specs here as well; they are imported when one of them is first asked for.
_quote: Final[Callable[[str], str]] = json.encoder.encode_basestring_ascii
_ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_PLAIN: Final = frozenset({*_ATOMS, dict, list, tuple})


def register(name: str, build: Callable[[Mapping[str, Any]], "Match"]) -> None:
    """Teach `from_spec` to rebuild the matches whose spec says ``{"match": name}``."""
    if name in _BUILDERS:
        raise ValueError(f"a match named {name!r} is registered already; choose another name")
    _BUILDERS[name] = build


def register_again(name: str, build: Callable[[Mapping[str, Any]], "Match"]) -> None:
    """Register a name, or replace what the same source registered: a file may be loaded more than once."""
    known = _BUILDERS.get(name)
    if known is not None and _origin(known) != _origin(build):
        raise ValueError(f"a match named {name!r} is registered already by {_origin(known)[0]}; choose another name")
    _BUILDERS[name] = build


def _origin(build: Callable[..., Any]) -> tuple[str, str, str]:
    code = getattr(build, "__code__", None)
    reference = code_reference(build)
    # The file rather than the module: an eval file may get another module name each time that it is loaded.
    return (getattr(code, "co_filename", reference["module"]), reference["name"], reference["digest"])


def _load_all() -> None:
    """Import every module of this package, since each registers its own matches."""
    package = importlib.import_module("niceeval_expect")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"niceeval_expect.{module.name}")


def canonical(spec: Mapping[str, Any]) -> str:
    """Return the spec as ASCII JSON text with sorted keys."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_call(name: str, args: Mapping[str, object]) -> str:
    """Return the canonical text of ``{"match": name, **args}``, the texts of matches among the arguments reused."""
    form, keys = _form(name, tuple(args))
    texts = []
    for key in keys:
        value = args[key]
        texts.append(_quote(value) if type(value) is str and value.isascii() else _canonical_argument(value))
    return form % tuple(texts)


@functools.lru_cache(maxsize=1024)
def _form(name: str, keys: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return the canonical text with a place for each argument, and the arguments in the order of the places."""
    parts = {key: f"{_quote(key)}:".replace("%", "%%") + "%s" for key in keys}
    parts["match"] = f'"match":{_quote(name)}'.replace("%", "%%")
    return "{" + ",".join(parts[key] for key in sorted(parts)) + "}", sorted(keys)


def _canonical_argument(value: object) -> str:
    kind = type(value)
    if kind not in _PLAIN:
        text = getattr(value, "canonical_spec", None)
        if text is not None:
            return '{"$":"match",' + str(text)[1:]
    elif value is True or value is False:
        return "true" if value else "false"
    elif isinstance(value, list | tuple) and value and hasattr(value[0], "canonical_spec"):
        return "[" + ",".join(map(_canonical_argument, value)) + "]"
    return json.dumps(argument_to_data(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """Return 32 hexadecimal digits of BLAKE2b over the text."""
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def argument_to_data(value: object) -> Any:
    """Return one argument of a match as JSON-safe data: matches by their spec, code by name and digest."""
    kind = type(value)
    if kind in _ATOMS:
        return encode(value)
    if isinstance(value, list | tuple) and kind in (list, tuple):
        # A tuple equals a list everywhere in JSON semantics, so that only the items matter.
        return [argument_to_data(item) for item in value]
    if isinstance(value, dict) and kind is dict and all(type(key) is str and key != "$" for key in value):
        return {key: argument_to_data(item) for key, item in value.items()}
    if isinstance(value, dict) and kind is dict:
        pairs = [[argument_to_data(key), argument_to_data(item)] for key, item in value.items()]
        # The order of keys is free, so it must not tell two specs apart.
        return {"$": "dict", "items": sorted(pairs, key=lambda pair: json.dumps(pair[0], sort_keys=True))}
    spec = getattr(value, "spec", None)
    if spec is not None and hasattr(value, "canonical_spec"):
        return {"$": "match", **spec()}
    if isinstance(value, type) or (callable(value) and not hasattr(value, "pattern")):
        return code_reference(value)
    return encode(value)


def code_reference(value: Any) -> dict[str, Any]:
    """Return what names a piece of code: module, qualified name, a digest of its source and of what it closes over."""
    target = inspect.unwrap(value.func) if isinstance(value, functools.partial) else value
    if not hasattr(target, "__qualname__"):
        target = type(target)
    reference = {
        "$": "code",
        "module": str(getattr(target, "__module__", "")),
        "name": str(target.__qualname__),
        "digest": _source_digest(getattr(target, "__code__", target)),
    }
    captured = _captured(value)
    if captured:
        reference["captured"] = digest(canonical({"captured": captured}))
    return reference


@functools.lru_cache(maxsize=4096)
def _source_digest(code: Any) -> str:
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError):
        text = repr((getattr(code, "co_code", b""), getattr(code, "co_names", ()), getattr(code, "co_consts", ())))
    return digest(json.dumps(text))


def _captured(value: Any) -> list[Any]:
    found: list[object] = []
    if isinstance(value, functools.partial):
        found += [value.args, value.keywords]
        value = value.func
    found += list(getattr(value, "__defaults__", None) or ())
    found += (getattr(value, "__kwdefaults__", None) or {}).values()
    for cell in getattr(value, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue
    return [_captured_value(item) for item in found]


def _captured_value(item: object) -> Any:
    if isinstance(item, type) or callable(item):
        return f"{getattr(item, '__module__', '')}.{getattr(item, '__qualname__', type(item).__qualname__)}"
    notes: list[Note] = []
    data = encode(item, notes=notes)
    return data if not notes else type(item).__qualname__


def is_rebuildable(canonical_spec: str) -> bool:
    """Tell whether the spec names no code; plain text that only looks like it is escaped by the codec."""
    return '"$":"code"' not in canonical_spec


CodeFinder: TypeAlias = Callable[[Mapping[str, Any]], Any]


def from_spec(spec: Mapping[str, Any], /, *, code: CodeFinder | None = None) -> "Match":
    """Rebuild the match that `spec()` described.

    Args:
        spec: A mapping with a ``match`` name and its arguments.
        code: Finds a function or a class from the reference that the spec holds, such as `find_code`; without it,
            a spec that names code cannot be rebuilt.

    Returns:
        A match equal to the one that gave the spec.

    Raises:
        ValueError: If the name is unknown, an argument is missing or wrong, or the spec names code
            (a predicate, a model class) that it cannot rebuild.

    >>> from niceeval_expect import from_spec
    >>> from_spec({"match": "one_of", "options": ["a", "b"]})
    one_of(['a', 'b'])
    """
    name = spec.get("match") if isinstance(spec, Mapping) else None
    if not isinstance(name, str):
        raise ValueError(f'a spec is a mapping with a "match" name, got {spec!r:.200}')
    build = _BUILDERS.get(name)
    if build is None:
        _load_all()
        build = _BUILDERS.get(name)
    if build is None:
        raise UnknownMatch(name)
    args = {key: _argument_from_data(value, name, code) for key, value in spec.items() if key not in ("match", "$")}
    try:
        return build(args)
    except KeyError as error:
        raise ValueError(f"the spec of {name} lacks {error.args[0]!r}") from None
    except TypeError as error:
        raise ValueError(f"the spec of {name} does not rebuild: {error}") from error


class UnknownMatch(ValueError):
    """A spec names a match that nobody has registered.

    Attributes:
        name: The name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"no match named {name!r} is known; known are {', '.join(sorted(_BUILDERS))}")
        self.name = name


def find_code(reference: Mapping[str, Any]) -> Any:
    """Import the function or class that a spec refers to.

    Args:
        reference: The reference in the spec: module, qualified name, and digest of the source.

    Raises:
        ValueError: It cannot be imported, or its source is no longer the one that the digest was made of.
    """
    module, name = str(reference.get("module")), str(reference.get("name"))
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise ValueError(f"{module}.{name} cannot be imported ({type(error).__name__}: {error})") from error
    while not _is_meant(found, reference):
        # A function that a decorator has put something else in the place of, such as a factory of matches.
        found = getattr(found, "__wrapped__", None)
        if found is None:
            raise ValueError(f"{module}.{name} has changed since: its source has another digest")
    return found


def _is_meant(found: Any, reference: Mapping[str, Any]) -> bool:
    now = code_reference(found)
    return all(now.get(field) == reference.get(field) for field in ("digest", "captured"))


def _argument_from_data(data: Any, owner: str, code: CodeFinder | None) -> Any:
    if isinstance(data, list):
        return [_argument_from_data(item, owner, code) for item in data]
    if not isinstance(data, dict):
        return data
    tag = data.get("$")
    if tag == "match":
        return from_spec(data, code=code)
    if tag == "code":
        if code is not None:
            return code(data)
        raise ValueError(
            f"{owner} holds code that a spec can only name: {data.get('module')}.{data.get('name')} "
            f"(source digest {data.get('digest')}); build the match where that code can be imported"
        )
    if tag == "dict":
        pairs = data.get("items", [])
        return {_argument_from_data(key, owner, code): _argument_from_data(item, owner, code) for key, item in pairs}
    if tag is None:
        return {key: _argument_from_data(item, owner, code) for key, item in data.items()}
    return decode(data)
