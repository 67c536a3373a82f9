"""What is used of pydantic-ai, and what has to inherit from it. Imported where an agent of it is made."""

from typing import Any, final

from pydantic_ai import DeferredToolRequests, RunContext, StructuredDict, UserError, capture_run_messages
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
)
from pydantic_ai.models import ModelRequestContext

__all__ = [
    "AbstractAgent",
    "DeferredToolRequests",
    "ModelAPIError",
    "ModelAuthenticationError",
    "ModelHTTPError",
    "ModelQuotaExceededError",
    "ModelRequestRejectedError",
    "OutputTools",
    "StructuredDict",
    "UserError",
    "capture_run_messages",
]


@final
class OutputTools(AbstractCapability[Any]):
    """Learns by which tools the model hands over structured output; it changes nothing."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Look at what the model is offered."""
        self._names.update(tool.name for tool in request_context.model_request_parameters.output_tools)
        return request_context
