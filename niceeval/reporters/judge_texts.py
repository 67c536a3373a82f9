"""What a judge said about a check, as a person reads it."""

from collections.abc import Iterator, Mapping
from typing import Any

from niceeval.results import AssertionResult

__all__ = ["judged_texts", "unread_replies"]


def judged_texts(entry: AssertionResult, *, whole: bool = False) -> Iterator[str]:
    """Yield a text for every answer of a judge that an entry rests on; with `whole`, what came and from whom as well.

    Args:
        entry: The entry.
        whole: Whether to name the model and the tries, and to show replies that could not be used.
    """
    asked = entry.match.get("judge")
    for note in asked if isinstance(asked, list) else ():
        for answer in note.get("answers") or ():
            yield " ".join(_parts(note, answer, whole))


def unread_replies(entry: AssertionResult) -> Iterator[str]:
    """Yield every reply of a judge that an entry could not use."""
    asked = entry.match.get("judge")
    for note in asked if isinstance(asked, list) else ():
        for answer in note.get("answers") or ():
            if answer.get("verdict") is None and answer.get("reply"):
                yield answer["reply"]


def _parts(note: Mapping[str, Any], answer: Mapping[str, Any], whole: bool) -> Iterator[str]:
    if whole:
        yield f"{note.get('recipe')} by {answer.get('answered_by') or note.get('model')}:"
    verdict, rationale = answer.get("verdict"), answer.get("rationale")
    if verdict is not None:
        yield f"{verdict} ({answer.get('value'):g})" + (f": {rationale}" if rationale else "")
    else:
        yield f"{answer.get('code')}: {answer.get('reason')}"
        if whole and answer.get("reply"):
            yield f"in reply: {answer['reply']}"
    if answer.get("cached"):
        yield f"(cached, answered {answer['cached']})"
    tries = answer.get("tries") or ()
    if whole and tries:
        waited = sum(each.get("waited", 0) for each in tries)
        calls = "1 call" if len(tries) == 1 else f"{len(tries)} calls"
        yield f"(after {calls} that reached nobody, {waited:.1f} s waited)"
