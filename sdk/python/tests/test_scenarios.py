"""The scenarios that both SDKs go through: test/sdk/scenarios.json."""

import asyncio
import json
from pathlib import Path

import pytest
from copilot_tap import Call, Provider, TapError, ToolError
from copilot_tap.testing import CallFailed

FILE = Path(__file__).parents[3] / "test" / "sdk" / "scenarios.json"
SCENARIOS = json.loads(FILE.read_text(encoding="utf-8"))


def make(kit, session="latest"):
    tap = Provider("scenario", **kit.where, session=session)

    @tap.tool(description="Says it again")
    async def echo(text: str):
        return text

    @tap.tool(description="Finds nothing")
    async def fail():
        raise ToolError("NOT_FOUND", "nothing here")

    @tap.tool(description="Breaks")
    async def crash():
        raise ValueError("broken")

    @tap.tool(description="Passes its trace on")
    async def trace(call: Call):
        receipt = await tap.push("log", "traced", traceparent=call.traceparent)
        return f"{call.traceparent[:2]} {len(call.traceparent)} {receipt.outcome}"

    tap.on("error", lambda error: None)
    return tap


class Driver:
    def __init__(self, kit):
        self.kit, self.tap = kit, make(kit)
        self.bound = asyncio.Queue()
        self.tap.on("bound", self.bound.put)
        self.stream = self.tap.stream("log")

    async def connect(self, step):
        await self.tap.connect()
        await self.bound.get()

    async def connectTwin(self, step):
        await make(self.kit).connect()

    async def connectAndClose(self, step):
        tap = make(self.kit, step["session"])
        connecting = asyncio.ensure_future(tap.connect())
        await asyncio.sleep(0)
        await tap.close()
        await connecting

    async def declare(self, step):
        self.tap.tool(lambda: "here", name=step["tool"], description="Comes later")
        await self.tap.synced(in_force=True)

    async def close(self, step):
        await self.tap.close()

    async def call(self, step):
        await self.kit.tool(step["tool"])
        result = await self.kit.call(step["tool"], **step.get("args", {}))
        assert result == step["result"]

    async def push(self, step):
        options = {"level": step.get("level", "keep"), "key": step.get("key")}
        receipt = await self.stream.push(step["event"], **options)
        assert receipt.outcome == step["outcome"]
        assert receipt.replaced == step.get("replaced", False)

    async def withdraw(self, step):
        assert await self.tap.withdraw(step["key"]) == step["withdrawn"]

    async def filter(self, step):
        await self.stream.filter([{"match": step["match"], "outcome": "drop"}])

    async def history(self, step):
        options = {"last": step["last"]} if "last" in step else {}
        assert [one["event"] for one in await self.stream.history(**options)] == step["events"]

    async def deny(self, step):
        self.tap.deny(step["reason"], **step["match"])

    async def check(self, step):
        answer = await self.kit.ask("check", tool=step["tool"], args=step["args"])
        assert step["denied"] in answer["deny"]

    async def killGateway(self, step):
        lost = asyncio.Queue()
        self.tap.on("unbound", lost.put)
        await self.kit.ask("killGateway")
        await lost.get()

    async def restartGateway(self, step):
        await self.kit.restart_gateway()
        await self.bound.get()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[one["name"] for one in SCENARIOS])
async def test_scenario(kit, scenario):
    driver = Driver(kit)
    try:
        for step in scenario["steps"]:
            if "fails" not in step:
                await getattr(driver, step["do"])(step)
                continue
            with pytest.raises((TapError, CallFailed)) as failed:
                await getattr(driver, step["do"])(step)
            assert failed.value.code == step["fails"]
    finally:
        await driver.tap.close()
