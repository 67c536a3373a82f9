"""What a result keeps: one attempt, its assertions, their subjects. Frozen models, built from one attempt document."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    SkipValidation,
    model_serializer,
)

from niceeval._reading import expected_text, received_text
from niceeval.errors import RecordError
from niceeval_expect._evaluation import Evaluation

__all__ = [
    "AssertionResult",
    "AttemptResult",
    "Coverage",
    "Decision",
    "Source",
    "Status",
    "Subject",
    "Try",
    "Verdict",
]

Verdict: TypeAlias = Literal["passed", "failed", "errored", "skipped"]
Status: TypeAlias = Literal["passed", "failed", "errored", "skipped", "scored", "unrankable"]
Decision: TypeAlias = Literal["met", "unmet", "undecided", "informative"]
Coverage: TypeAlias = Literal["complete", "partial", "none"]

Blobs: TypeAlias = Callable[[str], bytes]
"""Returns the bytes behind a digest, or raises RecordError."""


def _evaluation(value: object) -> Evaluation:
    if isinstance(value, Evaluation):
        return value
    if isinstance(value, Mapping):
        return Evaluation.from_document(value)
    raise ValueError(f"an evaluation or its document is needed, got {type(value).__name__}")


_Evaluation = Annotated[
    Evaluation, PlainValidator(_evaluation), PlainSerializer(lambda value: value.as_document(), return_type=dict)
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Source(_Model):
    """Where an assertion was written.

    Attributes:
        file: The file, as the runner saw it.
        line: The line, from 1.
    """

    file: str
    line: int


class Subject(_Model):
    """The value that a check read, by reference: several assertions of an attempt may share one.

    Attributes:
        type: The name of the value's type; ``cut`` for a scope's evidence.
        digest: A digest of the encoded value.
        size: Bytes of the encoded value.
        redacted: The names of the secrets that were replaced in it.
        truncated: Whether part of it was left out.
    """

    type: str
    digest: str
    size: int = 0
    redacted: tuple[str, ...] = ()
    truncated: bool = False
    _inline: tuple[Any] | None = PrivateAttr(default=None)
    _load: Callable[[], Any] | None = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """Compare what the subject is, not from where its value would be read."""
        if not isinstance(other, Subject):
            return NotImplemented
        return self.digest == other.digest and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(self.digest)

    def inline(self) -> tuple[Any] | None:
        """Return the encoded value, in a tuple, where it costs no reading of a blob; else None."""
        return self._inline

    def encoded(self) -> Any:
        """Return the value as the codec's tagged JSON tree.

        Raises:
            RecordError: It was not kept, or its blob is missing or altered.
        """
        if self._inline is not None:
            return self._inline[0]
        if self._load is None:
            raise RecordError(f"the value of subject {self.digest} ({self.type}) was not kept with this result")
        return self._load()

    def value(self) -> Any:
        """Return the value, decoded; instances of classes come back as read-only snapshots of their content.

        Raises:
            RecordError: It was not kept, or its blob is missing or altered.
        """
        from niceeval_expect._codec import decode

        return decode(self.encoded())


class AssertionResult(_Model):
    """One registered check: what was compared, how, what came out, and what that decided.

    `expected` and `received` are texts for a person, made from the rest when they are read.

    Attributes:
        attempt_id: The attempt it belongs to.
        order: Its place among the attempt's assertions, from 0.
        key: The author's key for the requirement, if any.
        label: The author's name for the entry, if any.
        requirement: What it stands for: the key, else the label, else the match.
        evaluation: What the match said.
        decision: ``met``, ``unmet`` or ``undecided`` for entries that decide, else ``informative``.
        reason: Why it is undecided, if it is.
        source: Where it was written.
        group: The titles of the groups around it.
        scope: What it looked at.
        subject: The value it read.
        match: The match's complete spec; where a judge was asked, with what was asked and answered under ``judge``.
        fingerprint: A digest of that spec.
        calls: References of the tool calls that matched.
        candidates: References of the tool calls that were looked at, bounded.
        coverage: How much of the channel it needs was reported, for scoped checks.
        threshold: The limit of a thresholded measurement.
        gate: Whether it joins a pass-style verdict.
        stops: Whether ``or_stop()`` was asked for.
        points: What it can earn in a score-style eval.
        earned: What it did earn.
        rederivable: ``yes``, or why it cannot be evaluated again from what is stored.
    """

    _not_a_subject: ClassVar[str] = "check() got a result as subject; check the value, or read .decision and go on"

    attempt_id: str
    order: int
    key: str | None = None
    label: str | None = None
    requirement: str
    evaluation: _Evaluation
    decision: Decision
    reason: str | None = None
    source: Source
    group: tuple[str, ...] = ()
    scope: Literal["turn", "session", "attempt", "value"] = "value"
    subject: Subject
    match: Annotated[Mapping[str, Any], SkipValidation]
    fingerprint: str
    calls: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    coverage: Coverage | None = None
    threshold: float | None = None
    gate: bool = False
    stops: bool = False
    points: float | None = None
    earned: float | None = None
    rederivable: Literal["yes", "code", "judge", "redacted", "budget"] = "yes"

    @property
    def expected(self) -> str:
        """What was wanted, at the place that decided."""
        return expected_text(self.match, self.evaluation)

    @property
    def received(self) -> str:
        """What was there, at the place that decided."""
        return received_text(self.evaluation, self.subject)

    @model_serializer(mode="wrap")
    def _with_texts(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dump(self)
        return {**fields, "expected": self.expected, "received": self.received}

    def __bool__(self) -> NoReturn:
        raise TypeError("a result has no truth value; read .decision or .evaluation.outcome")


class Try(_Model):
    """One earlier execution of an attempt, given up since the agent could not be reached.

    Attributes:
        reason: Why it was given up.
        duration: Seconds that it took.
        waited: Seconds until the next try began.
    """

    reason: str
    duration: float = 0.0
    waited: float = 0.0


class AttemptResult(_Model):
    """One execution of one case against one agent, with everything that was asserted.

    Attributes:
        id: The attempt's own id.
        eval_id: The eval's id, without the case.
        case_id: The case's id, verbatim.
        agent: The agent's name; empty where no agent took part.
        attempt: Which attempt at this case by this agent, from 1.
        style: ``pass`` or ``score``.
        status: How it ended.
        verdict: The status of a pass-style attempt, else None.
        score: The official score of a scored attempt.
        partial_score: What an unrankable or errored attempt had earned: a lower bound.
        stopped_by: The requirement whose ``or_stop()`` ended it.
        duration: Seconds.
        reason: Why it errored, failed, was skipped or cannot be ranked; of a scored one, how the agent broke.
        started: When it started.
        error: Type, message and traceback of the exception that ended it, if one did.
        inputs: The messages that were sent, in order.
        assertions: What was registered, in order.
        tries: Earlier executions, given up since the agent could not be reached; empty where the first one counts.
    """

    _not_a_subject: ClassVar[str] = "check() got an attempt's result as subject; check what you read of it"

    id: str
    eval_id: str
    case_id: str | None = None
    agent: str = ""
    attempt: int = 1
    style: Literal["pass", "score"] = "pass"
    status: Status
    verdict: Verdict | None = None
    score: float | None = None
    partial_score: float | None = None
    stopped_by: str | None = None
    duration: float = 0.0
    reason: str | None = None
    started: datetime | None = None
    error: Annotated[Mapping[str, Any] | None, SkipValidation] = None
    inputs: tuple[str, ...] = ()
    assertions: tuple[AssertionResult, ...] = ()
    tries: tuple[Try, ...] = ()

    @property
    def name(self) -> str:
        """The eval's id with the case in brackets."""
        return self.eval_id if self.case_id is None else f"{self.eval_id}[{self.case_id}]"

    @property
    def failures(self) -> tuple[AssertionResult, ...]:
        """The deciding assertions that were not met."""
        return tuple(item for item in self.assertions if item.decision == "unmet")

    @property
    def undecided(self) -> tuple[AssertionResult, ...]:
        """The deciding assertions that could not be decided."""
        return tuple(item for item in self.assertions if item.decision == "undecided")

    def __bool__(self) -> NoReturn:
        raise TypeError("a result has no truth value; read .status, .verdict or .score")
