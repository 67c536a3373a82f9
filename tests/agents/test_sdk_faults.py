from collections.abc import Callable
from typing import Any

import pytest
from anthropic import Anthropic, AnthropicError
from openai import OpenAI, OpenAIError

from niceeval import AgentUnavailable
from niceeval.agents._sdk_faults import fault_of_sdk_error, unreachable
from tests.agents.contract import Fault
from tests.agents.providers import fault_answer
from tests.servers.scripted import scripted_server


def ask_openai(url: str) -> None:
    with OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])


def ask_anthropic(url: str) -> None:
    with Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        client.messages.create(model="m", max_tokens=5, messages=[{"role": "user", "content": "Hello"}])


def error_of(ask: Callable[[str], None], fault: Fault) -> BaseException:
    with scripted_server() as server:
        server.script.append(fault_answer(fault, server, server.silent()))
        with pytest.raises((OpenAIError, AnthropicError)) as caught:
            ask(server.url)
    return caught.value


@pytest.mark.parametrize("ask", [ask_openai, ask_anthropic])
@pytest.mark.parametrize(
    ("fault", "retryable", "after"),
    [
        ("rate-limited", True, 7.0),
        ("server-error", True, None),
        ("gateway-page", True, None),
        ("dropped", True, None),
        ("bad-key", False, None),
    ],
)
def test_an_sdk_that_did_not_reach_its_model(
    ask: Callable[[str], None], fault: Fault, retryable: bool, after: float | None
) -> None:
    found = fault_of_sdk_error(error_of(ask, fault))
    assert found is not None
    assert (found.retryable, found.retry_after) == (retryable, after)


@pytest.mark.parametrize("ask", [ask_openai, ask_anthropic])
def test_a_refused_request_is_about_the_request(ask: Callable[[str], None]) -> None:
    assert fault_of_sdk_error(error_of(ask, "bad-request")) is None


@pytest.mark.parametrize("error", [OpenAIError("no api_key"), AnthropicError("no api_key")])
def test_a_missing_key_is_no_result_and_stays_missing(error: Exception) -> None:
    found = fault_of_sdk_error(error)
    assert found is not None
    assert not found.retryable


def test_an_exception_of_anybody_else_says_nothing_about_a_model() -> None:
    assert fault_of_sdk_error(ConnectionError("a tool's own")) is None


def test_of_a_group_every_part_has_to_mean_it() -> None:
    def reading(error: BaseException) -> AgentUnavailable | None:
        waits: Any = error.args[0]
        return None if waits is None else AgentUnavailable(f"in {waits} s", retry_after=waits)

    every = unreachable(ExceptionGroup("all", [OSError(3), ExceptionGroup("more", [OSError(5)])]), reading)
    assert every is not None
    assert (str(every), every.retry_after) == ("in 3 s; in 5 s", 5)
    assert unreachable(ExceptionGroup("all", [OSError(3), OSError(None)]), reading) is None
