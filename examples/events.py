"""Follows what happens in a session: prompts, and how long tools take.

Needs Python 3.9 and the `websockets` package, version 10 or later. Ends with its connection;
hello.py shows how to wait for a gateway and to come back.
"""

import asyncio
import collections
import json
import os
from pathlib import Path

import websockets

HOME = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
TOKEN_FILE = HOME / "extensions" / "tap" / ".provider-token"
TOKEN = os.environ.get("TAP_PROVIDER_TOKEN") or TOKEN_FILE.read_text().strip()
URL = f"ws://localhost:{os.environ.get('TAP_GATEWAY_PORT') or 9400}"

TOOLS = [{"name": "statistics", "description": "How much was asked, and which tools took long."}]
SUBSCRIBE = ["user.message", "assistant.message", "tool.execution_complete"]


class Watcher:
    def __init__(self, ws):
        self.ws = ws
        self.bound = False
        self.prompts = 0
        self.spent = collections.Counter()  # milliseconds, by tool

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        # Most recently active first. None yet: sessions.updated will follow.
        if self.bound or not sessions:
            return
        await self.send(
            type="hello",
            name="watcher",
            protocolVersion=2,
            session=sessions[0]["id"],
            tools=TOOLS,
            subscribe=SUBSCRIBE,
        )

    def happened(self, event, data):
        if event == "user.message":
            self.prompts += 1
        elif event == "assistant.message":
            print(f"assistant: {data['content']}", flush=True)
        elif event == "tool.execution_complete":
            # `provider`: of a tool that is not the CLI's.
            name = f"{data['provider']}/{data['tool']}" if "provider" in data else data["tool"]
            print(f"{name}: {data['result']['type']}", flush=True)
            self.spent[name] += data["durationMs"]

    def statistics(self):
        slowest = [f"{name}: {spent} ms" for name, spent in self.spent.most_common()]
        return "\n".join([f"{self.prompts} prompts", *slowest])

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
        elif kind == "session.event":
            self.happened(message["event"], message["data"])
        elif kind == "tool.call":
            await self.send(type="tool.result", id=message["id"], data=self.statistics())
        elif kind == "tool.cancel":
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", flush=True)


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Watcher(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
