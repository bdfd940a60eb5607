"""Each test is a coroutine that gets its own gateway."""

import asyncio
import functools

import pytest
from copilot_tap.testing import start_tap


def pytest_collection_modifyitems(items):
    for item in items:
        if asyncio.iscoroutinefunction(item.obj):
            item.obj = in_loop(item.obj)


def in_loop(test):
    @functools.wraps(test)
    def run(**fixtures):
        async def body():
            if "kit" not in fixtures:
                return await test(**fixtures)
            async with start_tap() as kit:
                await test(**{**fixtures, "kit": kit})

        asyncio.run(asyncio.wait_for(body(), 60))

    return run


@pytest.fixture
def kit():
    """Replaced by the gateway, inside of the test's loop."""
