"""Importing eval files changes `sys.path` and `sys.modules`; each test gets them back as they were."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _restored_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("niceeval.", "pydantic", "yaml")):
            del sys.modules[name]
