"""Streams: events that the gateway keeps, a filter that decides what becomes of each, and a look back.

Here a log is made up; read yours instead.

Needs Python 3.9 and the `websockets` package, version 10 or later. Ends with its connection;
hello.py shows how to wait for a gateway and to come back.
"""

import asyncio
import json
import os
import socket
from pathlib import Path

import websockets

HOME = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
TOKEN_FILE = HOME / "extensions" / "tap" / ".provider-token"
TOKEN = os.environ.get("TAP_PROVIDER_TOKEN") or TOKEN_FILE.read_text().strip()
URL = f"ws://localhost:{os.environ.get('TAP_GATEWAY_PORT') or 9400}"
EVERY_S = float(os.environ.get("LOG_EVERY_MS") or 5000) / 1000

LOG = [
    "GET /health 200",
    "GET /cart 200 in 12 ms",
    "WARN the disk is 91 % full",
    "GET /health 200",
    "ERROR POST /order: the database does not answer",
]

# The first rule that matches decides. Where none does, the push's own level counts: keep.
RULES = [
    {"match": "GET /health", "outcome": "drop"},
    {"match": "^ERROR", "outcome": "inject"},  # put before the model
    {"match": "^WARN", "outcome": "surface"},  # a line in the timeline
]

TOOLS = [{"name": "shop_log", "description": "The latest lines of the shop's log."}]


class Shop:
    def __init__(self, ws):
        self.ws = ws
        self.bound = False
        self.following = None

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        # Most recently active first. None yet: sessions.updated will follow.
        if self.bound or not sessions:
            return
        await self.send(
            type="hello",
            name="shop",
            protocolVersion=2,
            session=sessions[0]["id"],
            tools=TOOLS,
        )

    async def follow(self):
        metadata = {"host": socket.gethostname()}
        for event in LOG:
            await self.send(
                type="push", stream="log", level="keep", event=event, metadata=metadata
            )
            await asyncio.sleep(EVERY_S)

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
            await self.send(type="filter.set", requestId="the filter", stream="log", rules=RULES)
        elif kind == "ack" and message["requestId"] == "the filter":
            # The filter is in force: nothing can slip past it now.
            self.following = asyncio.ensure_future(self.follow())
        elif kind == "tool.call":
            # A query is answered by stream.history with the same id; here, that of the call.
            await self.send(type="stream.query", queryId=message["id"], streams=["log"], last=20)
        elif kind == "stream.history":
            entries = message["streams"]["log@shop"]
            lines = [f"{entry['ts']} {entry['event']}" for entry in entries]
            await self.send(type="tool.result", id=message["queryId"], data="\n".join(lines))
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
        provider = Shop(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
