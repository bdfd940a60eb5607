"""A tool that takes its time: it says how far it is, and stops when nobody waits any more.

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
STEP_S = float(os.environ.get("STEP_MS") or 2000) / 1000

TOOLS = [
    {
        "name": "render",
        "description": "Renders pages, one after the other.",
        "parameters": {
            "type": "object",
            "properties": {"pages": {"type": "integer", "minimum": 1}},
            "required": ["pages"],
        },
        "timeout": 10_000,  # for one page: tool.progress starts it again
    }
]


async def render(args, progress):
    pages = args["pages"]
    for page in range(1, pages + 1):
        await asyncio.sleep(STEP_S)  # the work
        await progress(f"page {page} of {pages}")
    return f"{pages} pages are rendered"


class Renderer:
    def __init__(self, ws):
        self.ws = ws
        self.bound = False
        self.running = {}  # call id -> task

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        # Most recently active first. None yet: sessions.updated will follow.
        if self.bound or not sessions:
            return
        await self.send(
            type="hello",
            name="renderer",
            protocolVersion=2,
            session=sessions[0]["id"],
            tools=TOOLS,
        )

    async def answer(self, call_id, args):
        async def progress(text):
            await self.send(type="tool.progress", id=call_id, message=text)

        result = {"type": "tool.result", "id": call_id}
        try:
            result["data"] = await render(args, progress)
        except asyncio.CancelledError:
            result.update(error="Cancelled", errorCode="CANCELLED")
        except Exception as problem:  # whatever it is, the model must hear of it
            result.update(error=repr(problem), errorCode="INTERNAL")
        self.running.pop(call_id, None)
        await self.send(**result)

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
        elif kind == "tool.call":
            task = asyncio.ensure_future(self.answer(message["id"], message["args"]))
            self.running[message["id"]] = task
        elif kind == "tool.cancel":
            # The user has interrupted it, or it took too long: the work stops, and `answer` says so.
            print(f"stopped: {message['reason']}", flush=True)
            if message["id"] in self.running:
                self.running[message["id"]].cancel()
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", flush=True)


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Renderer(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
