"""SQL that asks the same as expected, by its syntax tree."""

import functools
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import attrs

from niceeval_expect._evaluation import (
    MATCHED,
    MAX_SAMPLES,
    Diagnostic,
    Evaluation,
    cut_text,
    mismatched,
    sample,
    wrong_type,
)
from niceeval_expect._match import ValueMatch
from niceeval_expect._python_code import NoCode, unfenced
from niceeval_expect._same_python import not_read
from niceeval_expect._sources import options, read_flag
from niceeval_expect._spec import register

if TYPE_CHECKING:
    from niceeval_expect._sql_form import SqlForm

__all__ = ["same_sql"]


@functools.cache
def _sql() -> ModuleType:
    # Imported with the first match: sqlglot is an extra, and takes longer to load than this package.
    try:
        from niceeval_expect import _sql_form
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "sqlglot":
            raise
        raise ImportError("same_sql() needs sqlglot, which is not installed: pip install niceeval[sql]") from error
    return _sql_form


@attrs.frozen(eq=False, repr=False)
class _SameSql(ValueMatch):
    _spec_name = "same_sql"
    family = "referential"
    _expected: str
    _dialect: str | None
    _column_names: bool
    _fenced: bool
    _form: "SqlForm"

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"expected": self._expected}
        if self._dialect is not None:
            args["dialect"] = self._dialect
        if self._column_names:
            args["column_names"] = True
        if self._fenced:
            args["fenced"] = True
        return args

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        code = unfenced(subject) if self._fenced else subject
        if code == self._expected:
            return MATCHED
        form = code if isinstance(code, NoCode) else _sql().read_sql(code, self._form.dialect, self._column_names)
        if isinstance(form, NoCode):
            return not_read(form, subject, pointer)
        return MATCHED if self._form.same(form) else self._explain(form, subject, pointer)

    def _explain(self, form: "SqlForm", subject: str, pointer: str) -> Evaluation:
        found = _differences(self._form, form, pointer)
        message = "; ".join(each.message for each in found[:1]) or "the statements differ"
        if len(found) > 1:
            message = f"{len(found):,} clauses differ: {message}"
        return mismatched(
            "sql",
            message,
            pointer,
            expected=self._expected,
            received=subject,
            children=found[:MAX_SAMPLES] if len(found) > 1 else (),
            truncated=len(found) > MAX_SAMPLES,
        )


def _differences(expected: "SqlForm", received: "SqlForm", pointer: str) -> list[Diagnostic]:
    kind, other = expected.tree.key, received.tree.key
    if kind != other:
        return [Diagnostic("statement", f"is {other.upper()}, not {kind.upper()}", pointer, kind, other)]
    wanted, got = dict(expected.clauses()), dict(received.clauses())
    found: list[Diagnostic] = []
    for name in (*wanted, *(name for name in got if name not in wanted)):
        one, there = wanted.get(name), got.get(name)
        if one != there:
            found.append(
                _difference("columns" if name == "expressions" else name, expected, one, received, there, pointer)
            )
    return found


def _difference(
    label: str, expected: "SqlForm", one: object, received: "SqlForm", other: object, pointer: str
) -> Diagnostic:
    wanted, got = (None if part is None else form.written(part) for form, part in ((expected, one), (received, other)))
    if wanted == got:
        # Redundant parentheses are gone from both, so that the two may read alike.
        return Diagnostic(
            label, f"{label}: the parts of {cut_text(wanted or '', 160)!r} are grouped differently", pointer
        )
    shown = (f"{cut_text(text, 160)!r}" if text is not None else "nothing" for text in (wanted, got))
    return Diagnostic(label, "{}: expected {}, got {}".format(label, *shown), pointer, sample(wanted), sample(got))


def same_sql(
    expected: str, /, *, dialect: str | None = None, column_names: bool = False, fenced: bool = False
) -> ValueMatch:
    """Match a text that is the same SQL statement as `expected`, read by `sqlglot` and compared as a tree.

    It takes queries and INSERT, UPDATE, DELETE and MERGE statements. These make no difference: white space, comments,
    a final semicolon, the case of keywords and, as the dialect has it, of names; quotes around names that do not need
    them; redundant parentheses; spellings of one operator (``<>`` and ``!=``); INNER, OUTER, ASC and AS as redundant
    words. In a query neither do the names of table aliases, of common table expressions and, unless `column_names`, of
    result columns; whether a column names its table where there is only one; a position or an alias in GROUP BY; the
    order of the operands of AND, OR, ``=`` and ``<>``, and ``a > b`` for ``b < a``.

    Everything else does: the order of tables, columns and conditions of a list, another join that gives the same
    rows, a subquery for a join, ``COUNT(1)`` for ``COUNT(*)``. It is blind to data and schema: nothing is run. Text
    that is no SQL statement mismatches with code ``no-code``.

    Args:
        expected: The statement.
        dialect: The name of a dialect that sqlglot knows, such as ``"postgres"``; by default its own, a superset.
        column_names: Whether the names of the result columns must be the same too.
        fenced: Whether the SQL is in a Markdown fence, the only one in the text; what is around it is not read.

    Raises:
        ImportError: Without sqlglot: ``pip install niceeval[sql]``.
        TypeError: If an argument has the wrong type.
        ValueError: If `expected` is no such statement, or the dialect is unknown.

    >>> from niceeval_expect import same_sql
    >>> late = same_sql("SELECT o.id FROM orders AS o WHERE o.days > 30 AND o.paid")
    >>> late.evaluate("select id from Orders where (paid) and 30 < days;").outcome
    'matched'
    >>> late.evaluate("SELECT id FROM orders WHERE days >= 30 AND paid").code
    'sql'
    """
    owner = "same_sql()"
    if not isinstance(expected, str):
        raise TypeError(f"{owner} takes the expected statement as text, got {expected!r:.200}")
    keep = read_flag(owner, "column_names", column_names)
    fence = read_flag(owner, "fenced", fenced)
    sql: Any = _sql()
    form = sql.read_sql(str.__str__(expected), sql.read_dialect(owner, dialect), keep)
    if isinstance(form, NoCode):
        raise ValueError(f"{owner} got the expected statement {expected!r:.200}, which {form.message}")
    return _SameSql(str.__str__(expected), dialect, keep, fence, form)


def _rebuild(args: Mapping[str, Any]) -> ValueMatch:
    try:
        return same_sql(args["expected"], **options(args, "expected"))
    except ImportError as error:
        raise ValueError(str(error)) from error


register("same_sql", _rebuild)
