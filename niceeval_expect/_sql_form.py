"""The form in which two SQL statements are compared: names resolved, aliases numbered, layout gone."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.tokenizer_core import TokenType

from niceeval_expect._python_code import NoCode

__all__ = ["SqlForm", "read_dialect", "read_sql"]

_MAX_SQL: Final = 100_000
_MAX_TOKENS: Final = 4_000
"""Resolving names takes time by the square in the worst case: seconds beyond this."""
_MAX_DEPTH: Final = 60
_STARTS: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE", "("})
_STATEMENTS: Final = (exp.Query, exp.Values, exp.Insert, exp.Update, exp.Delete, exp.Merge)
_FLIPPED: Final[dict[type[exp.Expr], type[exp.Binary]]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
# No identifier that anyone writes looks like these.
_TABLE: Final = "t·{}"
_CTE: Final = "with·{}"
_COLUMN: Final = "c·{}"


@attrs.frozen
class SqlForm:
    """A statement in the form in which it is compared."""

    tree: exp.Expr
    qualified: bool
    dialect: Dialect

    def same(self, other: "SqlForm") -> bool:
        return self.qualified == other.qualified and bool(self.tree == other.tree)

    def clauses(self) -> Iterator[tuple[str, exp.Expr | list[Any] | None]]:
        """Yield the clauses of the statement and what is in each."""
        for name, value in self.tree.args.items():
            if value:
                yield name.rstrip("_"), value

    def written(self, clause: Any) -> str:
        """Return a clause, or several of them, as SQL."""
        if isinstance(clause, list):
            return ", ".join(map(self.written, clause))
        return _text(clause, self.dialect) if isinstance(clause, exp.Expr) else str(clause)


def read_dialect(owner: str, dialect: str | None) -> Dialect:
    """Return the dialect of that name.

    Raises:
        TypeError: If it is no text.
        ValueError: If no dialect has this name.
    """
    if dialect is not None and not isinstance(dialect, str):
        raise TypeError(f'{owner} takes dialect= as the name of one, such as "postgres", got {dialect!r:.200}')
    try:
        return Dialect.get_or_raise(dialect)
    except ValueError as error:
        raise ValueError(f"{owner} got the dialect {dialect!r:.200}: {error}") from error


def read_sql(text: str, dialect: Dialect, column_names: bool) -> SqlForm | NoCode:
    """Read one statement and bring it into the form in which it is compared."""
    if len(text) > _MAX_SQL:
        return NoCode("size", f"is too long to be read as SQL: {len(text):,} characters, {_MAX_SQL:,} at most")
    try:
        tree = _parse(text, dialect)
        return tree if isinstance(tree, NoCode) else _form(tree, dialect, column_names)
    except SqlglotError as error:
        return NoCode("no-code", f"is no SQL: {str(error).splitlines()[0]:.200}")
    except RecursionError:
        return NoCode("depth", "is nested too deeply to be read as SQL")


def _parse(text: str, dialect: Dialect) -> exp.Expr | NoCode:
    tokens = dialect.tokenize(text)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        return NoCode("no-code", "holds no SQL")
    if len(tokens) > _MAX_TOKENS:
        return NoCode("size", f"is too long to be read as SQL: {len(tokens):,} tokens, {_MAX_TOKENS:,} at most")
    if tokens[0].text.upper() not in _STARTS:
        return NoCode("no-code", f"is no SQL statement: it begins with {tokens[0].text!r:.80}")
    depth = 0
    for token in tokens:
        kind = token.token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth > _MAX_DEPTH:
            return NoCode("depth", "is nested too deeply to be read as SQL")
    trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    if len(trees) != 1:
        return NoCode("no-code", f"holds {len(trees):,} SQL statements, not one")
    if not isinstance(trees[0], _STATEMENTS):
        return NoCode("no-code", f"is no SQL statement that can be compared, but {trees[0].key!r}")
    return trees[0]


def _form(tree: exp.Expr, dialect: Dialect, column_names: bool) -> SqlForm:
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    named = normalize_identifiers(tree.copy(), dialect=dialect)
    qualified = isinstance(tree, exp.Query) and not _merges_columns(tree)
    if qualified:
        try:
            named = qualify(
                named, dialect=dialect, validate_qualify_columns=False, quote_identifiers=False, identify=False
            )
            _Aliases(named, column_names).number()
        except RecursionError:
            raise
        except Exception:
            # Names that cannot be resolved: the statement is compared with the names as they are.
            qualified, named = False, normalize_identifiers(tree.copy(), dialect=dialect)
    for identifier in named.find_all(exp.Identifier):
        # Case was settled by the dialect's rule; the quotes say nothing more.
        identifier.set("quoted", False)
    return SqlForm(_settled(named, dialect, isinstance(tree, exp.Query)), qualified, dialect)


def _merges_columns(tree: exp.Expr) -> bool:
    """Return whether USING decides which columns a star stands for; qualified names would lose that."""
    using = any(join.args.get("using") or join.method for join in tree.find_all(exp.Join))
    return using and any(isinstance(star.parent, exp.Select | exp.Column) for star in tree.find_all(exp.Star))


class _Aliases:
    """The aliases of one query, numbered by their places, so that their names make no difference."""

    def __init__(self, tree: exp.Expr, column_names: bool) -> None:
        self._tree = tree
        self._column_names = column_names
        self._renames: list[Callable[[], object]] = []

    def number(self) -> None:
        scopes = traverse_scope(self._tree)
        with_names: dict[int, str] = {}
        for scope in scopes:
            parent = scope.expression.parent
            if isinstance(parent, exp.CTE) and not _is_recursive(parent):
                with_names[id(scope)] = _CTE.format(len(with_names) + 1)
                self._rename_table(parent, with_names[id(scope)])
        outputs = {id(scope): self._number_outputs(scope.expression) for scope in scopes}
        tables = 0
        for scope in scopes:
            aliases: dict[str, tuple[str, dict[str, str]]] = {}
            for name, (node, source) in scope.selected_sources.items():
                tables += 1
                aliases[name] = _TABLE.format(tables), outputs.get(id(source), {})
                self._rename_table(node, aliases[name][0])
                if isinstance(node, exp.Table) and id(source) in with_names:
                    self._rename(node, "this", with_names[id(source)])
            # In a subquery a bare name may be a column of the query around it.
            only = next(iter(aliases)) if len(aliases) == 1 and not scope.is_subquery else ""
            for column in scope.columns:
                table = column.table or (only if column.parent_select is scope.expression else "")
                if table in aliases:
                    alias, names = aliases[table]
                    self._rename(column, "table", alias)
                    if column.name in names:
                        self._rename(column, "this", names[column.name])
        for rename in self._renames:
            rename()

    def _rename(self, node: exp.Expr, place: str, name: str) -> None:
        self._renames.append(functools.partial(node.set, place, exp.to_identifier(name)))

    def _rename_table(self, node: exp.Expr, name: str) -> None:
        if isinstance(node.parent, exp.Subquery) and isinstance(node, exp.Query):
            node = node.parent
        alias = node.args.get("alias")
        if isinstance(alias, exp.TableAlias):
            self._rename(alias, "this", name)
        else:
            self._renames.append(functools.partial(node.set, "alias", exp.TableAlias(this=exp.to_identifier(name))))

    def _number_outputs(self, query: exp.Expr) -> dict[str, str]:
        """Number the columns that a query gives by position, where each has a name of its own; returns old to new."""
        first: exp.Expr = query
        while isinstance(first, exp.SetOperation):
            first = first.left
        whole = _whole(query)
        if not isinstance(first, exp.Select) or self._names_matter(whole):
            return {}
        names = first.named_selects
        if first.is_star or "" in names or len(set(names)) != len(names):
            return {}
        numbered = {name: _COLUMN.format(index) for index, name in enumerate(names, 1)}
        for select in first.selects:
            if isinstance(select, exp.Alias):
                self._rename(select, "alias", numbered[select.alias])
        order = query.args.get("order")
        for column in order.find_all(exp.Column) if order else ():
            if not column.table and column.name in numbered:
                self._rename(column, "this", numbered[column.name])
        return numbered

    def _names_matter(self, whole: exp.Expr) -> bool:
        if whole is self._tree and self._column_names:
            return True
        if any(each.args.get("by_name") for each in whole.find_all(exp.SetOperation)):
            return True
        parent = whole.parent
        if isinstance(parent, exp.CTE) and _is_recursive(parent):
            return True
        return isinstance(parent, exp.CTE | exp.Subquery) and bool(parent.alias_column_names)


def _whole(query: exp.Expr) -> exp.Expr:
    """Return the set operation that a query is a part of, or the query."""
    while isinstance(query.parent, exp.SetOperation):
        query = query.parent
    return query


def _is_recursive(cte: exp.CTE) -> bool:
    return cte.parent is not None and bool(cte.parent.args.get("recursive"))


def _settled(tree: exp.Expr, dialect: Dialect, commute: bool) -> exp.Expr:
    """Return the tree without redundant words, and with operands in one order where either order means the same."""
    for node in reversed(list(tree.walk())):
        settled = _settle(node, dialect, commute)
        if settled is not node:
            if node is tree:
                return settled
            node.replace(settled)
    return tree


def _settle(node: exp.Expr, dialect: Dialect, commute: bool) -> exp.Expr:
    if isinstance(node, exp.Paren):
        inner: exp.Expr = node.this
        return inner
    if isinstance(node, exp.Join):
        _settle_join(node)
    elif not commute:
        # In an UPDATE the two sides of = are not alike.
        return node
    elif isinstance(node, exp.And | exp.Or) and type(node.parent) is not type(node):
        return _in_order(node, dialect)
    elif (flipped := _FLIPPED.get(type(node))) is not None:
        return flipped(this=node.expression, expression=node.this)
    elif isinstance(node, exp.EQ | exp.NEQ) and _text(node.expression, dialect) < _text(node.this, dialect):
        return type(node)(this=node.expression, expression=node.this)
    return node


def _settle_join(join: exp.Join) -> None:
    if join.kind in ("INNER", "OUTER"):
        join.set("kind", None)
    if not (join.kind or join.side or join.method or join.args.get("on") or join.args.get("using")):
        join.set("kind", "CROSS")


def _in_order(node: exp.Expr, dialect: Dialect) -> exp.Expr:
    kind = type(node)
    operands, stack = [], [node]
    while stack:
        each = stack.pop()
        if type(each) is kind:
            stack += (each.args["expression"], each.args["this"])
        else:
            operands.append(each)
    ordered = sorted(operands, key=lambda operand: _text(operand, dialect))
    return functools.reduce(lambda one, other: kind(this=one, expression=other), ordered)


def _text(node: exp.Expr, dialect: Dialect) -> str:
    # What the dialect cannot write is not logged: the text is only shown and sorted by.
    return node.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
