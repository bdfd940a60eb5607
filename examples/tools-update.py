"""Tools that come and go: two more while a file is open.

The call that changes them is answered when the change is in force, so that the model finds them at
its next step.

Needs Python 3.9 and the `websockets` package, version 10 or later. Ends with its connection;
hello.py shows how to wait for a gateway and to come back.
"""

import asyncio
import json
import os
from pathlib import Path

import websockets

HOME = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
TOKEN_FILE = HOME / "extensions" / "tap" / ".provider-token"
TOKEN = os.environ.get("TAP_PROVIDER_TOKEN") or TOKEN_FILE.read_text().strip()
URL = f"ws://localhost:{os.environ.get('TAP_GATEWAY_PORT') or 9400}"

ALWAYS = [{"name": "open_sheet", "description": "Opens the spreadsheet."}]
WHILE_OPEN = [
    {"name": "sum_sheet", "description": "The sum of the open spreadsheet."},
    {"name": "close_sheet", "description": "Closes the spreadsheet."},
]


class Sheets:
    def __init__(self, ws):
        self.ws = ws
        self.bound = False

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        # Most recently active first. None yet: sessions.updated will follow.
        if self.bound or not sessions:
            return
        await self.send(
            type="hello",
            name="sheets",
            protocolVersion=2,
            session=sessions[0]["id"],
            tools=ALWAYS,
        )

    async def answer(self, call_id, tool):
        # With `remove`, if only an empty list, the other tools stay. Without it, `tools` would be all.
        if tool == "open_sheet":
            await self.send(type="tools.update", requestId=call_id, tools=WHILE_OPEN, remove=[])
        elif tool == "close_sheet":
            names = [each["name"] for each in WHILE_OPEN]
            await self.send(type="tools.update", requestId=call_id, remove=names)
        else:
            await self.send(type="tool.result", id=call_id, data=42)

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
        elif kind == "tool.call":
            await self.answer(message["id"], message["tool"])
        elif kind == "ack":
            # The requestId is the id of the call that asked for the change.
            text = f"done, in revision {message['revision']}"
            await self.send(type="tool.result", id=message["requestId"], data=text)
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", flush=True)
            if "requestId" in message:
                await self.send(
                    type="tool.result", id=message["requestId"], error=message["message"]
                )
        elif kind == "tool.cancel":
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Sheets(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
