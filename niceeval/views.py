"""Cuts: what a scoped check sees, kept as references, and read out per channel when a check needs it."""

from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from niceeval.reply import Coverage
from niceeval.tool_call import ToolCall
from niceeval.turn_record import TurnRecord
from niceeval_expect import Match
from niceeval_expect._call_scope import CallMatch, CallScope
from niceeval_expect._event_scope import EventScope, EventScopeMatch
from niceeval_expect._timeline import TurnTrace
from niceeval_expect._turn_scope import TurnScope

__all__ = ["View"]

_NEEDS_EVENTS: Final = ("thinking", "input_requested", "skill_loaded", "context_compacted", "error")


@final
class View:
    """The finished turns that a scope saw at one moment, per session; immutable, read out once per channel."""

    __slots__ = ("_calls", "_coverage", "_cut", "_events", "_turns", "_with_texts", "sessions", "size")

    def __init__(self, sessions: tuple[tuple[TurnRecord, ...], ...]) -> None:
        self.sessions = sessions
        self.size = sum(map(len, sessions))
        self._calls: CallScope | None = None
        self._with_texts: CallScope | None = None
        self._coverage: dict[str, tuple[Coverage, str | None]] = {}
        self._cut: str | None = None
        self._events: EventScope | None = None
        self._turns: TurnScope | None = None

    @property
    def cut(self) -> str:
        """The cut as JSON text: the places of the turns, by session."""
        if self._cut is None:
            self._cut = self._written()
        return self._cut

    def _written(self) -> str:
        if self.size == 1 and len(self.sessions) == 1:
            only = self.sessions[0][0]
            return f'{{"sessions":[{{"session":{only.session},"turns":[{only.index}]}}]}}'
        parts = (
            f'{{"session":{turns[0].session},"turns":[{",".join(str(turn.index) for turn in turns)}]}}'
            for turns in self.sessions
            if turns
        )
        return f'{{"sessions":[{",".join(parts)}]}}'

    def _records(self) -> Iterator[TurnRecord]:
        for turns in self.sessions:
            yield from turns

    def coverage(self, channel: str) -> tuple[Coverage, str | None]:
        """Return how much of a channel was reported in the cut, and what is missing where."""
        known = self._coverage.get(channel)
        if known is None:
            known = self._coverage[channel] = self._read_coverage(channel)
        return known

    def _read_coverage(self, channel: str) -> tuple[Coverage, str | None]:
        if all(record.evidence.coverage.get(channel) == "complete" for turns in self.sessions for record in turns):
            return "complete", None
        total = self.size
        gaps = []
        known = 0
        for position, record in enumerate(self._records(), 1):
            turn = record.evidence
            coverage = turn.coverage.get(channel, "none")
            known += coverage != "none"
            if coverage != "complete":
                what = channel.replace("_", " ")
                said = turn.reasons.get(channel) or (
                    f"its {what} are not reported" if coverage == "none" else f"its {what} are reported in part"
                )
                gaps.append(f"turn {position} of {total}: {said}")
        if not gaps:
            return "complete", None
        more = f" (and {len(gaps) - 1} more turns)" if len(gaps) > 1 else ""
        return ("partial" if known else "none"), gaps[0] + more

    @property
    def calls(self) -> CallScope:
        """The tool calls of the cut."""
        if self._calls is None:
            coverage, reason = self.coverage("tool_calls")
            calls = tuple(
                [
                    (f"s{record.session}.t{record.index}.c{place}", call)
                    for turns in self.sessions
                    for record in turns
                    for place, call in enumerate(record.evidence.tool_calls or ())
                ]
            )
            self._calls = CallScope(calls, coverage, reason)
        return self._calls

    @property
    def calls_and_texts(self) -> CallScope:
        """The tool calls of the cut, and the assistant's texts with them."""
        if self._with_texts is None:
            coverage, reason = self.coverage("messages")
            texts = tuple(
                (f"s{record.session}.t{record.index}.m{place}", text)
                for record in self._records()
                for place, text in enumerate(record.evidence.messages or ())
            )
            self._with_texts = attrs.evolve(self.calls, texts=texts, texts_coverage=coverage, texts_reason=reason)
        return self._with_texts

    def evidence_for(self, match: Match, sessions: Sequence[Sequence[TurnRecord]] = ()) -> object:
        """Return what a claim over this cut reads.

        Args:
            match: The claim.
            sessions: All turns of each session: a claim about what an agent had been shown looks back, beyond the cut.
        """
        if isinstance(match, CallMatch):
            if match._reads_turns:
                return attrs.evolve(self.calls, turns=tuple(map(_trace, self._from_the_start(sessions))))
            return self.calls_and_texts if match._reads_texts else self.calls
        return self.events if isinstance(match, EventScopeMatch) else self.turns

    def _from_the_start(self, sessions: Sequence[Sequence[TurnRecord]]) -> Iterator[TurnRecord]:
        """Yield the turns of the cut, and those before it in the same sessions."""
        for turns in self.sessions:
            if turns:
                session, first = turns[0].session, turns[0].index
                yield from sessions[session][:first] if session < len(sessions) else ()
                yield from turns

    @property
    def events(self) -> EventScope:
        """The events of the cut; kinds that nobody could have reported are gaps."""
        if self._events is None:
            events = tuple(
                (f"s{record.session}.t{record.index}.e{place}", event)
                for record in self._records()
                for place, event in enumerate(record.evidence.events)
            )
            gaps: dict[str, str] = {}
            messages, calls = self.coverage("messages"), self.coverage("tool_calls")
            if messages[1] is not None:
                gaps["message"] = messages[1]
            if calls[1] is not None:
                gaps["tool_call_started"] = gaps["tool_call_finished"] = calls[1]
            for position, record in enumerate(self._records(), 1):
                if record.evidence.reported_events is None:
                    reason = f"turn {position} of {self.size} reported no events beside its messages and calls"
                    for kind in _NEEDS_EVENTS:
                        gaps.setdefault(kind, reason)
            self._events = EventScope(events, "complete", None, gaps)
        return self._events

    @property
    def turns(self) -> TurnScope:
        """The turns of the cut with status and usage."""
        if self._turns is None:
            self._turns = TurnScope(
                tuple(
                    (f"s{record.session}.t{record.index}", record.evidence.status, record.evidence.usage)
                    for record in self._records()
                )
            )
        return self._turns

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the cut, in order, per session."""
        return tuple(call for record in self._records() for call in record.evidence.tool_calls or ())

    def named(self, refs: Sequence[str]) -> tuple[ToolCall, ...]:
        """Return the calls with these references."""
        by_ref = {
            f"s{record.session}.t{record.index}.c{place}": call
            for record in self._records()
            for place, call in enumerate(record.evidence.tool_calls or ())
        }
        return tuple(by_ref[ref] for ref in refs if ref in by_ref)


def _trace(record: TurnRecord) -> TurnTrace:
    turn = record.evidence
    gap = None
    if turn.coverage.get("tool_calls", "none") != "complete":
        gap = turn.reasons.get("tool_calls") or f"not all tool calls of turn {record.index + 1} were reported"
    said = None if "input" in turn.reasons else turn.input
    ref = f"s{record.session}.t{record.index}"
    return TurnTrace(ref, said, turn.tool_calls or (), turn.reported_events, gap)
