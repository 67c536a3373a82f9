"""NiceEval: fluent assertions and a runner for evaluating LLM agents, with evidence you can trust.

Public names are loaded when they are first used, so that reading a record loads no runtime.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from niceeval.agents._paths import CallPaths, ReplyPaths, StreamPaths
    from niceeval.agents.anthropic import AnthropicAgent
    from niceeval.agents.base import Agent, AgentContext, AgentLike
    from niceeval.agents.chat import OpenAIChatAgent
    from niceeval.agents.http import HttpAgent
    from niceeval.agents.langgraph import LangGraphAgent
    from niceeval.agents.mcp_names import ToolNames
    from niceeval.agents.openai import reply_from_openai, transcript_from_openai
    from niceeval.agents.openai_agents import OpenAIAgentsAgent
    from niceeval.agents.process import ProcessAgent
    from niceeval.agents.pydantic_ai import PydanticAIAgent
    from niceeval.agents.responses import OpenAIResponsesAgent
    from niceeval.agents.scripted import ScriptedAgent
    from niceeval.codec import register_snapshot
    from niceeval.command import CommandResult
    from niceeval.context import EvalContext
    from niceeval.errors import (
        AgentFailed,
        AgentReferenceError,
        AgentUnavailable,
        AuthoringError,
        ConfigError,
        EvalLoadError,
        JudgeWarning,
        NiceEvalError,
        RecordError,
        RecordWarning,
    )
    from niceeval.evals.datasets import load_cases
    from niceeval.evals.define import define_eval, define_score_eval
    from niceeval.evals.define_experiments import define_experiment
    from niceeval.evals.eval import Eval
    from niceeval.evals.experiments import Budget, Experiment
    from niceeval.events import (
        ContextCompacted,
        ErrorEvent,
        Event,
        InputRequested,
        Message,
        SkillLoaded,
        Thinking,
        ToolCallFinished,
        ToolCallStarted,
    )
    from niceeval.handles import Handle, MeasureHandle, PointsHandle
    from niceeval.judge_config import JudgeConfig
    from niceeval.observing import observe
    from niceeval.record.run import RunResult
    from niceeval.redaction import register_secret
    from niceeval.reply import Coverage, Reply, TurnStatus, Usage
    from niceeval.results import AssertionResult, AttemptResult
    from niceeval.scopes import AnyTool, Scope
    from niceeval.scripts import attempt, run_eval
    from niceeval.sessions import Session
    from niceeval.tool_call import ToolCall
    from niceeval.transcript import Transcript
    from niceeval.transcripts.anthropic import transcript_from_anthropic
    from niceeval.transcripts.inspect_logs import transcripts_from_inspect
    from niceeval.transcripts.jsonl import read_jsonl
    from niceeval.transcripts.langchain import transcript_from_langchain
    from niceeval.transcripts.otel import transcripts_from_otel
    from niceeval.transcripts.pydantic_ai import transcript_from_pydantic_ai
    from niceeval.transcripts.responses import transcript_from_responses
    from niceeval.turns import Turn

    defineEval = define_eval
    defineScoreEval = define_score_eval

__version__ = "0.1.0"

_HOMES = {
    "agents.anthropic": ("AnthropicAgent",),
    "agents.base": ("Agent", "AgentContext", "AgentLike"),
    "agents.chat": ("OpenAIChatAgent",),
    "agents._paths": ("CallPaths", "ReplyPaths", "StreamPaths"),
    "agents.http": ("HttpAgent",),
    "agents.langgraph": ("LangGraphAgent",),
    "agents.mcp_names": ("ToolNames",),
    "agents.openai": ("reply_from_openai", "transcript_from_openai"),
    "agents.responses": ("OpenAIResponsesAgent",),
    "agents.openai_agents": ("OpenAIAgentsAgent",),
    "agents.process": ("ProcessAgent",),
    "agents.pydantic_ai": ("PydanticAIAgent",),
    "agents.scripted": ("ScriptedAgent",),
    "codec": ("register_snapshot",),
    "command": ("CommandResult",),
    "context": ("EvalContext",),
    "errors": (
        "AgentFailed",
        "AgentReferenceError",
        "AgentUnavailable",
        "AuthoringError",
        "ConfigError",
        "EvalLoadError",
        "JudgeWarning",
        "NiceEvalError",
        "RecordError",
        "RecordWarning",
    ),
    "evals.datasets": ("load_cases",),
    "evals.define": ("define_eval", "define_score_eval"),
    "evals.define_experiments": ("define_experiment",),
    "evals.eval": ("Eval",),
    "evals.experiments": ("Budget", "Experiment"),
    "events": (
        "ContextCompacted",
        "ErrorEvent",
        "Event",
        "InputRequested",
        "Message",
        "SkillLoaded",
        "Thinking",
        "ToolCallFinished",
        "ToolCallStarted",
    ),
    "handles": ("Handle", "MeasureHandle", "PointsHandle"),
    "judge_config": ("JudgeConfig",),
    "observing": ("observe",),
    "record.run": ("RunResult",),
    "redaction": ("register_secret",),
    "reply": ("Coverage", "Reply", "TurnStatus", "Usage"),
    "results": ("AssertionResult", "AttemptResult"),
    "scopes": ("AnyTool", "Scope"),
    "scripts": ("attempt", "run_eval"),
    "sessions": ("Session",),
    "tool_call": ("ToolCall",),
    "transcript": ("Transcript",),
    "transcripts.anthropic": ("transcript_from_anthropic",),
    "transcripts.inspect_logs": ("transcripts_from_inspect",),
    "transcripts.jsonl": ("read_jsonl",),
    "transcripts.langchain": ("transcript_from_langchain",),
    "transcripts.otel": ("transcripts_from_otel",),
    "transcripts.pydantic_ai": ("transcript_from_pydantic_ai",),
    "transcripts.responses": ("transcript_from_responses",),
    "turns": ("Turn",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ALIASES = {"defineEval": "define_eval", "defineScoreEval": "define_score_eval"}

__all__ = [
    "Agent",
    "AgentContext",
    "AgentFailed",
    "AgentLike",
    "AgentReferenceError",
    "AgentUnavailable",
    "AnthropicAgent",
    "AnyTool",
    "AssertionResult",
    "AttemptResult",
    "AuthoringError",
    "Budget",
    "CallPaths",
    "CommandResult",
    "ConfigError",
    "ContextCompacted",
    "Coverage",
    "ErrorEvent",
    "Eval",
    "EvalContext",
    "EvalLoadError",
    "Event",
    "Experiment",
    "Handle",
    "HttpAgent",
    "InputRequested",
    "JudgeConfig",
    "JudgeWarning",
    "LangGraphAgent",
    "MeasureHandle",
    "Message",
    "NiceEvalError",
    "OpenAIAgentsAgent",
    "OpenAIChatAgent",
    "OpenAIResponsesAgent",
    "PointsHandle",
    "ProcessAgent",
    "PydanticAIAgent",
    "RecordError",
    "RecordWarning",
    "Reply",
    "ReplyPaths",
    "RunResult",
    "Scope",
    "ScriptedAgent",
    "Session",
    "SkillLoaded",
    "StreamPaths",
    "Thinking",
    "ToolCall",
    "ToolCallFinished",
    "ToolCallStarted",
    "ToolNames",
    "Transcript",
    "Turn",
    "TurnStatus",
    "Usage",
    "__version__",
    "attempt",
    "defineEval",
    "defineScoreEval",
    "define_eval",
    "define_experiment",
    "define_score_eval",
    "load_cases",
    "observe",
    "read_jsonl",
    "register_secret",
    "register_snapshot",
    "reply_from_openai",
    "run_eval",
    "transcript_from_anthropic",
    "transcript_from_langchain",
    "transcript_from_openai",
    "transcript_from_pydantic_ai",
    "transcript_from_responses",
    "transcripts_from_inspect",
    "transcripts_from_otel",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(_ALIASES.get(name, name))
    if home is None:
        raise AttributeError(f"module 'niceeval' has no attribute {name!r}")
    value = getattr(import_module(f"niceeval.{home}"), _ALIASES.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
