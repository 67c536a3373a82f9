"""Claims about the events of a scope: that one came, that none did, in which order they came."""

from collections.abc import Iterable, Mapping
from typing import final

import attrs

from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, sample, wrong_type
from niceeval_expect._event import EventLike, EventMatch, as_event_match
from niceeval_expect._freeze import call_repr
from niceeval_expect._order import in_order
from niceeval_expect._scope import Coverage, Ref, ScopeMatch, Tally, conclude, gap_in, tally
from niceeval_expect._spec import register

__all__ = ["EventScope", "EventScopeMatch", "event", "event_order", "not_event"]


@final
@attrs.frozen
class EventScope:
    """The events of a scope, as far as they were reported.

    Args:
        events: References with events, in order.
        coverage: ``"complete"``, ``"partial"`` (there may be more events of any kind) or ``"none"``.
        reason: Why the coverage is not complete; a general sentence where nobody said.
        gaps: Kinds of which there may be more events although the others are all here, with the reason.
    """

    events: tuple[tuple[Ref, EventLike], ...]
    coverage: Coverage = "complete"
    reason: str | None = None
    gaps: Mapping[str, str] = attrs.Factory(dict)

    def gap(self, matches: Iterable[EventMatch]) -> str | None:
        """Return why events that one of the matches may match may be missing; None if none may."""
        if self.coverage != "complete":
            return gap_in("events", self.coverage, self.reason)
        if not self.gaps:
            return None
        kinds = frozenset[str]().union(*(match._kinds() for match in matches))
        return next((reason for kind, reason in self.gaps.items() if kind in kinds), None)


class EventScopeMatch(ScopeMatch):
    """A claim about an `EventScope`."""

    __slots__ = ()

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return self._over(subject) if isinstance(subject, EventScope) else wrong_type("the events of a scope", subject)

    def _over(self, scope: EventScope) -> Evaluation:
        raise TypeError(f"{type(self).__name__} must define _over(scope)")


@final
@attrs.frozen(eq=False, repr=False)
class _Event(EventScopeMatch):
    _spec_name = "event"
    event: EventMatch
    denied: bool

    def spec(self) -> dict[str, object]:
        return {"match": self._words, "event": {"$": "match", **self.event.spec()}}

    @property
    def _words(self) -> str:
        return "not_event" if self.denied else "event"

    def _args(self) -> dict[str, object]:
        return {"event": self.event}

    def _parts(self) -> tuple[object, ...]:
        return (self.event,)

    def __repr__(self) -> str:
        return call_repr(self._words, self.event)

    def _over(self, scope: EventScope) -> Evaluation:
        kinds = self.event._kinds()
        counts = tally(self.event, scope.events, lambda event: event.kind in kinds, self.event._rejects)
        gap = scope.gap((self.event,))
        coverage: Coverage = "complete" if gap is None else "partial"
        outcome = counts.decide(0, 0, coverage) if self.denied else counts.decide(1, None, coverage)
        if outcome == "matched" and not (self.denied and counts.strange):
            return conclude(outcome, "matched", "", found=counts.found(), examined=counts.examined)
        if outcome in ("unavailable", "errored"):
            code = "error" if outcome == "errored" else "undecided"
            return conclude(
                outcome, code, counts.why(gap), found=counts.found(), examined=counts.examined, expected=repr(self),
                children=counts.shown(), truncated=counts.left_out(),
            )  # fmt: skip
        return self._mismatch(counts, scope)

    def _mismatch(self, counts: Tally, scope: EventScope) -> Evaluation:
        matching = len(counts.matching)
        kinds = " or ".join(sorted(self.event._kinds())[:MAX_SAMPLES])
        if matching:
            code, message = "seen", f"{_events(matching)} like that, none wanted"
            children, truncated = _witnesses(counts.matching, scope), matching > MAX_SAMPLES
        else:
            code, message = "count", f"no event like that among {_events(counts.misses)} ({kinds})"
            if self.denied:
                code, message = "type", f"{_events(counts.strange)} that the match cannot speak about"
            children, truncated = counts.missed(), counts.misses > MAX_SAMPLES
        return conclude(
            "mismatched", code, message, found=counts.found(), examined=counts.examined, expected=repr(self.event),
            received=matching, children=children, truncated=truncated,
        )  # fmt: skip


def _events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"


def _witnesses(refs: Iterable[Ref], scope: EventScope) -> tuple[Diagnostic, ...]:
    wanted = set(list(refs)[:MAX_SAMPLES])
    return tuple(
        Diagnostic("seen", f"{event.kind} at {ref}", f"/{ref}", received=sample(_described(event)))
        for ref, event in scope.events
        if ref in wanted
    )


def _described(event: EventLike) -> dict[str, object]:
    call = None if event.call is None else event.call.name
    given = {"kind": event.kind, "role": event.role, "text": event.text, "call": call}
    return {key: value for key, value in given.items() if value is not None}


def event(match: EventMatch, /) -> ScopeMatch:
    """Match a scope with at least one event like `match`.

    >>> from niceeval import Message
    >>> from niceeval_expect import event_match
    >>> from niceeval_expect._event_scope import EventScope, event
    >>> event(event_match("message", role="user")).evaluate(EventScope((("s0.t0.e0", Message("user", "Hi")),))).outcome
    'matched'
    """
    return _Event(as_event_match("event()", match), denied=False)


def not_event(match: EventMatch, /) -> ScopeMatch:
    """Match a scope with no event like `match`; unavailable where such events may be missing from the report.

    >>> from niceeval_expect import event_match
    >>> from niceeval_expect._event_scope import EventScope, not_event
    >>> not_event(event_match("error")).evaluate(EventScope((), gaps={"error": "errors were not reported"})).reason
    'errors were not reported'
    """
    return _Event(as_event_match("not_event()", match), denied=True)


register("event", lambda args: event(args["event"]))
register("not_event", lambda args: not_event(args["event"]))


@final
@attrs.frozen(eq=False, repr=False)
class _EventOrder(EventScopeMatch):
    _spec_name = "event_order"
    events: tuple[EventMatch, ...]

    def _args(self) -> dict[str, object]:
        return {"events": list(self.events)}

    def _parts(self) -> tuple[object, ...]:
        return self.events

    def __repr__(self) -> str:
        return call_repr(self._spec_name, *self.events)

    def _over(self, scope: EventScope) -> Evaluation:
        return in_order(self.events, scope.events, "seen", scope.gap(self.events))


def event_order(first: EventMatch, second: EventMatch, /, *rest: EventMatch) -> ScopeMatch:
    """Match a scope in which one session had events like these in this order, whatever came between."""
    return _EventOrder(tuple(as_event_match("event_order()", match) for match in (first, second, *rest)))


register("event_order", lambda args: event_order(*args["events"]))
