"""Agents: the port, functions as agents, fixed replies, and readers of what other libraries record."""

from niceeval.agents.base import Agent, AgentContext, AgentLike
from niceeval.agents.function import as_agent
from niceeval.agents.openai import reply_from_openai, transcript_from_openai
from niceeval.agents.resolve import resolve_agent
from niceeval.agents.scripted import ScriptedAgent

__all__ = [
    "Agent",
    "AgentContext",
    "AgentLike",
    "ScriptedAgent",
    "as_agent",
    "reply_from_openai",
    "resolve_agent",
    "transcript_from_openai",
]
