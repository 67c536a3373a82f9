"""Statements that same_sql calls the same give the same rows: tried on a database, with small queries and their variants."""

import random
import re
from collections import Counter

import duckdb

from niceeval_expect import same_sql

ROWS = """
    CREATE TABLE t (a INT, b INT); CREATE TABLE u (a INT, c INT);
    INSERT INTO t VALUES (1, 2), (2, 1), (3, 3), (1, 5), (NULL, 1), (2, 2);
    INSERT INTO u VALUES (1, 1), (2, 3), (3, 2), (2, 5), (5, NULL);
"""
PAIRS = 80
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
Names = list[tuple[str, tuple[str, str]]]


class Writer:
    """Writes queries over two tables, and variants that mean the same or nearly the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def column(self, names: Names) -> str:
        table, columns = self.random.choice(names)
        column = self.random.choice(columns)
        return f"{table}.{column}" if self.random.random() < 0.7 else column

    def number(self, names: Names) -> str:
        if self.random.random() < 0.6:
            return self.column(names)
        left, right = self.column(names), self.random.randint(1, 3)
        return f"({left} {self.random.choice('+-*')} {right})"

    def condition(self, names: Names, depth: int = 2) -> str:
        kind = self.random.random()
        if not depth or kind < 0.5:
            return f"{self.number(names)} {self.random.choice(['<', '>=', '=', '<>'])} {self.number(names)}"
        if kind < 0.6:
            return f"NOT ({self.condition(names, depth - 1)})"
        if kind < 0.7:
            inner = self.random.choice(["s", "t", "u"])
            return f"EXISTS (SELECT 1 FROM u AS {inner} WHERE {self.condition([(inner, ('a', 'c')), *names], 0)})"
        both = (self.condition(names, depth - 1) for _ in range(2))
        return f"({self.random.choice([' AND ', ' OR ']).join(both)})"

    def query(self) -> str:
        one, two = self.random.sample(["t", "u", "x", "y"], 2)
        m, n = self.random.sample(["m", "n"], 2)
        part = f"SELECT a AS {m}, b AS {n} FROM t"
        head, source, names = self.random.choice(
            [
                ("", f"t AS {one}", [(one, ("a", "b"))]),
                ("", f"t {one} JOIN u {two} ON {one}.a = {two}.c", [(one, ("a", "b")), (two, ("a", "c"))]),
                ("", f"({part}) AS {one}", [(one, (m, n))]),
                (f"WITH {two} AS ({part}) ", f"{two} AS {one}", [(one, (m, n))]),
            ]
        )
        columns = f"{self.number(names)} AS r, {self.column(names)} AS k"
        order = self.random.choice(["", " ORDER BY 1", " ORDER BY k"])
        return f"{head}SELECT {columns} FROM {source} WHERE {self.condition(names)}{order}"

    def variant(self, query: str) -> str:
        kind = self.random.randrange(4)
        if kind == 0:
            old, new = self.random.choice("tuxy"), self.random.choice("tuxy")
            return re.sub(rf"\b{old}\b", new, query)
        if kind == 1:
            pair = self.random.choice(["ab", "mn", "rk"])
            return re.sub(rf"\b[{pair}]\b", lambda found: pair[1 - pair.index(found[0])], query)
        if kind == 2:
            inner = [found.span() for found in re.finditer(r"\((?!SELECT)[^()]*\)", query)]
            start, end = self.random.choice(inner or [(0, 0)])
            return query[:start] + query[start + 1 : max(end - 1, 0)] + query[end:] if inner else query
        turn = self.random.random() < 0.7
        return re.sub(
            r"(\S+) (<|>=|=|<>) (\S+)",
            lambda found: f"{found[3]} {FLIPPED.get(found[2], found[2]) if turn else found[2]} {found[1]}",
            query,
            count=1,
        )


def test_what_is_the_same_gives_the_same_rows() -> None:
    database = duckdb.connect()
    database.execute(ROWS)
    writer = Writer(2)
    tried, same = 0, 0
    while tried < PAIRS:
        query = writer.query()
        other = writer.variant(query)
        try:
            rows, others = (Counter(database.execute(each).fetchall()) for each in (query, other))
        except duckdb.Error:
            continue
        tried += query != other
        if query != other and same_sql(query, dialect="duckdb").evaluate(other).outcome == "matched":
            same += 1
            assert rows == others, (query, other)
    assert PAIRS // 5 < same < PAIRS
