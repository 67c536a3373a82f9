"""The tables that SQL and exports see: their columns, in order, with what each holds."""

from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["TABLES", "Column"]


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        name: Its name.
        type: Its SQL type.
        meaning: What it holds.
    """

    name: str
    type: str
    meaning: str


def _column(text: str) -> Column:
    name, kind, meaning = text.split(None, 2)
    return Column(name, kind.replace("_", " "), meaning)


_WHICH: Final = """
run            VARCHAR    the run's id
"""
_ATTEMPTS: Final = """
id             VARCHAR    the attempt's id
position       BIGINT     its place in the plan's order, from 0
eval           VARCHAR    the eval's id
case           VARCHAR    the case's id; null where the eval has no cases
agent          VARCHAR    the agent's or the experiment's name
attempt        INTEGER    which attempt at this case by this agent, from 1
style          VARCHAR    pass or score
status         VARCHAR    passed, failed, errored, skipped, scored or unrankable
score          DOUBLE     the official score of a scored attempt
score_text     VARCHAR    the same, as it is stored, for exact arithmetic
partial_score  DOUBLE     what an unrankable or errored attempt had earned: a lower bound
stopped_by     VARCHAR    the requirement whose or_stop() ended it
reason         VARCHAR    why it errored, failed, was skipped or cannot be ranked
error          VARCHAR    the type of the exception that ended it
started        TIMESTAMP  when it started, in UTC
duration       DOUBLE     seconds
tries          INTEGER    earlier executions, given up since the agent could not be reached
turns          INTEGER    turns of all sessions, without those that were only observed
input_tokens   BIGINT     over the turns that reported it; null where none did
output_tokens  BIGINT     over the turns that reported it; null where none did
cost_usd       DOUBLE     over the turns that reported it, in US dollars; null where none did
tokens_unreported INTEGER turns without both counts of tokens
cost_unreported INTEGER   turns without a cost
file           VARCHAR    the file of its line, from the run's folder
line           BIGINT     the line, from 1
offset         BIGINT     where the line begins, in bytes
size           BIGINT     how long it is, in bytes
"""
_ASSERTIONS: Final = """
attempt_id     VARCHAR    the attempt's id
position       BIGINT     the attempt's place in the plan's order, from 0
eval           VARCHAR    the attempt's eval
case           VARCHAR    the attempt's case
agent          VARCHAR    the attempt's agent
attempt        INTEGER    the attempt's number
status         VARCHAR    how the attempt ended
order          INTEGER    the assertion's place in the attempt, from 0
requirement    VARCHAR    the key, else the label, else the match
key            VARCHAR    its key
label          VARCHAR    its label
group          VARCHAR    the titles of the groups around it, joined by " / "
outcome        VARCHAR    matched, mismatched, unavailable or errored, or what a score match said
decision       VARCHAR    met, unmet, undecided or informative
code           VARCHAR    the code of the diagnostic; null for a plain match
message        VARCHAR    what the diagnostic says; null for a plain match
reason         VARCHAR    why it is undecided
value          DOUBLE     what was measured
threshold      DOUBLE     the limit of a thresholded measurement
gate           BOOLEAN    whether it joins the verdict
stops          BOOLEAN    whether or_stop() was asked for
points         DOUBLE     what it can earn
earned         DOUBLE     what it did earn
match          VARCHAR    the match's name
fingerprint    VARCHAR    the digest of the match's spec: see the table matches
subject        VARCHAR    the digest of the value that it read
scope          VARCHAR    value, turn, session or attempt
coverage       VARCHAR    how much of the channel it needs was reported
rederivable    VARCHAR    yes, or why it cannot be evaluated again
file           VARCHAR    the file that registered it
line           BIGINT     the line there
"""
_REQUIREMENTS: Final = """
eval           VARCHAR    the eval's id
requirement    VARCHAR    the requirement
failed         BIGINT     attempts in which an assertion of it was not met
decided        BIGINT     attempts in which it was met or failed
errored        BIGINT     attempts in which it could not be decided, and did not fail
not_reached    BIGINT     attempts of the eval that ran and never came to it
rate           DOUBLE     (decided - failed) / decided; null where nothing was decided
"""
_PLAN: Final = """
eval           VARCHAR    the eval's id
case           VARCHAR    the case's id; null where the eval has no cases
agent          VARCHAR    the agent's or the experiment's name
style          VARCHAR    pass or score
attempts       INTEGER    how many attempts were meant to run
"""
_MATCHES: Final = """
fingerprint    VARCHAR    the digest of the spec
match          VARCHAR    the match's name
spec           VARCHAR    the complete spec, as JSON
"""
_RUNS: Final = """
started        TIMESTAMP  when it started, in UTC
status         VARCHAR    running, sealed or interrupted
agents         VARCHAR[]  the names of the agents and experiments
planned        BIGINT     how many attempts were meant to run
ended          BIGINT     how many are recorded
resumes        VARCHAR    the run that it goes on with
stopped        VARCHAR    why it stopped before its plan's end
folder         VARCHAR    where it is
"""


def _table(*texts: str) -> tuple[Column, ...]:
    return tuple(_column(line) for text in texts for line in text.strip().splitlines())


TABLES: Final[Mapping[str, tuple[Column, ...]]] = {
    "runs": _table(_WHICH, _RUNS),
    "attempts": _table(_WHICH, _ATTEMPTS),
    "assertions": _table(_WHICH, _ASSERTIONS),
    "requirements": _table(_WHICH, _REQUIREMENTS),
    "plan": _table(_WHICH, _PLAN),
    "matches": _table(_WHICH, _MATCHES),
}
"""The tables by their names."""
