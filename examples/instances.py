"""One provider, several programs: start it twice, as `instances.py left` and `instances.py right`.

The model sees each tool once, with one more parameter, `target`, and a tool `list_editor_instances`.

Needs Python 3.9 and the `websockets` package, version 10 or later. Ends with its connection;
hello.py shows how to wait for a gateway and to come back.
"""

import asyncio
import datetime
import json
import os
import sys
from pathlib import Path

import websockets

HOME = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
TOKEN_FILE = HOME / "extensions" / "tap" / ".provider-token"
TOKEN = os.environ.get("TAP_PROVIDER_TOKEN") or TOKEN_FILE.read_text().strip()
URL = f"ws://localhost:{os.environ.get('TAP_GATEWAY_PORT') or 9400}"
INSTANCE = sys.argv[1] if len(sys.argv) > 1 else f"window-{os.getpid()}"

# Every instance declares the same tools, none with a parameter `target` of its own.
TOOLS = [{"name": "open_file", "description": "Says which file is open in an editor window."}]

# What helps the model to choose; it is in the list of instances.
METADATA = {
    "title": f"the {INSTANCE} window",
    "started": datetime.datetime.now().isoformat(timespec="seconds"),
}


class Editor:
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
            name="editor",
            protocolVersion=2,
            session=sessions[0]["id"],
            tools=TOOLS,
            instance=INSTANCE,
            metadata=METADATA,
        )

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
        elif kind == "tool.call":
            # The gateway has chosen by `target`, which is not among the arguments any more.
            # Without one it takes the instance that was last active.
            await self.send(type="tool.result", id=message["id"], data=f"{INSTANCE}.txt")
        elif kind == "tool.cancel":
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")
        elif kind == "error":
            # DUPLICATE_INSTANCE: there is an instance of this name already.
            print(f"{message['code']}: {message['message']}", flush=True)
            if message.get("replyTo") == "hello" and not self.bound:
                sys.exit(1)


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Editor(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
