"""A model server on localhost and the key for it."""

from collections.abc import Iterator

import pytest

from niceeval.redaction import forget_secrets
from tests.judge.models import KEY, VARIABLE
from tests.servers.scripted import ScriptedServer, scripted_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server, with the environment variable that holds its key."""
    monkeypatch.setenv(VARIABLE, KEY)
    with scripted_server() as running:
        yield running
    forget_secrets()
