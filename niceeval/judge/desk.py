"""The desk of one judge in one run: its connection, its cap, its cache, and what it said to each question."""

import contextlib
import time
from pathlib import Path
from typing import Any, Final, Protocol, final

import anyio
import attrs

from niceeval.judge.cache import AnswerCache, cache_key
from niceeval.judge.faults import HOPELESS, JudgeFault
from niceeval.judge.providers import Answer, Call, Provider, open_provider
from niceeval.judge_config import JudgeConfig
from niceeval.redaction import current_redactor, register_secret
from niceeval.retries import Backoff
from niceeval_expect._judge_port import Judgement, JudgeRequest, Sample
from niceeval_expect._judge_prompt import answer_rule, answer_schema
from niceeval_expect._judge_reading import OFF_FORMAT, REFUSED, Reading, read_reply
from niceeval_expect._sample import cut_text

__all__ = ["Hearer", "JudgeDesk"]

MOST_WAIT: Final = 300.0
"""Seconds; an endpoint that asks for more than this before the next call is given up."""
_MOST_REPLY: Final = 16_384
_UNANSWERED: Final = {"code": "cut-off", "reason": "the attempt ended before the judge answered"}
_SHORTEST_KEY: Final = 8
"""Servers of one's own are given placeholders such as "none", which are ordinary words in what is judged."""
_LEAVING: Final = 2.0
"""Seconds that closing a connection may take."""


class Hearer(Protocol):
    """Who is told what goes wrong with a judge."""

    def noted(self, text: str) -> None:
        """Something is worth knowing."""

    def hopeless(self, text: str, config: JudgeConfig) -> None:
        """No call of this judge can come out well; told once."""


@final
class JudgeDesk:
    """Answers what judge matches ask, by one judge.

    The first call goes alone: where it shows that the key or the model is wrong, no other one is made.

    Args:
        config: The judge.
        backoff: How long to wait before a call is made again.
        hearer: Told what goes wrong.
    """

    def __init__(self, config: JudgeConfig, backoff: Backoff, hearer: Hearer) -> None:
        self.config = config
        self._backoff = backoff
        self._hearer = hearer
        self._provider: Provider | None = None
        self._key: str | None = None
        self._cache = None if config.cache is None else AnswerCache(Path(config.cache), hearer.noted)
        self._cap = anyio.CapacityLimiter(config.concurrency)
        self._door = anyio.Lock()
        self._open = self._proven = False
        self._broken: JudgeFault | None = None
        self._said: set[str] = set()

    def port(self, kept: list[dict[str, Any]]) -> "_Seat":
        """Return what answers one entry's questions, and adds each with its answers to `kept`."""
        return _Seat(self, kept)

    async def ask(self, request: JudgeRequest, kept: list[dict[str, Any]]) -> Judgement:
        """Ask as many samples as are configured, side by side."""
        config = self.config
        rule = answer_rule(request.scale, structured=config.structured)
        schema = answer_schema(request.scale) if config.structured else None
        call = Call(request.system, f"{request.prompt}\n{rule}", schema)
        note: dict[str, Any] = {
            **config.settings(),
            "recipe": request.recipe,
            "system": call.system,
            "prompt": call.prompt,
            **request.scale.document(),
        }
        # What stands there until an answer comes is what an attempt that ends first keeps.
        answers: list[dict[str, Any]] = [dict(_UNANSWERED) for _ in range(config.samples)]
        note["answers"] = answers
        kept.append(note)
        samples: list[Sample | None] = [None] * config.samples

        async def sample(place: int) -> None:
            said = samples[place] = await self._sample(request, call, place, answers[place])
            answers[place] = said.document()

        if config.samples == 1:
            await sample(0)
        else:
            async with anyio.create_task_group() as tasks:
                for place in range(config.samples):
                    tasks.start_soon(sample, place)
        judgement = Judgement(tuple(each for each in samples if each is not None))
        note.update(judgement.spread())
        return judgement

    async def aclose(self) -> None:
        """Close the connection."""
        provider, self._provider = self._provider, None
        if provider is not None:
            with anyio.move_on_after(_LEAVING, shield=True), contextlib.suppress(Exception):
                await provider.aclose()

    # -- one sample

    async def _sample(self, request: JudgeRequest, call: Call, place: int, unanswered: dict[str, Any]) -> Sample:
        key = self._cache_key(call, request, place)
        cached = self._cached(key, request)
        if cached is not None:
            return cached
        tries: list[dict[str, Any]] = []
        while True:
            begun = time.perf_counter()
            try:
                answer = await self._admitted(call)
            except JudgeFault as fault:
                late = (fault.retry_after or 0) > MOST_WAIT
                if late or not fault.retryable or len(tries) >= self.config.retries:
                    shown = cut_text(fault.reply, _MOST_REPLY)
                    after = f"; it asks to be called again after {fault.retry_after:g} s" if late else ""
                    return Sample(reply=shown, code=fault.code, reason=_plain(fault.reason) + after, tries=tuple(tries))
                took = time.perf_counter() - begun
                wait = self._backoff.wait(len(tries) + 1, fault.retry_after)
                tries.append({"reason": f"{fault.code}: {_plain(fault.reason)}", "duration": round(took, 6)})
                unanswered["tries"] = tries
                await self._backoff.sleep(wait)
                tries[-1]["waited"] = round(wait, 6)
                continue
            read = _read(answer, request)
            if read.value is not None and self._cache is not None and not _holds_secret(answer):
                self._cache.put(key, answer)
            return attrs.evolve(read, tries=tuple(tries))

    def _cache_key(self, call: Call, request: JudgeRequest, place: int) -> str:
        if self._cache is None:
            return ""
        settings = {name: value for name, value in self.config.settings().items() if name != "samples"}
        asked = {"recipe": request.recipe, "system": call.system, "prompt": call.prompt, **request.scale.document()}
        return cache_key(**settings, **asked, sample=place)

    def _cached(self, key: str, request: JudgeRequest) -> Sample | None:
        kept = None if self._cache is None else self._cache.get(key)
        if kept is None or self._cache is None:
            return None
        read = _read(kept.answer, request)
        if read.value is None:
            self._cache.damaged(key, "its answer holds no verdict")
            return None
        return attrs.evolve(read, cached=kept.date)

    # -- one call

    async def _admitted(self, call: Call) -> Answer:
        """Make a call; until one has shown that key and model are good, one at a time."""
        if not self._open:
            async with self._door:
                if not self._open and self._broken is None:
                    try:
                        answer = await self._called(call)
                    except JudgeFault as fault:
                        self._open = fault.code not in HOPELESS and self._provider is not None
                        raise
                    self._open = True
                    return answer
        return await self._called(call)

    async def _called(self, call: Call) -> Answer:
        async with self._cap:
            if self._broken is not None:
                raise attrs.evolve(self._broken)
            try:
                provider = self._provider or self._connected()
                with anyio.fail_after(self.config.timeout):
                    answer = await provider.complete(call)
            except TimeoutError as error:
                reason = f"the judge did not answer within {self.config.timeout:g} s"
                raise JudgeFault("judge-timeout", reason, True) from error
            except JudgeFault as fault:
                # Once the judge has answered, a gateway that refuses one text is no wrong key.
                if fault.code in HOPELESS and self._broken is None and (fault.certain or not self._proven):
                    self._broken = attrs.evolve(fault, reason=_plain(fault.reason))
                    self._hearer.hopeless(
                        f"the judge {self.config.model} cannot be used: {self._broken.reason}", self.config
                    )
                raise
            self._proven = True
            return answer

    def _connected(self) -> Provider:
        """Open the connection.

        Raises:
            JudgeFault: The model or the key is not known.
        """
        config = self.config
        if config.model is None:
            raise self._missing(JudgeFault("judge-model-unresolved", "no judge model is configured"))
        key = config.key()
        if config.key_name is not None:
            if key is None:
                reason = f"the environment variable {config.key_name} with the judge's key is not set"
                raise self._missing(JudgeFault("judge-key-unresolved", reason))
            if not (key.isascii() and key.isprintable()):
                reason = f"the environment variable {config.key_name} holds characters that no key has"
                raise self._missing(JudgeFault("judge-key-unresolved", reason))
            if len(key) >= _SHORTEST_KEY:
                register_secret(config.key_name, key)
        self._provider = open_provider(config, key)
        return self._provider

    def _missing(self, fault: JudgeFault) -> JudgeFault:
        """Say once what is not configured."""
        if fault.code not in self._said:
            self._said.add(fault.code)
            self._hearer.noted(f"{fault.code}: {fault.reason}; checks by a judge are unavailable")
        return fault


@final
class _Seat:
    """The port of one entry."""

    def __init__(self, desk: JudgeDesk, kept: list[dict[str, Any]]) -> None:
        self._desk = desk
        self._kept = kept

    async def ask(self, request: JudgeRequest, /) -> Judgement:
        """Ask once."""
        return await self._desk.ask(request, self._kept)


def _read(answer: Answer, request: JudgeRequest) -> Sample:
    """Return what an answer says, by the rule of the recipe."""
    extra: dict[str, Any] = {}
    if answer.model is not None:
        extra["answered_by"] = answer.model
    if answer.usage:
        extra["usage"] = dict(answer.usage)
    shown = cut_text(answer.text or answer.refusal or answer.other, _MOST_REPLY)
    if answer.ended == "refused":
        said = f": {cut_text(_plain(answer.refusal))}" if answer.refusal else ""
        return Sample(reply=shown, code=REFUSED, reason=f"the judge declined to answer{said}", extra=extra)
    if answer.ended == "cut":
        return Sample(reply=shown, code=OFF_FORMAT, reason="the reply was cut off for its length", extra=extra)
    read = read_reply(answer.text, request.scale)
    if isinstance(read, Reading):
        return Sample(value=read.value, verdict=read.verdict, rationale=read.rationale, reply=shown, extra=extra)
    return Sample(reply=shown, code=read.code, reason=read.reason, extra=extra)


def _holds_secret(answer: Answer) -> bool:
    # A cache is read by whoever shares the folder; what is stored there cannot be both exact and redacted.
    return bool(current_redactor().redact_text(answer.text)[1])


def _plain(text: str) -> str:
    return " ".join(text.split())
