"""What agents hold open, such as connections and processes: closed when the session or the run that uses it ends."""

import inspect
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import anyio

from niceeval.agents.function import FunctionAgent
from niceeval.attempt_state import AttemptState, SessionState
from niceeval.hooks import Problem, torn_down

__all__ = ["close_agents", "close_attempt", "close_sessions"]


async def close_sessions(sessions: Sequence[SessionState]) -> Problem | None:
    """Close whatever agents keep in their sessions whose class says ``ends_with_session``, each for at most 10 s.

    What does not say so may be shared with other sessions, such as a client for all of them.

    Returns:
        What went wrong, if something did.
    """
    held: list[object] = []
    for session in sessions:
        if session.context.session:
            held += [value for value in list(session.context.session.values()) if _ends(value)]
    return await _close(held) if held else None


async def close_agents(agents: Iterable[object]) -> Problem | None:
    """Close every agent that has a method `aclose`, each once and for at most 10 s.

    Returns:
        What went wrong, if something did.
    """
    held = [agent for agent in {id(each): each for each in map(_own, agents)}.values() if _closes(agent)]
    return await _close(held) if held else None


async def close_attempt(state: AttemptState) -> None:
    """Close what the sessions of an attempt outside a run hold open, and its agent.

    Warns:
        RuntimeWarning: Something went wrong.
    """
    for problem in (await close_sessions(state.sessions), await close_agents([state.agent])):
        if problem is not None:
            warnings.warn(f"closing the agent {problem.text}", RuntimeWarning, stacklevel=2)


def _own(agent: object) -> object:
    """Return the author's object behind an agent that was made of its method."""
    return getattr(agent.function, "__self__", agent.function) if isinstance(agent, FunctionAgent) else agent


def _ends(value: object) -> bool:
    return getattr(type(value), "ends_with_session", False) is True and _closes(value)


def _closes(thing: object) -> bool:
    # Looked up on the class: a stand-in that has every attribute holds nothing open.
    return inspect.iscoroutinefunction(getattr(type(thing), "aclose", None))


async def _close(held: Sequence[Any]) -> Problem | None:
    problems: list[Problem] = []

    async def close(thing: Any) -> None:
        problem = await torn_down(thing.aclose)
        if problem is not None:
            problems.append(problem)

    with anyio.CancelScope(shield=True):
        async with anyio.create_task_group() as group:
            for thing in held:
                group.start_soon(close, thing)
    return problems[0] if problems else None
