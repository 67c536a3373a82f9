"""`niceeval observe`: find recorded conversations, choose, check them as a run, and answer as `niceeval run` does."""

import random
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

import attrs

from niceeval.agents._steps import Knowledge
from niceeval.agents.mcp_names import ToolNames
from niceeval.agents.resolve import resolve_reference
from niceeval.cli.codes import NOTHING
from niceeval.cli.executing import Work, require_backend, run_plan
from niceeval.cli.judged import judged
from niceeval.cli.options import Asked, Options
from niceeval.cli.report import Rerun
from niceeval.cli.screen import complain, printed_aside
from niceeval.cli.selecting import NothingSelected, select
from niceeval.config import Config, load_config
from niceeval.errors import ConfigError
from niceeval.evals.rows import shown
from niceeval.observing import Checks, observed_eval, require_checks, unique_ids
from niceeval.plans import Plan
from niceeval.transcript import Transcript
from niceeval.transcripts.files import Shape, Source, open_source

__all__ = ["Observing", "observe_command"]


@final
@attrs.frozen(kw_only=True)
class Observing:
    """What is observed; None and empty where it was not said."""

    files: Sequence[str]
    checks: str
    format: str = "auto"
    messages: str | None = None
    ids: Sequence[str] = ()
    group_by: str | None = None
    tool_status: str | None = None
    turn_status: str | None = None
    tool_names: str | None = None
    sample: int | None = None
    rate: float | None = None
    seed: int = 0

    def document(self, conversations: int) -> dict[str, Any]:
        """Return what `run.json` keeps of it, and of how many conversations there are."""
        given = attrs.asdict(self)
        if self.sample is None and self.rate is None:
            del given["seed"]
        kept = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
        return {
            "conversations": conversations,
            **{name: value for name, value in kept.items() if value not in (None, [])},
        }

    def options(self) -> Iterator[str]:
        """Yield the options that say the same again, but for what was drawn."""
        yield f"--with {shlex.quote(self.checks)}"
        if self.format != "auto":
            yield f"--format {self.format}"
        for name in ("messages", "group_by", "tool_status", "turn_status", "tool_names"):
            if (value := getattr(self, name)) is not None:
                yield f"--{name.replace('_', '-')} {shlex.quote(value)}"
        for path in self.ids:
            yield f"--id {shlex.quote(path)}"


@final
class _Recorded:
    """A conversation where it is recorded."""

    __slots__ = ("_index", "_known", "_source")

    def __init__(self, source: Source, index: int, known: Knowledge) -> None:
        self._source, self._index, self._known = source, index, known

    def load(self) -> Transcript:
        return self._source.load(self._index, self._known)


def observe_command(observing: Observing, options: Options) -> int:
    """Check recorded conversations and return the exit code."""
    config = load_config()
    require_backend(options.backend)
    if observing.sample is not None and observing.rate is not None:
        raise ConfigError("--sample and --rate are both given; a number and a share do not go together")
    record = Path(options.record or config.record or config.root / ".niceeval")
    with printed_aside(options.as_json):
        checks = _checks(observing.checks)
        sources = list(_sources(observing))
    total = sum(map(len, sources))
    chosen = _chosen(total, observing)
    if not chosen:
        drawn = "" if not total else f"; of {total:,} the sample has none: give a larger one, or another --seed"
        complain(f"no conversation in {', '.join(observing.files[:4])}{drawn}")
        return NOTHING
    pairs = unique_ids(_pairs(sources, chosen, _knowledge(observing)))
    name = observing.checks.rpartition(":")[2].rpartition(".")[2]
    try:
        evals = select([observed_eval(pairs, checks, name)], options.selection, None)
    except NothingSelected as nothing:
        complain(str(nothing))
        return NOTHING
    return run_plan(_work(Plan(evals, observed=observing.document(total)), observing, options, config, record), options)


def _work(plan: Plan, observing: Observing, options: Options, config: Config, record: Path) -> Work:
    asked = Asked(
        concurrency=options.concurrency or config.concurrency,
        timeout=config.timeout if options.timeout is None else options.timeout,
        judge=options.judge,
        judge_cache=options.judge_cache,
    )
    plan = judged(attrs.evolve(plan, declared_secrets=config.secrets), asked, config, record)
    rerun = Rerun(observing.files, [*observing.options()], "niceeval observe")
    return Work(plan=plan, asked=asked, record=record, problems=0, rerun=rerun)


def _checks(reference: str) -> Checks:
    checks: Checks = resolve_reference(reference, "checks", "checks")
    try:
        require_checks(checks)
    except TypeError as error:
        raise ConfigError(f"--with {reference}: {error}") from None
    return checks


def _knowledge(observing: Observing) -> Knowledge:
    found: dict[str, Any] = {}
    for name in ("tool_status", "turn_status", "tool_names"):
        reference = getattr(observing, name)
        if reference is None:
            continue
        found[name] = resolve_reference(reference, name, name)
        if not (isinstance(found[name], ToolNames) if name == "tool_names" else callable(found[name])):
            wanted = "ToolNames(...)" if name == "tool_names" else "a function"
            raise ConfigError(f"--{name.replace('_', '-')} {reference} is {found[name]!r:.100}, and no {wanted}")
    return Knowledge(**found)


def _sources(observing: Observing) -> Iterator[Source]:
    try:
        shape = Shape(
            format=observing.format, messages=observing.messages, ids=observing.ids, group_by=observing.group_by
        )
    except ValueError as error:
        raise ConfigError(f"--{error}") from None
    for file in observing.files:
        path = Path(file)
        if path.is_dir():
            raise ConfigError(f"{file} is a folder; give the files in it, such as {path / '*.jsonl'}")
        yield open_source(path, shown(path), shape)


def _chosen(total: int, observing: Observing) -> Sequence[int]:
    """Return which conversations take part, by their number: the same ones for the same seed and number."""
    draw = random.Random(observing.seed)  # noqa: S311  (a sample to be repeated, no secret)
    if observing.sample is not None:
        return sorted(draw.sample(range(total), min(observing.sample, total)))
    if observing.rate is not None:
        return [number for number in range(total) if draw.random() < observing.rate]
    return range(total)


def _pairs(sources: Sequence[Source], chosen: Sequence[int], known: Knowledge) -> Iterator[tuple[str, _Recorded]]:
    place, before = 0, 0
    for number in chosen:
        while number - before >= len(sources[place]):
            before += len(sources[place])
            place += 1
        source, index = sources[place], number - before
        yield source.id(index) or source.place(index), _Recorded(source, index, known)
