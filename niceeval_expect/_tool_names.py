"""Whether a reported tool name is the one that is meant: exactly, never by substring, and sometimes nobody knows."""

from functools import lru_cache
from typing import Final, Literal, TypeAlias

__all__ = ["TOOL_STATUSES", "ToolStatus", "is_that_tool", "readings"]

ToolStatus: TypeAlias = Literal["completed", "failed", "rejected", "pending"]

TOOL_STATUSES: Final[tuple[str, ...]] = ("completed", "failed", "rejected", "pending")

_SEPARATORS: Final = ("__", ".", "/", ":")
_MCP: Final = "mcp__"


@lru_cache(maxsize=4096)
def readings(name: str) -> frozenset[tuple[str, str]]:
    """Return the (server, tool) pairs that a reported name may stand for; empty for a plain name.

    >>> sorted(readings("mcp__github__search"))
    [('github', 'search'), ('mcp', 'github__search')]
    >>> readings("lookup_order")
    frozenset()
    """
    found = set()
    for separator in _SEPARATORS:
        start = name.find(separator, 1)
        while start != -1:
            server, tool = name[:start], name[start + len(separator) :]
            if tool:
                found.add((server.removeprefix(_MCP), tool))
            start = name.find(separator, start + 1)
    return frozenset(found)


@lru_cache(maxsize=4096)
def _tools(name: str) -> frozenset[str]:
    return frozenset(tool for _, tool in readings(name))


def is_that_tool(wanted: str, server: str | None, called: str, on: str | None) -> bool | None:
    """Tell whether a call of `called` on server `on` is a call of `wanted` on `server`; None if it cannot be told.

    Args:
        wanted: The tool's name in the claim.
        server: The server in the claim; None for any.
        called: The name that was reported.
        on: The server that was reported; None where it is unknown.

    >>> is_that_tool("search", None, "search", "github"), is_that_tool("search", None, "research", None)
    (True, False)
    >>> is_that_tool("search", None, "mcp__github__search", None) is None
    True
    """
    if server is not None and on is not None and server != on:
        return False
    if called == wanted:
        return True if server is None or on is not None else None
    if on is None:
        return None if wanted in _tools(called) else False
    # The server is known: only a name that repeats it, on either side, may be another spelling of the same tool.
    return None if (on, wanted) in readings(called) or (on, called) in readings(wanted) else False
