"""A real HTTP server on localhost that answers as it is told, faults included."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, final

import attrs


@final
@attrs.frozen
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Answer(Protocol):
    """One way to answer a request."""

    def send(self, handler: BaseHTTPRequestHandler) -> None: ...


@final
@attrs.frozen
class Plain:
    """A whole answer: status, headers, body."""

    body: bytes | str = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.Factory(dict)
    type: str = "application/json"

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        data = self.body.encode() if isinstance(self.body, str) else self.body
        handler.send_response(self.status)
        given = {"Content-Type": self.type, "Content-Length": str(len(data)), **self.headers}
        for name, value in given.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


def as_json(value: object, status: int = 200, **headers: str) -> Plain:
    """Answer with JSON; header names are written with underscores: retry_after="1"."""
    named = {name.replace("_", "-").title(): text for name, text in headers.items()}
    return Plain(json.dumps(value), status, named)


def html(status: int = 502) -> Plain:
    """Answer with an error page, as a gateway does."""
    return Plain("<html><body><h1>Bad gateway</h1></body></html>", status, type="text/html")


@final
@attrs.frozen
class Events:
    """A stream of server-sent events; cut in the middle of the last one where `cut` says so."""

    events: Iterable[str | Mapping[str, Any]]
    cut: bool = False
    named: bool = False  # whether each event carries the name of its type, as Anthropic's do

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        blocks = [self._block(event) for event in self.events]
        for number, block in enumerate(blocks, 1):
            if self.cut and number == len(blocks):
                self._chunk(handler, block[: len(block) // 2])
                handler.wfile.flush()
                handler.close_connection = True
                return
            self._chunk(handler, block)
        handler.wfile.write(b"0\r\n\r\n")

    def _block(self, event: str | Mapping[str, Any]) -> bytes:
        data = event if isinstance(event, str) else json.dumps(event)
        name = f"event: {event['type']}\n" if self.named and not isinstance(event, str) else ""
        return f"{name}data: {data}\n\n".encode()

    def _chunk(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


@final
@attrs.frozen
class Silent:
    """No answer until the server is closed: the client must give up by itself."""

    released: threading.Event

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        self.released.wait()
        handler.close_connection = True


@final
@attrs.frozen
class Dropped:
    """The connection is closed without a word."""

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True


@final
class ScriptedServer:
    """Answers requests one after another from a script, or by a function of the request; remembers every request."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: list[Answer] = []
        self.answer: Callable[[Request], Answer] | None = None
        self.released = threading.Event()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer._next(Request(self.command, self.path, dict(self.headers), body)).send(self)

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, format: str, *args: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            # With the usual 5, connections that are opened at once are reset.
            request_queue_size = 256

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def silent(self) -> Silent:
        """Return an answer that never comes."""
        return Silent(self.released)

    def _next(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            if self.answer is not None:
                return self.answer(request)
            if not self.script:
                return as_json({"error": {"message": "the script of the server has ended"}}, 500)
            return self.script.pop(0)

    def close(self) -> None:
        """Stop listening; clients that wait are let go."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def scripted_server(*answers: Answer) -> Iterator[ScriptedServer]:
    """Run a server with a script for the length of a block."""
    server = ScriptedServer()
    server.script.extend(answers)
    try:
        yield server
    finally:
        server.close()
