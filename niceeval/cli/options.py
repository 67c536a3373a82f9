"""What was asked for on the command line, and what of it a run keeps so that it can be gone on with."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import attrs

from niceeval.evals.experiments import Budget

__all__ = ["Asked", "Options", "Selection"]


@final
@attrs.frozen
class Selection:
    """Which evals and cases take part.

    Attributes:
        expression: What `-k` says.
        tags: Evals with any of these take part.
        limit: How many cases of each eval take part, the first ones.
        last_failed: Whether only cases take part that the latest run left failed, errored or not run.
    """

    expression: str | None = None
    tags: tuple[str, ...] = ()
    limit: int | None = None
    last_failed: bool = False


@final
@attrs.frozen(kw_only=True)
class Options:
    """What was asked for; None and empty where it was not said."""

    paths: Sequence[str] = ()
    agents: Sequence[str] = ()
    experiments: Sequence[str] = ()
    attempts: int | None = None
    until_decided: bool = False
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None
    judge: str | None = None
    judge_cache: str | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_time: float | None = None
    selection: Selection = Selection()
    exit_first: bool = False
    allow_empty: bool = False
    dry_run: bool = False
    backend: str = "asyncio"
    quiet: bool = False
    as_json: bool = False
    record: str | None = None
    reports: Sequence[str] = ()

    @classmethod
    def given(
        cls,
        *,
        expression: str | None = None,
        tags: Sequence[str] = (),
        limit: int | None = None,
        last_failed: bool = False,
        **options: Any,
    ) -> Self:
        """Return what a command was given, by the names of its parameters."""
        return cls(selection=Selection(expression, tuple(tags), limit, last_failed), **options)

    @property
    def budget(self) -> Budget | None:
        """What the whole run may use."""
        if self.max_cost is None and self.max_tokens is None and self.max_time is None:
            return None
        return Budget(max_cost=self.max_cost, max_tokens=self.max_tokens, max_time=self.max_time)


@final
@attrs.frozen(kw_only=True)
class Asked:
    """What a run keeps of how it was asked for: `niceeval resume` loads the same again.

    Attributes:
        paths: The files and folders, relative to where the command was given.
        agents: The agents, as `--agent` takes them.
        experiments: The experiments, as `--experiment` takes them.
        selection: Which evals and cases took part.
        concurrency: How many attempts ran at a time.
        timeout: Seconds for one attempt.
        retries: How often an attempt is tried again.
        judge: The judge, as `--judge` takes it.
        judge_cache: The folder of its cache; empty for the usual one.
    """

    paths: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    selection: Selection = Selection()
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None
    judge: str | None = None
    judge_cache: str | None = None

    def document(self) -> dict[str, Any]:
        """Return what `run.json` keeps under `asked`."""
        flat = attrs.asdict(self)
        flat.update(flat.pop("selection"))
        return {name: value for name, value in flat.items() if value not in (None, (), [], False)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Read what `document()` gave.

        Raises:
            KeyError, TypeError, ValueError: The document does not have this shape.
        """

        def texts(name: str) -> tuple[str, ...]:
            return tuple(map(str, document.get(name) or ()))

        return cls(
            paths=texts("paths"),
            agents=texts("agents"),
            experiments=texts("experiments"),
            selection=Selection(
                document.get("expression"), texts("tags"), document.get("limit"), bool(document.get("last_failed"))
            ),
            concurrency=document.get("concurrency"),
            timeout=document.get("timeout"),
            retries=document.get("retries"),
            judge=document.get("judge"),
            judge_cache=document.get("judge_cache"),
        )
