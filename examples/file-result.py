"""A result that is too large for a message, as a file.

And a tool that works on one call at a time, for which the gateway keeps the others in line.

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
WORK_S = float(os.environ.get("WORK_MS") or 2000) / 1000
TTL_S = 60

TOOLS = [
    {
        "name": "export_table",
        "description": "Exports a table as CSV.",
        "parameters": {
            "type": "object",
            "properties": {"rows": {"type": "integer", "minimum": 1}},
        },
    }
]
# One call at a time for this program; ten more may wait, the next fails with RATE_LIMITED.
CONCURRENCY = {"max": 1, "scope": "instance"}


class Exporter:
    def __init__(self, ws):
        self.ws = ws
        self.bound = False
        self.folder = None  # where files have to be, for the gateway to read them
        self.running = {}  # call id -> task

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        # Most recently active first. None yet: sessions.updated will follow.
        if self.bound or not sessions:
            return
        await self.send(
            type="hello",
            name="exporter",
            protocolVersion=2,
            session=sessions[0]["id"],
            tools=TOOLS,
            concurrency=CONCURRENCY,
        )

    async def export(self, rows, call_id):
        await asyncio.sleep(WORK_S)  # the work
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"table-{call_id}.csv"
        file.write_text("number,square\n" + "".join(f"{n},{n * n}\n" for n in range(rows)))
        # The gateway has read it by then.
        asyncio.get_running_loop().call_later(TTL_S, lambda: file.unlink(missing_ok=True))
        size = file.stat().st_size
        return {"path": str(file), "mimeType": "text/csv", "size": size, "ttl": TTL_S}

    async def answer(self, call_id, args):
        result = {"type": "tool.result", "id": call_id}
        try:
            result["file"] = await self.export(args.get("rows", 100), call_id)
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
            self.folder = Path(message["persistDir"])
        elif kind == "tool.call":
            task = asyncio.ensure_future(self.answer(message["id"], message["args"]))
            self.running[message["id"]] = task
        elif kind == "tool.cancel":
            task = self.running.pop(message["id"], None)
            if task:
                task.cancel()
            # The next in line comes with this answer.
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", flush=True)


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Exporter(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
