"""What `Record` answers about rates and several runs; each method leads to the module that answers it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from niceeval.record.rows import Rows

if TYPE_CHECKING:
    from niceeval.record.comparisons import Comparison
    from niceeval.record.gates import GateResult
    from niceeval.record.histories import HistoryPoint, RequirementHistory
    from niceeval.record.ranks import Ranked
    from niceeval.record.read import Record, RunInfo

__all__ = ["Answers"]


class Answers:
    """Gates, comparisons, ranks and histories of a record."""

    __slots__ = ()

    def gate(
        self,
        run: "RunInfo | str" = "latest",
        /,
        *,
        min_rate: float | None = None,
        requirements: Mapping[str, float] | None = None,
        max_errored: float | None = None,
        baseline: "RunInfo | str | None" = None,
        confidence: float = 0.95,
        evals: Sequence[str] = (),
        agents: Sequence[str] = (),
        cases: Literal["sampled", "fixed"] = "sampled",
    ) -> "GateResult":
        """Decide whether a run is good enough: see `niceeval.record.gates.gate`.

        Raises:
            RecordError: A run cannot be read, or has nothing that the gate could be about.
            ValueError: An argument is out of range.
        """
        from niceeval.record.gates import gate

        return gate(
            cast("Record", self),
            run,
            min_rate=min_rate,
            requirements=requirements,
            max_errored=max_errored,
            baseline=baseline,
            confidence=confidence,
            evals=evals,
            agents=agents,
            cases=cases,
        )

    def compare(
        self,
        first: "RunInfo | str",
        second: "RunInfo | str | None" = None,
        /,
        *,
        agents: tuple[str, str] | None = None,
        evals: Sequence[str] = (),
        confidence: float = 0.95,
    ) -> "Rows[Comparison]":
        """Compare two runs, or two agents of one, case by case: see `niceeval.record.compare.compare`.

        Raises:
            RecordError: A run cannot be read, or there is no agent to compare with.
            ValueError: `confidence` is out of range.
        """
        from niceeval.record.compare import compare

        return compare(cast("Record", self), first, second, agents=agents, evals=evals, confidence=confidence)

    def rank(
        self, run: "RunInfo | str" = "latest", /, *, by_eval: bool = False, confidence: float = 0.95
    ) -> "Rows[Ranked]":
        """Rank the agents of a run by their scores, with intervals: see `niceeval.record.ranks.rank`.

        Raises:
            RecordError: The run cannot be read.
            ValueError: `confidence` is out of range.
        """
        from niceeval.record.ranks import rank

        return rank(cast("Record", self), run, by_eval=by_eval, confidence=confidence)

    def history(self, key: str, /, *, eval: str | None = None) -> "Rows[HistoryPoint]":
        """Follow a requirement through all runs, the oldest first: see `niceeval.record.histories.history`.

        Raises:
            RecordError: No run came to it, or one cannot be read.
        """
        from niceeval.record.histories import history

        return history(cast("Record", self), key, eval=eval)

    def histories(self, *, eval: str | None = None, runs: int = 5, decisions: int = 100) -> "Rows[RequirementHistory]":
        """Return every requirement over all runs: see `niceeval.record.histories.histories`.

        Raises:
            RecordError: A run cannot be read.
            ValueError: `runs` or `decisions` is below 1.
        """
        from niceeval.record.histories import histories

        return histories(cast("Record", self), eval=eval, runs=runs, decisions=decisions)
