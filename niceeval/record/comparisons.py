"""What a comparison says, as models."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["Compared", "Comparison", "Flip", "Share", "Side"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class Share(_Model):
    """What one side of a comparison says by itself.

    Attributes:
        passed: Attempts that passed; of scores, attempts with a score.
        decided: The denominator; of scores, attempts with a score.
        errored: Attempts that could not be decided, or ranked.
        planned: Attempts that were meant to run; of a requirement, None: only some attempts come to it.
        value: The rate, or the mean score; None where nothing was decided.
    """

    passed: int
    decided: int
    errored: int
    planned: int | None
    value: float | None


class Compared(_Model):
    """One eval or requirement on both sides, and the difference over the cases that both sides decided.

    Attributes:
        kind: What is compared.
        name: The eval or the requirement; ``*`` for all pass-style evals together.
        first: The first side by itself.
        second: The second side by itself.
        pairs: Cases that both sides decided.
        worse: How many of them came out worse in the second.
        better: How many came out better.
        difference: The mean over the pairs of second less first; None without a pair.
        interval: Its two-sided interval; None where there are too few pairs to say.
        p_worse: The chance of so much to the worse if the two do not differ.
        p_differs: The chance of so much to either side.
        method: How these chances were computed.
    """

    kind: Literal["evals", "eval", "requirement", "score"]
    name: str
    first: Share
    second: Share
    pairs: int
    worse: int
    better: int
    difference: float | None
    interval: tuple[float, float] | None
    p_worse: float
    p_differs: float
    method: str


class Flip(_Model):
    """A pass-style case that came out differently.

    Attributes:
        name: The eval's id with the case in brackets.
        first: Passed and decided attempts of the first side.
        second: Those of the second.
    """

    name: str
    first: tuple[int, int]
    second: tuple[int, int]


class Side(_Model):
    """One side of a comparison.

    Attributes:
        run_id: The run.
        agent: The agent's name; empty where no agent took part.
    """

    run_id: str
    agent: str


class Comparison(_Model):
    """What two sides say of the same cases.

    Attributes:
        first: The side that is compared with.
        second: The side that is compared.
        overall: All pass-style evals together; None where there are none.
        evals: Each pass-style eval that both sides have.
        scores: Each score-style eval that both sides have.
        requirements: Each requirement that both sides came to, the one that fails most in the second first.
        worse: The cases that went to the worse.
        better: The cases that went to the better.
        undecided: Cases of both sides that one of them did not decide; they are in no difference.
        only_first: Cases that only the first side has.
        only_second: Cases that only the second side has.
    """

    first: Side
    second: Side
    overall: Compared | None
    evals: tuple[Compared, ...]
    scores: tuple[Compared, ...]
    requirements: tuple[Compared, ...]
    worse: tuple[Flip, ...]
    better: tuple[Flip, ...]
    undecided: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
