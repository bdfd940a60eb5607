"""A provider of every session: bound to "all", with something of its own kept for each.

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

TOOLS = [
    {
        "name": "note",
        "description": "Notes a text for this session, and returns all its notes.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
]


class Notes:
    def __init__(self, ws):
        self.ws = ws
        self.notes = {}  # session id -> what is kept for it

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def begin(self, sessions):
        for session in sessions:
            self.notes.setdefault(session["id"], [])
        await self.send(type="hello", name="notes", protocolVersion=2, session="all", tools=TOOLS)

    async def welcome(self, sessions):
        """A session that has come since has our tools once we are ready for it.

        For the others it is nothing new, and does no harm.
        """
        for session in sessions:
            self.notes.setdefault(session["id"], [])
            await self.send(type="session.ready", sessionId=session["id"])

    async def answer(self, call):
        mine = self.notes[call["sessionId"]]
        if call["args"].get("text"):
            mine.append(call["args"]["text"])
        await self.send(type="tool.result", id=call["id"], data=mine)

    async def end(self, session_id, deadline):
        # Here is the place to save what has to be saved, within `deadline` milliseconds.
        mine = self.notes.pop(session_id, [])
        print(f"{len(mine)} notes are gone, {deadline} ms were left", flush=True)
        # It need not wait for us any longer.
        await self.send(type="shutdown.ready", sessionId=session_id)

    async def handle(self, message):
        kind = message["type"]
        if kind == "sessions":
            await self.begin(message["active"])
        elif kind == "sessions.updated":
            await self.welcome(message["active"])
        elif kind == "tool.call":
            await self.answer(message)
        elif kind == "tool.cancel":
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle":
            print(f"{message['sessionId']}: {message['state']}", flush=True)
            if message["state"] == "shutdown.pending":
                await self.end(message["sessionId"], message["deadline"])
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", flush=True)


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Notes(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
