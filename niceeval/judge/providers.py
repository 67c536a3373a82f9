"""The providers' official SDKs behind one method: a prompt goes in, a text and how it ended come out."""

import importlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol, final

import attrs

from niceeval.errors import told
from niceeval.judge.faults import JudgeFault, fault_of_body, fault_of_status
from niceeval.judge_config import JudgeConfig

__all__ = ["Answer", "Call", "Provider", "open_provider"]

_TOKENS: Final = 2_048
"""What Anthropic, which insists on a number, is told where nothing is configured."""
_ANSWER: Final = "verdict"


@final
@attrs.frozen
class Call:
    """One call: two texts, and the JSON Schema of the answer where it is to be JSON."""

    system: str
    prompt: str
    schema: Mapping[str, Any] | None


@final
@attrs.frozen
class Answer:
    """What came.

    Attributes:
        text: The text of the reply.
        ended: Whether it is whole, was cut for its length, or was refused.
        model: The model that says it answered.
        usage: Tokens in and out, as far as they were reported.
        refusal: What was said about a refusal.
        other: What came where there is no text, as JSON.
    """

    text: str
    ended: Literal["whole", "cut", "refused"] = "whole"
    model: str | None = None
    usage: Mapping[str, int] = attrs.Factory(dict)
    refusal: str = ""
    other: str = ""


class Provider(Protocol):
    """An open connection to a provider."""

    async def complete(self, call: Call, /) -> Answer:
        """Return the answer to one call.

        Raises:
            JudgeFault: None came.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


def open_provider(config: JudgeConfig, key: str | None) -> Provider:
    """Return the provider of a configuration.

    Raises:
        JudgeFault: Its SDK is not installed.
    """
    name = config.provider
    try:
        sdk: Any = importlib.import_module(name)
    except ImportError as error:
        reason = f'the provider {name!r} needs its SDK: pip install "niceeval[{name}]" ({error})'
        raise JudgeFault("judge-sdk-missing", reason) from error
    return _OpenAI(sdk, config, key) if name == "openai" else _Anthropic(sdk, config, key)


class _Sdk:
    """What both SDKs have in common: they come from one generator."""

    def __init__(self, sdk: Any, client: Any, config: JudgeConfig) -> None:
        self._sdk = sdk
        self._client = client
        self._config = config

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _sent(self, create: Callable[..., Awaitable[Any]], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the body of the answer as it was sent."""
        sdk = self._sdk
        try:
            raw = await create(**parameters)
            body = raw.http_response.content.decode("utf-8", "replace")
        except sdk.APIStatusError as error:
            response = error.response
            text = response.content.decode("utf-8", "replace")
            raise fault_of_status(response.status_code, response.headers, text) from error
        except sdk.APITimeoutError as error:
            raise JudgeFault("judge-timeout", _late(self._config), True) from error
        except sdk.APIConnectionError as error:
            why = f" ({error.__cause__})" if error.__cause__ is not None and str(error.__cause__) else ""
            raise JudgeFault("judge-unreachable", f"the judge's endpoint cannot be reached{why}", True) from error
        except sdk.APIError as error:
            raise JudgeFault("judge-unreachable", f"the judge's answer cannot be read ({told(error)})", True) from error
        try:
            document = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise fault_of_body(body) from error
        if not isinstance(document, dict):
            raise fault_of_body(body)
        return document


def _late(config: JudgeConfig) -> str:
    return f"the judge did not answer within {config.timeout:g} s"


@final
class _OpenAI(_Sdk):
    """Chat completions, by OpenAI or by any endpoint that speaks them."""

    def __init__(self, sdk: Any, config: JudgeConfig, key: str | None) -> None:
        client = sdk.AsyncOpenAI(
            api_key=key or "none", base_url=config.url, timeout=config.timeout, max_retries=0
        )  # fmt: skip
        super().__init__(sdk, client, config)

    async def complete(self, call: Call, /) -> Answer:
        """Return the answer to one call."""
        config = self._config
        parameters: dict[str, Any] = {
            "model": config.model,
            "messages": [{"role": "system", "content": call.system}, {"role": "user", "content": call.prompt}],
        }
        if config.temperature is not None:
            parameters["temperature"] = config.temperature
        if config.max_tokens is not None:
            # OpenAI's newer models refuse the older name, and other endpoints may not know the newer one.
            parameters["max_completion_tokens" if config.base_url is None else "max_tokens"] = config.max_tokens
        if call.schema is not None:
            wanted = {"name": _ANSWER, "strict": True, "schema": dict(call.schema)}
            parameters["response_format"] = {"type": "json_schema", "json_schema": wanted}
        document = await self._sent(self._client.chat.completions.with_raw_response.create, parameters)
        choices = document.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict) or not isinstance(content, str | list | None):
            raise fault_of_body(json.dumps(document))
        refusal, reason = message.get("refusal"), choice.get("finish_reason")
        refused = bool(refusal) or reason == "content_filter"
        text = _joined(content)
        return Answer(
            text,
            "refused" if refused else "cut" if reason == "length" else "whole",
            _text(document.get("model")),
            _usage(document.get("usage"), "prompt_tokens", "completion_tokens"),
            str(refusal or ""),
            "" if text else json.dumps(message),
        )


@final
class _Anthropic(_Sdk):
    """Anthropic's messages."""

    def __init__(self, sdk: Any, config: JudgeConfig, key: str | None) -> None:
        client = sdk.AsyncAnthropic(
            api_key=key or "none", base_url=config.url, timeout=config.timeout, max_retries=0
        )  # fmt: skip
        super().__init__(sdk, client, config)

    async def complete(self, call: Call, /) -> Answer:
        """Return the answer to one call."""
        config = self._config
        # Parameters that some versions of the SDK do not have as arguments.
        extra: dict[str, Any] = {} if config.temperature is None else {"temperature": config.temperature}
        if call.schema is not None:
            extra["output_config"] = {"format": {"type": "json_schema", "schema": dict(call.schema)}}
        parameters: dict[str, Any] = {
            "model": config.model,
            "max_tokens": config.max_tokens or _TOKENS,
            "system": call.system,
            "messages": [{"role": "user", "content": call.prompt}],
            "extra_body": extra or None,
        }
        document = await self._sent(self._client.messages.with_raw_response.create, parameters)
        blocks = document.get("content")
        if not isinstance(blocks, list):
            raise fault_of_body(json.dumps(document))
        reason, details = document.get("stop_reason"), document.get("stop_details")
        cut = reason in ("max_tokens", "model_context_window_exceeded")
        text = _joined(blocks)
        return Answer(
            text,
            "refused" if reason == "refusal" else "cut" if cut else "whole",
            _text(document.get("model")),
            _usage(document.get("usage"), "input_tokens", "output_tokens"),
            str(details.get("explanation") or "") if isinstance(details, dict) else "",
            "" if text else json.dumps(blocks),
        )


def _joined(content: object) -> str:
    """Return the text of a message, which may come in blocks."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    blocks = [block for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return "".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _usage(given: object, tokens_in: str, tokens_out: str) -> dict[str, int]:
    """Return the tokens that were reported, and nothing for those that were not."""
    if not isinstance(given, dict):
        return {}
    found = {"input_tokens": given.get(tokens_in), "output_tokens": given.get(tokens_out)}
    return {name: value for name, value in found.items() if isinstance(value, int) and not isinstance(value, bool)}
