"""Plans of any selection: as many attempts as were selected, and no others."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from niceeval.plans import AttemptRef
from niceeval.pytest_plugin.planned import PlannedAttempt, header
from niceeval.record.layout import Header

EVERY = [
    PlannedAttempt(AttemptRef(eval_id, case, agent, attempt), has_cases=case is not None)
    for (eval_id, case), agent, attempt in product(
        [("a", "x"), ("a", "y"), ("a", "z"), ("b", None)], ["old", "new", ""], [1, 2, 3]
    )
]


def read(planned: list[PlannedAttempt]) -> Header:
    fixed = {"id": "20260801-111840-p2mz", "started": "2026-08-01T11:18:40+00:00", "status": "running"}
    return Header.from_document({**fixed, **header(planned)})


@given(st.sets(st.sampled_from(range(len(EVERY))), min_size=1))
def test_every_attempt_is_counted_once_under_its_eval_and_agent(chosen: set[int]) -> None:
    planned = [EVERY[index] for index in sorted(chosen)]
    plan = read(planned)
    assert plan.planned() == len(planned)
    for eval_id, agent in product(["a", "b"], ["old", "new", ""]):
        counted = sum(
            part.size * plan.attempts_of(part, agent)
            for part in plan.evals
            if part.id == eval_id and agent in (plan.agents or ("",))
        )
        assert counted == sum(each.ref.eval_id == eval_id and each.ref.agent == agent for each in planned)


def test_a_whole_selection_is_one_part_for_each_eval() -> None:
    plan = read(EVERY)
    assert [(part.id, part.cases, part.attempts, part.agents) for part in plan.evals] == [
        ("a", ("x", "y", "z"), 3, None),
        ("b", None, 3, None),
    ]


def test_without_agents_none_is_named() -> None:
    plan = read([PlannedAttempt(AttemptRef("a", None, "", 1), style="score", tags=("slow",), min_rate=0.5)])
    assert plan.agents == ()
    assert (plan.evals[0].style, plan.evals[0].tags, plan.evals[0].min_rate) == ("score", ("slow",), 0.5)
