"""A model behind OpenAI's chat completions, by OpenAI or by any endpoint that speaks them, as an agent."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Final, final

from niceeval.agents._model_agent import ModelAgent, Request
from niceeval.agents._model_turn import NOT_WHOLE, Asked, Ending, Said, Step, tokens
from niceeval.agents._openai_messages import RawCall, read_messages
from niceeval.agents._provider_faults import ProviderError, fault_of_body
from niceeval.agents._stream_chat import ChatAssembler
from niceeval.agents._stream_events import Assembler
from niceeval.agents._tools import Outcome
from niceeval.events import Message, Thinking
from niceeval.reply import Usage
from niceeval_expect._evaluation import Absent

__all__ = ["OpenAIChatAgent"]

_ENDINGS: Final[Mapping[str, Ending]] = {
    "stop": "whole",
    "tool_calls": "whole",
    "function_call": "whole",
    "length": "broken",
    "content_filter": "broken",
}
_WHY: Final = {
    "length": "the answer was cut off for its length (finish_reason length)",
    "content_filter": "the provider's filter ended the answer (finish_reason content_filter)",
}
_CALLING: Final = ("tool_calls", "function_call")
_KEPT: Final = ("content", "refusal", "tool_calls", "function_call")


@final
class OpenAIChatAgent(ModelAgent):
    """A model behind OpenAI's chat completions, at any address, that calls Python functions as its tools.

    >>> def lookup_order(id: str) -> str:
    ...     '''Look an order up.'''
    ...     return f"{id} is in transit"
    >>> OpenAIChatAgent("gpt-5.4-mini", tools=[lookup_order], instructions="You work for a shop.")
    <OpenAIChatAgent gpt-5.4-mini, 1 tool>
    """

    _provider: ClassVar[str] = "openai"
    _url: ClassVar[str] = "https://api.openai.com/v1"
    _key: ClassVar[str] = "OPENAI_API_KEY"
    _client: ClassVar[str] = "AsyncOpenAI"
    _resource: ClassVar[str] = "chat"
    _named: ClassVar[tuple[str, ...]] = ("model", "messages", "stream")

    def _asked(self, message: str) -> Sequence[Mapping[str, Any]]:
        return [{"role": "user", "content": message}]

    def _parameters_of(self, request: Request) -> dict[str, Any]:
        told = [] if self._instructions is None else [{"role": "system", "content": self._instructions}]
        # OpenAI's newer models refuse the older name, and other endpoints may not know the newer one.
        most = "max_completion_tokens" if self._own_url else "max_tokens"
        return {
            "model": request.model,
            "messages": [*told, *request.history],
            "tools": [_described(tool.name, tool.description, tool.parameters) for tool in self._tools] or None,
            "temperature": self._temperature,
            most: self._max_tokens,
            "stream_options": {"include_usage": True} if self._stream else None,
            "response_format": None
            if request.schema is None
            else {"type": "json_schema", "json_schema": {"name": "output", "schema": dict(request.schema)}},
        }

    def _opening(self, client: Any, parameters: Mapping[str, Any]) -> AbstractAsyncContextManager[Any]:
        opening: AbstractAsyncContextManager[Any] = client.chat.completions.with_streaming_response.create(**parameters)
        return opening

    def _assembler(self) -> Assembler:
        return ChatAssembler()

    def _read(self, document: Mapping[str, Any], *, whole: bool = True) -> Step:
        choice, message = _message(document)
        finish = choice.get("finish_reason")
        ending: Ending = _ENDINGS.get(finish, "unsaid") if isinstance(finish, str) else "unsaid"
        whole = whole and ending != "broken"
        try:
            read = read_messages([{**message, "role": "assistant"}], "OpenAIChatAgent")[0]
        except ValueError as error:
            raise ProviderError(f"the provider's answer cannot be read: {error}") from error
        said: list[Said] = [Thinking(read.thinking)] if read.thinking else []
        if read.text:
            said.append(Message("assistant", read.text))
        said += [_asked_for(call, whole=whole) for call in read.calls]
        notes = [(channel, note.replace("message 0", "an answer", 1)) for channel, note in read.notes]
        if finish in _CALLING and not read.calls and "tool_calls" not in dict(notes):
            notes.append(("tool_calls", f"an answer ended with finish_reason {finish}, and has no call"))
        return Step(
            said=said,
            usage=_usage(document.get("usage")),
            ending=ending,
            why=_WHY.get(str(finish), ""),
            notes=notes,
        )

    def _kept(
        self, document: Mapping[str, Any], step: Step, outcomes: Sequence[Outcome]
    ) -> Sequence[Mapping[str, Any]]:
        message = _message(document)[1]
        kept = {name: message[name] for name in _KEPT if message.get(name) is not None}
        if _named(kept.get("function_call")) is None:
            # Not read as a call, and nothing can answer it.
            kept.pop("function_call", None)
        calls = [_with_id(call, place) for place, call in enumerate(kept.get("tool_calls") or ()) if _name(call)]
        if calls:
            kept["tool_calls"] = calls
        else:
            kept.pop("tool_calls", None)
            kept.setdefault("content", "")
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": outcome.text}
            for call, outcome in zip(calls, outcomes, strict=False)
        ]
        if "function_call" in kept and outcomes:
            # The way of calling that came before tools: one call, answered by name.
            results.append({"role": "function", "name": step.calls[-1].name, "content": outcomes[-1].text})
        return [{"role": "assistant", **kept}, *results]


def _described(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": dict(parameters)},
    }


def _message(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise fault_of_body(repr(document))
    return choice, message


def _asked_for(call: RawCall, *, whole: bool) -> Asked:
    blank = call.raw_input is None and call.input == {}
    if blank and not whole:
        return Asked(call.name, Absent(NOT_WHOLE), None, call.id)
    return Asked(call.name, call.input, call.raw_input, call.id)


def _usage(given: object) -> Usage | None:
    usage = Usage(
        input_tokens=tokens(given, "prompt_tokens"), output_tokens=tokens(given, "completion_tokens")
    )  # fmt: skip
    return None if usage == Usage() else usage


def _name(call: object) -> str | None:
    """Return the name of a call that was read as one."""
    for kind in ("function", "custom"):
        name = _named(call.get(kind) if isinstance(call, dict) else None)
        if name is not None:
            return name
    return None


def _named(body: object) -> str | None:
    name = body.get("name") if isinstance(body, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _with_id(call: dict[str, Any], place: int) -> dict[str, Any]:
    # A result names the call that it answers: where the provider gave no id, the conversation needs one all the same.
    return call if call.get("id") else {**call, "id": f"call_{place + 1}"}
