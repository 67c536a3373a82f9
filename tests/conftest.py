"""Every async test runs on asyncio and on trio."""

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.agents.contract")

settings.register_profile("niceeval", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("niceeval")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name
