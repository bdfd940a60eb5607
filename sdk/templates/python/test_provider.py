import asyncio

import find_tap  # noqa: F401 (before copilot_tap)
import pytest
from copilot_tap.testing import CallFailed, start_tap
from provider import tap


def test_greets_by_name():
    async def run():
        # A real gateway and a pretend session: no Copilot is needed.
        async with start_tap() as kit, kit.serve(tap):
            await kit.tool("{{tool}}_greet")
            assert await kit.call("{{tool}}_greet", name="Ada") == "Hello, Ada!"
            with pytest.raises(CallFailed, match="name is empty"):
                await kit.call("{{tool}}_greet", name=" ")

    asyncio.run(run())
