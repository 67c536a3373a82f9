"""Matches over the items of a list: some, all, or each in any order; and over the keys of an object."""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from niceeval_expect._count import CountOutcome, decide_count
from niceeval_expect._equality import is_absent
from niceeval_expect._evaluation import MATCHED, MAX_SAMPLES, Diagnostic, Evaluation, cut_text, mismatched, unavailable
from niceeval_expect._facets import plain_or_match, plainly_differ
from niceeval_expect._freeze import call_repr
from niceeval_expect._items import COMPARING, distance, first_argument, items_of, object_of
from niceeval_expect._match import ValueMatch, evaluate_part
from niceeval_expect._partial import show_match
from niceeval_expect._paths import keys_of
from niceeval_expect._pointer import child
from niceeval_expect._spec import register

__all__ = ["contains", "every", "keys_exactly"]

_TRIED: Final = 64


@attrs.frozen(eq=False, repr=False)
class _Items(ValueMatch):
    _match: ValueMatch

    def _parts(self) -> tuple[object, ...]:
        return (self._match,)

    def __repr__(self) -> str:
        return call_repr(self._spec_name, show_match(self._match))

    def _say(
        self,
        outcome: CountOutcome,
        code: str,
        message: str,
        pointer: str,
        parts: Sequence[tuple[int, Evaluation]],
        examined: int,
    ) -> Evaluation:
        """Return what the items say together; `parts` are those that decide, the most telling first."""
        kept = sorted(parts[:MAX_SAMPLES], key=lambda part: part[0])
        children = tuple(evaluation.diagnostic for _, evaluation in kept)
        reason = None
        if outcome in ("unavailable", "errored"):
            first = next(evaluation for _, evaluation in parts if evaluation.outcome == outcome)
            reason = f"{message}: {first.reason}"
            code = "error" if outcome == "errored" else "absent"
        diagnostic = Diagnostic(
            code, reason or message, pointer, None, None, reason, children, truncated=len(parts) > len(children)
        )
        return Evaluation(outcome, diagnostic, reason=reason, examined=examined)


@attrs.frozen(eq=False, repr=False)
class _Contains(_Items):
    _spec_name = "contains"

    def _args(self) -> dict[str, object]:
        return {"item": self._match}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        items = items_of(subject, pointer, "contains", "; for a part of a text use includes(...)")
        if isinstance(items, Evaluation):
            return items
        # Author code is called for every item, so that each pass over an async predicate makes the same calls.
        may_stop = not self._may_await
        compares = may_stop and self._match._spec_name in COMPARING
        wanted = first_argument(self._match) if compares else None
        found: dict[int, Evaluation] = {}
        matched = None
        for index, item in enumerate(items):
            if compares and plainly_differ(wanted, item):
                continue
            found[index] = evaluate_part(self._match, item, child(pointer, index))
            if found[index].outcome == "matched" and matched is None:
                matched = index
                if may_stop:
                    break
        if matched is not None:
            message = f"item {matched} matches"
            examined = matched + 1 if may_stop else len(items)
            return Evaluation("matched", Diagnostic("matched", message, pointer), examined=examined)
        return self._explain(found, items, pointer)

    def _explain(self, found: dict[int, Evaluation], items: list[Any], pointer: str) -> Evaluation:
        size = len(items)
        undecided = [(index, part) for index, part in found.items() if part.outcome != "mismatched"]
        broke = any(evaluation.outcome == "errored" for _, evaluation in undecided)
        outcome = decide_count(0, len(undecided), 1, None, errored=broke)
        if outcome != "mismatched":
            message = f"{len(undecided)} of {size} items undecided, none matches"
            return self._say(outcome, "", message, pointer, undecided, size)
        if not size:
            return mismatched("contains", "the list is empty", pointer, expected=show_match(self._match), examined=0)
        # What was plainly different has no evaluation yet; of many, the first will do.
        for index in [each for each in range(size) if each not in found][:_TRIED]:
            found[index] = evaluate_part(self._match, items[index], child(pointer, index))
        nearest = sorted(found.items(), key=lambda part: (distance(part[1]), part[0]))
        index, best = nearest[0]
        says = best.diagnostic.message or best.code
        message = f"none of {size} items matches; the nearest is item {index}: {says}"
        code = "type" if any(evaluation.code == "type" for evaluation in found.values()) else "contains"
        return self._say(outcome, code, message, pointer, nearest, size)


def contains(item: ValueMatch | object, /) -> ValueMatch:
    """Match a list in which at least one item matches.

    A definite match decides. Otherwise an item that is missing or breaks the match leaves it undecided, and the denial
    too. The mismatch shows the items that came nearest. Text mismatches with code ``type``: its parts are no items.

    Args:
        item: A value match for the item; a plain value means ``equals(value)``.

    Raises:
        TypeError: If `item` is a measurement without a threshold or a counted tool match.

    >>> from niceeval_expect import contains, json_match
    >>> contains(json_match({"sku": "A-1"})).evaluate([{"sku": "B-7"}, {"sku": "A-1", "n": 2}]).outcome
    'matched'
    >>> contains(3).evaluate([1, 2]).diagnostic.message
    'none of 2 items matches; the nearest is item 0: expected 3, got 1'
    """
    return _Contains(plain_or_match("contains()", item))


register("contains", lambda args: contains(args["item"]))


@attrs.frozen(eq=False, repr=False)
class _Every(_Items):
    _spec_name = "every"
    _if_any: bool

    def _args(self) -> dict[str, object]:
        return {"item": self._match, **({"if_any": True} if self._if_any else {})}

    def __repr__(self) -> str:
        options = {"if_any": True} if self._if_any else {}
        return call_repr("every", show_match(self._match), **options)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        items = items_of(subject, pointer, "every")
        if isinstance(items, Evaluation):
            return items
        size = len(items)
        parts = (evaluate_part(self._match, item, child(pointer, index)) for index, item in enumerate(items))
        found = [part for part in enumerate(parts) if part[1].outcome != "matched"]
        if not found and (size or self._if_any):
            return Evaluation("matched", Diagnostic("matched", f"{size} item{'s' * (size != 1)} match"), examined=size)
        if not size:
            why = "the list is empty; with if_any=True that would be fine"
            return mismatched("empty", why, pointer, expected=show_match(self._match), examined=0)
        wrong = [part for part in found if part[1].outcome == "mismatched"]
        broke = any(evaluation.outcome == "errored" for _, evaluation in found)
        outcome = decide_count(len(wrong), len(found) - len(wrong), 0, 0, errored=broke)
        if outcome != "mismatched":
            return self._say(outcome, "", f"{len(found)} of {size} items undecided", pointer, found, size)
        index, first = wrong[0]
        says = first.diagnostic.message or first.code
        code = "type" if all(evaluation.code == "type" for _, evaluation in wrong) else "items"
        message = f"{len(wrong)} of {size} items mismatched, first item {index}: {says}"
        return self._say(outcome, code, message, pointer, wrong, size)


def every(item: ValueMatch | object, /, *, if_any: bool = False) -> ValueMatch:
    """Match a list in which every item matches, and in which there is at least one.

    A definite mismatch decides. Otherwise an item that is missing or breaks the match leaves it undecided. Text
    mismatches with code ``type``: its parts are no items.

    Args:
        item: A value match for each item; a plain value means ``equals(value)``.
        if_any: Whether an empty list matches too.

    Raises:
        TypeError: If `item` is a measurement without a threshold or a counted tool match, or `if_any` is no bool.

    >>> from niceeval_expect import between, every
    >>> every(between(0, 1)).evaluate([0.2, 1, 3]).diagnostic.message
    '1 of 3 items mismatched, first item 2: is above the range'
    >>> every(between(0, 1)).evaluate([]).outcome, every(between(0, 1), if_any=True).evaluate([]).outcome
    ('mismatched', 'matched')
    """
    if not isinstance(if_any, bool):
        raise TypeError(f"every() takes if_any=True or if_any=False, got {if_any!r:.200}")
    return _Every(plain_or_match("every()", item), if_any)


register("every", lambda args: every(args["item"], if_any=args.get("if_any", False)))


@attrs.frozen(eq=False, repr=False)
class _KeysExactly(ValueMatch):
    _spec_name = "keys_exactly"
    _keys: tuple[str, ...]
    _set: frozenset[str]

    def _args(self) -> dict[str, object]:
        return {"keys": list(self._keys)}

    def __repr__(self) -> str:
        return call_repr("keys_exactly", *self._keys)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        value = object_of(subject, pointer, "keys_exactly")
        if isinstance(value, Evaluation):
            return value
        unknown = next((key for key, item in value.items() if is_absent(item)), None)
        if value.keys() == self._set:
            return MATCHED if unknown is None else unavailable(value[unknown].reason, child(pointer, unknown))
        lacking = [key for key in self._keys if key not in value]
        extra = [key for key in value if key not in self._set]
        parts = [(len(lacking), "missing", lacking), (len(extra), "extra", extra)]
        counts = [f"{count} key{'s' * (count != 1)} {code}: {_names(keys)}" for count, code, keys in parts if keys]
        children = [
            Diagnostic(code, f"the key {cut_text(str(key), 80)!r} is {code}", child(pointer, key))
            for _, code, keys in parts
            for key in keys
        ]
        return mismatched(
            "keys",
            f"{'; '.join(counts)}; {keys_of(value)}",
            pointer,
            expected=list(self._keys),
            received=list(value),
            children=children[:MAX_SAMPLES],
            examined=len(self._keys),
            truncated=len(children) > MAX_SAMPLES,
        )


def _names(keys: Sequence[Any]) -> str:
    more = f" and {len(keys) - MAX_SAMPLES} more" if len(keys) > MAX_SAMPLES else ""
    return ", ".join(repr(cut_text(str(key), 80)) for key in keys[:MAX_SAMPLES]) + more


def keys_exactly(*keys: str) -> ValueMatch:
    """Match an object that has these keys and no others, in any order, whatever their values are (null included).

    Args:
        *keys: One or more keys of the object itself, not paths; none twice.

    Raises:
        TypeError: If a key is no text.
        ValueError: Without any key, or with one twice.

    >>> from niceeval_expect import keys_exactly
    >>> keys_exactly("id", "total").evaluate({"id": 1, "note": None}).diagnostic.message
    "1 key missing: 'total'; 1 key extra: 'note'; the object has 'id', 'note'"
    """
    if not keys:
        raise ValueError("keys_exactly() got no key; for an object without any, use equals({})")
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(f'keys_exactly() takes keys as texts of their own, ("id", "status"), got {key!r:.200}')
    if len(set(keys)) < len(keys):
        raise ValueError(f"keys_exactly() got a key twice in {keys!r:.200}; an object has each key once")
    return _KeysExactly(tuple(map(str.__str__, keys)), frozenset(keys))


register("keys_exactly", lambda args: keys_exactly(*args["keys"]))
