"""What agents that are a model behind a provider's protocol have in common: settings, session and tool loop."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from itertools import count
from math import isfinite
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import attrs

from niceeval.agents._model_turn import ModelTurn, Step
from niceeval.agents._provider import Provider
from niceeval.agents._provider_faults import ProviderError
from niceeval.agents._stream_events import Assembler
from niceeval.agents._tools import Outcome, Tools
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.errors import AgentUnavailable, told
from niceeval.reply import Reply

__all__ = ["ModelAgent", "Request"]

_numbers: Final = count(1)


@attrs.frozen
class Request:
    """What a request is made of.

    Attributes:
        model: The model's name.
        history: The conversation, as the protocol writes it.
        schema: The JSON Schema of the output, where the turn asks for structured output.
    """

    model: str
    history: Sequence[Mapping[str, Any]]
    schema: Mapping[str, Any] | None


class ModelAgent(ABC):
    """A model that answers, calls Python functions as its tools, and is asked again until it calls none.

    Calls are carried out one after another, in the order the model gives them. What a tool raises is a failed call,
    and the model is told; so is a call with arguments that cannot be read or do not fit. The conversation is kept in
    `ctx.session`; a turn that broke off leaves no trace in it.
    """

    _provider: ClassVar[str]
    _url: ClassVar[str]
    _key: ClassVar[str]
    _client: ClassVar[str]
    _resource: ClassVar[str]
    _named: ClassVar[tuple[str, ...]]
    """What the SDK's method insists on, or has to know."""

    def __init__(
        self,
        model: str | None = None,
        *,
        tools: Iterable[Callable[..., Any]] = (),
        instructions: str | None = None,
        base_url: str | None = None,
        key_variable: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        stream: bool = False,
        most_steps: int = 10,
        timeout: float = 600.0,
        parameters: Mapping[str, Any] | None = None,
        tool_names: ToolNames | None = None,
        client: Any = None,
    ) -> None:
        """Take the settings; nothing is sent yet.

        Args:
            model: The model, as the provider knows it. The experiment's own model wins over it.
            tools: Python functions with annotated parameters. The docstring is the description that the model reads.
            instructions: What the model is told before the conversation.
            base_url: Where the endpoint is; the provider's own by default.
            key_variable: The environment variable with the key; the provider's usual one by default, ``""`` for an
                endpoint that takes none.
            temperature: What is asked of the model, 0 or more; None says nothing.
            max_tokens: How long one answer may get, in tokens, at least 1; None leaves it to the provider.
            stream: Whether answers are streamed, so that a turn that is cut off keeps what had come.
            most_steps: How many answers of the model a turn may take, at least 1. A turn that needs more is failed.
            timeout: Seconds that the provider may be silent, above 0.
            parameters: More parameters of each request, as the provider names them; None takes one out.
            tool_names: Which servers' tools the reported names stand for.
            client: An async client of the SDK to use as it is, in place of `base_url`, `key_variable` and `timeout`. It
                belongs to the event loop where it is first used, and is not closed.

        Raises:
            TypeError: An argument is of another kind, or a function cannot be a tool.
            ValueError: A number is out of its range, an address cannot be used, or two tools have one name.
        """
        self._owner: Final = type(self).__name__
        self._model: Final = self._text("model", model)
        self._tools: Final = Tools(tools, self._owner)
        self._instructions: Final = self._text("instructions", instructions)
        self._temperature: Final = None if temperature is None else self._number("temperature", temperature, least=0)
        self._max_tokens: Final = None if max_tokens is None else self._whole("max_tokens", max_tokens)
        self._stream: Final = bool(stream)
        self._most_steps: Final = self._whole("most_steps", most_steps)
        self._parameters: Final[Mapping[str, Any]] = dict(self._a(Mapping, "parameters", "a mapping", parameters) or {})
        self._tool_names: Final = self._a(ToolNames, "tool_names", "a ToolNames(...)", tool_names)
        self._own_url: Final = base_url is None
        self._endpoint: Final = Provider(
            name=self._provider,
            base_url=self._address(base_url) or self._url,
            key_variable=self._variable(key_variable),
            timeout=self._number("timeout", timeout, above=0),
            client=self._usable(client),
        )
        self._place: Final = f"niceeval.{self._owner}.{next(_numbers)}"

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Let the model answer, and carry out what it asks for.

        Raises:
            AgentUnavailable: The provider could not be reached, or no model, key or SDK is there.
            ProviderError: The provider refused the request, or answered something that is not its protocol.
        """
        model = ctx.model or self._model
        if model is None:
            raise AgentUnavailable(
                f"no model is named: give {self._owner}(model) or the experiment's model", retryable=False
            )
        turn = ModelTurn(ctx, self._tool_names)
        history: list[Mapping[str, Any]] = [*ctx.session.get(self._place, ()), *self._asked(message)]
        async with self._endpoint.connected() as client:
            for left in range(self._most_steps - 1, -1, -1):
                request = Request(model, history, ctx.output_schema)
                document = await self._answer(client, request, turn)
                step = self._understood(document)
                places = turn.add(step)
                goes_on = left > 0 and (step.ending == "paused" or (step.ending != "broken" and bool(step.calls)))
                outcomes: list[Outcome | None] = [None] * len(step.calls)
                if goes_on:
                    for index, (place, asked) in enumerate(zip(places, step.calls, strict=True)):
                        outcomes[index] = outcome = await self._tools.run(asked.name, asked.input)
                        turn.finish(place, asked, outcome)
                history += self._kept(document, step, [each or _NOT_RUN for each in outcomes])
                if not goes_on:
                    break
        turn.end(step, cut=self._too_long() if step.calls or step.ending == "paused" else None)
        ctx.session[self._place] = history
        return turn.reply()

    async def _answer(self, client: Any, request: Request, turn: ModelTurn) -> Mapping[str, Any]:
        """Return the next answer; of one that is cut off, what had come is reported."""
        said = {**self._parameters_of(request), "stream": True if self._stream else None, **self._parameters}
        given = {name: value for name, value in said.items() if value is not None}
        # The SDK's methods know neither every parameter nor the same ones in every version.
        named = {name: given.pop(name) for name in self._named if name in given}
        named["extra_body"] = given or None
        assembler = self._assembler()
        try:
            return await self._endpoint.ask(self._opening(client, named), assembler)
        except BaseException:
            came = assembler.document()
            if came is not None:
                with suppress(Exception):
                    # What went wrong counts, not what its remains look like.
                    turn.add(self._read(came, whole=False))
            raise

    def _understood(self, document: Mapping[str, Any]) -> Step:
        try:
            return self._read(document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProviderError(f"the provider's answer is not what its protocol says: {told(error)}") from error

    def _too_long(self) -> str:
        steps = "1 answer" if self._most_steps == 1 else f"{self._most_steps} answers"
        return f"the model was not done after {steps}, which is the most that most_steps allows"

    # -- what a protocol says

    @abstractmethod
    def _asked(self, message: str) -> Sequence[Mapping[str, Any]]:
        """Return what the user's message adds to the conversation."""

    @abstractmethod
    def _parameters_of(self, request: Request) -> dict[str, Any]:
        """Return the parameters of a request, as the protocol names them; None for what is not said."""

    @abstractmethod
    def _opening(self, client: Any, parameters: Mapping[str, Any]) -> AbstractAsyncContextManager[Any]:
        """Return what sends the request when it is entered."""

    @abstractmethod
    def _assembler(self) -> Assembler:
        """Return what puts a stream together."""

    @abstractmethod
    def _read(self, document: Mapping[str, Any], *, whole: bool = True) -> Step:
        """Return what an answer says; one that is not whole is read as far as it goes."""

    @abstractmethod
    def _kept(
        self, document: Mapping[str, Any], step: Step, outcomes: Sequence[Outcome]
    ) -> Sequence[Mapping[str, Any]]:
        """Return what an answer and the outcomes of its calls add to the conversation."""

    # -- arguments

    def _a(self, kind: Any, name: str, what: str, value: Any) -> Any:
        if value is None or isinstance(value, kind):
            return value
        raise TypeError(f"{self._owner}() {name} is {what}, got {value!r:.80}")

    def _text(self, name: str, value: object) -> str | None:
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        raise TypeError(f"{self._owner}() {name} is text or None, got {value!r:.80}")

    def _whole(self, name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{self._owner}() {name} is a whole number, got {value!r:.80}")
        if value < 1:
            raise ValueError(f"{self._owner}() {name} is at least 1, got {value}")
        return value

    def _number(self, name: str, value: object, *, above: float | None = None, least: float | None = None) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TypeError(f"{self._owner}() {name} is a number, got {value!r:.80}")
        if not isfinite(value) or (above is not None and value <= above) or (least is not None and value < least):
            bound = f"above {above:g}" if above is not None else f"at least {least:g}"
            raise ValueError(f"{self._owner}() {name} is {bound}, got {value}")
        return value

    def _address(self, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(self._text("base_url", value) or "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self._owner}() base_url is an address such as {self._url}, got {value!r:.80}")
        return value.rstrip("/")

    def _variable(self, value: str | None) -> str:
        name = self._key if value is None else value
        if not isinstance(name, str) or (name and not name.isidentifier()):
            raise ValueError(
                f"{self._owner}() key_variable names the environment variable that holds the key, and is not the key "
                "itself; what was given is no such name"
            )
        return name

    def _usable(self, client: Any) -> Any:
        if client is None:
            return None
        # What all async clients of both SDKs are, those of clouds included.
        is_async = any(base.__name__ == "AsyncAPIClient" for base in type(client).__mro__)
        if not is_async or not hasattr(client, self._resource):
            raise TypeError(f"{self._owner}() client is an async client such as {self._client}, got {client!r:.80}")
        return client

    def __repr__(self) -> str:
        """Name the model and count the tools."""
        tools = "1 tool" if len(self._tools) == 1 else f"{len(self._tools)} tools"
        return f"<{self._owner} {self._model or 'without a model'}, {tools}>"


_NOT_RUN: Final = Outcome("", "this call was not carried out, as the turn had ended", failed=True)
