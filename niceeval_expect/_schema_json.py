"""`matches` over a JSON Schema: decided by `jsonschema_rs`, built once per content."""

import json
import threading
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeVar, final

import attrs

from niceeval_expect._evaluation import MATCHED, Evaluation, cut_text, errored
from niceeval_expect._match import ValueMatch
from niceeval_expect._pointer import from_segments
from niceeval_expect._schema_explain import EngineError, Explainer
from niceeval_expect._schema_lint import Draft, Inspected, draft_of, inspect_schema, near
from niceeval_expect._schema_subject import UnreadableError, levels_if_plain, read_json, strings_of

__all__ = ["schema_match"]

T = TypeVar("T")

_MAX_LEVELS: Final = 4_000
"""The engine recurses; some way beyond this it would take the process down with it."""
_OWN_STACK: Final = 200
"""From here on it runs on a stack that is surely large enough."""
_STACK_BYTES: Final = 128 * 2**20
_MAX_ERRORS: Final = 64
_TOO_LONG: Final = 16
"""A text up to this length cannot cost a backtracking pattern its limit."""
_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_stack_lock: Final = threading.Lock()


def schema_match(schema: dict[str, Any], allow: frozenset[str]) -> ValueMatch:
    """Return the match for a schema, the same one for the same content.

    Raises:
        ValueError: If the schema is not JSON, not valid, or holds what no engine would act on.
    """
    plain = schema
    if not levels_if_plain(schema):
        try:
            plain, _ = read_json(schema)
        except UnreadableError as problem:
            where = f"{problem.pointer} " if problem.pointer else ""
            raise ValueError(f"matches() got a schema that is not JSON: {where}{problem.message}") from None
    try:
        text = json.dumps(plain, ensure_ascii=True, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"matches() got a schema that cannot be written as JSON: {error}") from None
    return _build(text, allow)


@lru_cache(maxsize=256)
def _build(text: str, allow: frozenset[str]) -> ValueMatch:
    schema: dict[str, Any] = json.loads(text)
    try:
        draft = draft_of(schema)
        _check_against_metaschema(schema, draft)
        inspected = inspect_schema(schema, draft, allow, lambda name: _enforces(draft.uri, name))
        engine = _compile(schema)
        hungry = tuple(pattern for pattern in map(_if_backtracking, inspected.patterns) if pattern is not None)
    except RecursionError:
        raise ValueError("matches() got a schema that is nested too deeply to be checked") from None
    except ValueError as error:
        raise ValueError(f"matches() got a schema that cannot be used: {error}") from None
    return _JsonSchemaMatch(schema, allow, engine.is_valid, engine, hungry, _explainer(schema, draft, inspected))


def _check_against_metaschema(schema: dict[str, Any], draft: Draft) -> None:
    import jsonschema

    try:
        # Without formats: whether a pattern can be used is for the deciding engine to say.
        draft.validator.check_schema(schema, format_checker=jsonschema.FormatChecker(()))
    except jsonschema.SchemaError as error:
        where = from_segments(error.absolute_path)
        hint = near(error.instance, _TYPES) if where.endswith("/type") and isinstance(error.instance, str) else ""
        message = f"{where or 'the schema'}: {cut_text(error.message)}{hint} (not a valid schema of {draft.name})"
        raise ValueError(message) from None


def _compile(schema: dict[str, Any], **options: Any) -> Any:
    import jsonschema_rs

    options.setdefault("ignore_unknown_formats", True)
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=True, retriever=_refuse, **options)
    except jsonschema_rs.ValidationError as error:
        raise ValueError(f"{from_segments(error.instance_path) or 'the schema'}: {cut_text(error.message)}") from None
    except ValueError as error:
        raise ValueError(f"the deciding engine refuses it: {error}") from None


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is not fetched")


@lru_cache(maxsize=512)
def _enforces(draft_uri: str, name: str) -> bool:
    try:
        _compile({"$schema": draft_uri, "format": name}, ignore_unknown_formats=False)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=512)
def _if_backtracking(pattern: str) -> Any:
    """Return the engine for a pattern that is not matched in linear time (look-around, back references), else None."""
    import jsonschema_rs

    try:
        _compile({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
    except ValueError:
        return _compile({"pattern": pattern})
    return None


def _explainer(schema: dict[str, Any], draft: Draft, inspected: Inspected) -> Explainer:
    def leaf(keyword: str, value: Any) -> Callable[[Any], bool]:
        is_valid: Callable[[Any], bool] = _compile({"$schema": draft.uri, keyword: value}).is_valid
        return is_valid

    return Explainer(schema, draft.validator, inspected.formats, not inspected.by_pattern, leaf)


@final
@attrs.frozen(eq=False, repr=False)
class _JsonSchemaMatch(ValueMatch):
    _spec_name = "matches"
    _schema: dict[str, Any]
    _allow: frozenset[str]
    _is_valid: Callable[[Any], bool]
    _engine: Any
    _hungry: tuple[Any, ...]
    _explainer: Explainer

    def _args(self) -> dict[str, object]:
        return {"schema": self._schema, **({"allow": sorted(self._allow)} if self._allow else {})}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        value: Any = subject
        levels = levels_if_plain(value)
        if not levels:
            try:
                value, levels = read_json(value, pointer)
            except UnreadableError as problem:
                return problem.evaluation()
        if levels >= _OWN_STACK or self._hungry:
            return self._decide_carefully(value, levels, pointer)
        if self._is_valid(value):
            return MATCHED
        return self._explain(value, pointer)

    def _decide_carefully(self, value: Any, levels: int, pointer: str) -> Evaluation:
        if levels > _MAX_LEVELS:
            reason = f"the value is nested more than {_MAX_LEVELS} levels deep, more than a schema is decided for"
            return errored(reason, pointer, code="depth")
        for text in strings_of(value) if self._hungry else ():
            if len(text) > _TOO_LONG and any(_gives_up(pattern, text) for pattern in self._hungry):
                reason = "a pattern with look-around or back references exceeded its backtracking limit"
                return errored(reason, pointer, code="budget", received=text)
        if levels < _OWN_STACK:
            return MATCHED if self._is_valid(value) else self._explain(value, pointer)
        if _on_large_stack(lambda: self._is_valid(value)):
            return MATCHED
        return self._explainer.say(_on_large_stack(lambda: self._engine_errors(value)), pointer)

    def _explain(self, value: Any, pointer: str) -> Evaluation:
        return self._explainer.explain(value, pointer, lambda: self._engine_errors(value))

    def _engine_errors(self, value: Any) -> list[EngineError]:
        found: list[EngineError] = []
        try:
            for error in islice(self._engine.iter_errors(value), _MAX_ERRORS):
                kind = error.kind
                path = tuple(error.instance_path)
                found.append(EngineError(kind.name, kind.value, error.message, path, error.instance))
        except ValueError:
            # It decides over integers of any size, but cannot write the largest into a message.
            return found
        return found


def _gives_up(pattern: Any, text: str) -> bool:
    import jsonschema_rs

    kinds = jsonschema_rs.ValidationErrorKind
    gave_up = (kinds.BacktrackLimitExceeded, kinds.RegexEngineFailure)
    return any(isinstance(error.kind, gave_up) for error in pattern.iter_errors(text))


def _on_large_stack(work: Callable[[], T]) -> T:
    """Run `work` in a thread with a stack of its own size, and return its result."""
    results: list[T] = []
    failures: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with _stack_lock:
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    if failures:
        raise failures[0]
    return results[0]
