"""Tools of MCP servers: which server and tool a reported name stands for, where that is known."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, final

import attrs

from niceeval.tool_call import ToolCall

__all__ = ["ToolNames"]

_CONVENTION: Final = "mcp__"
_SEPARATORS: Final = ("__", ".", "/", ":")


@final
@attrs.frozen(init=False)
class ToolNames:
    """The tools that an agent has, by server, so that ``mcp__github__search`` is known to be ``search`` on ``github``.

    A reported name is resolved only where one reading of it is left:

    - ``mcp__SERVER__TOOL`` where the server is declared, and the tool with it if its tools are;
    - ``SERVER__TOOL``, ``SERVER.TOOL``, ``SERVER/TOOL`` and ``SERVER:TOOL`` where server and tool are declared;
    - ``TOOL`` where exactly one server declares it, and `local` does not.

    Everything else stays the name that was reported, of an unknown server. A claim that such a tool was *not* called is
    then unavailable, where the name might stand for it.

    Args:
        servers: The tools of each server by its name; None in their place where they are not known. Or just the names.
        local: Names of tools that the agent has besides, on no server.

    Raises:
        TypeError: A name is no text, or text stands where a list of names is meant.
        ValueError: A name is blank.

    >>> names = ToolNames({"github": ["search", "create_issue"], "files": None})
    >>> names.resolve("mcp__github__search"), names.resolve("github.search"), names.resolve("create_issue")
    (('github', 'search'), ('github', 'search'), ('github', 'create_issue'))
    >>> names.resolve("mcp__files__read"), names.resolve("files.read"), names.resolve("mcp__other__search")
    (('files', 'read'), (None, 'files.read'), (None, 'mcp__other__search'))
    """

    servers: Mapping[str, frozenset[str] | None]
    local: frozenset[str]

    def __init__(
        self, servers: Mapping[str, Iterable[str] | None] | Iterable[str] = (), *, local: Iterable[str] = ()
    ) -> None:
        given: Mapping[str, Any] = (
            servers if isinstance(servers, Mapping) else dict.fromkeys(_names(servers, "servers"))
        )
        _names(given, "servers")
        tools = {
            server: None if listed is None else _names(listed, f"servers[{server!r}]")
            for server, listed in given.items()
        }
        self.__attrs_init__(tools, _names(local, "local"))

    def resolve(self, reported: str, server: str | None = None) -> tuple[str | None, str]:
        """Return the server and the tool that a reported name stands for; the server is None where it is not known.

        Args:
            reported: The name as the agent reports it.
            server: The server, where the agent reports it besides.
        """
        readings = {(on, tool) for on, tool in self._readings(reported) if server in (None, on)}
        if len(readings) == 1:
            return next(iter(readings))
        return server, reported

    def named(self, call: ToolCall) -> ToolCall:
        """Return the call under its resolved name, with its server; the same call where nothing is known.

        >>> ToolNames({"github": ["search"]}).named(ToolCall("github__search", {"q": "cats"}))
        ToolCall('search', {'q': 'cats'}, server='github')
        """
        server, name = self.resolve(call.name, call.server)
        if (server, name) == (call.server, call.name):
            return call
        if call.raw_input is not None:
            return ToolCall.unreadable(
                name, call.raw_input, call.input.reason, call.output, status=call.status, id=call.id, server=server
            )
        return ToolCall(name, call.input, call.output, status=call.status, id=call.id, server=server)

    def _readings(self, reported: str) -> Iterable[tuple[str | None, str]]:
        if reported in self.local:
            yield None, reported
        for server, tools in self.servers.items():
            if tools is not None and reported in tools:
                yield server, reported
            for separator in _SEPARATORS:
                head = f"{server}{separator}"
                if reported.startswith(head) and tools is not None and reported[len(head) :] in tools:
                    yield server, reported[len(head) :]
            head = f"{_CONVENTION}{server}__"
            tool = reported[len(head) :]
            if reported.startswith(head) and tool and (tools is None or tool in tools):
                yield server, tool


def _names(given: object, where: str) -> frozenset[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"ToolNames() {where} takes a list of names, got {given!r:.100}")
    found = list(given)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"ToolNames() {where} takes names as text, got {name!r:.100}")
        if not name.strip():
            raise ValueError(f"ToolNames() {where} has a blank name")
    return frozenset(found)
