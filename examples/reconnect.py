"""Back after a lost connection as if nothing had happened.

With the reconnect token of the last hello.ack a provider has its session, its tools and its id again,
within 30 s. Needs Python 3.9 and the `websockets` package, version 10 or later.
"""

import asyncio
import json
import os
from pathlib import Path

import websockets

HOME = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
TOKEN_FILE = HOME / "extensions" / "tap" / ".provider-token"
URL = f"ws://localhost:{os.environ.get('TAP_GATEWAY_PORT') or 9400}"
RETRY_S = 0.5

WHO = {"type": "hello", "name": "counter", "protocolVersion": 2}
TOOLS = [{"name": "count", "description": "Counts the calls of this tool."}]


def read_token():
    """A gateway that was replaced has another one: it is read for each connection."""
    return os.environ.get("TAP_PROVIDER_TOKEN") or TOKEN_FILE.read_text().strip()


class Counter:
    """Outlives its connections."""

    def __init__(self):
        self.ws = None
        self.bound = False
        self.calls = 0
        self.reconnect_token = None  # good once: every hello.ack brings a new one

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        if self.bound:
            return
        if self.reconnect_token:
            # The session is left out: the gateway knows it. The tools are said all the same, in
            # case that it does not know the token any more.
            await self.send(**WHO, tools=TOOLS, reconnectToken=self.reconnect_token)
        elif sessions:
            await self.send(**WHO, tools=TOOLS, session=sessions[0]["id"])

    async def refused(self, message):
        print(f"{message['code']}: {message['message']}", flush=True)
        if message.get("replyTo") == "hello":
            # Too late, or another gateway: begin anew, with everything.
            self.reconnect_token = None
            if not self.bound:
                await self.ws.close()

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
            self.reconnect_token = message["reconnectToken"]
            print(f"bound to {message['sessionId']} as {message['providerId']}", flush=True)
        elif kind == "tool.call":
            # A call that was in flight when the connection was lost is not repeated: it has failed.
            self.calls += 1
            await self.send(type="tool.result", id=message["id"], data=self.calls)
        elif kind == "tool.cancel":
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            self.reconnect_token = None  # goodbye makes it void
            await self.send(type="goodbye", reason="the session ends")
        elif kind == "error":
            await self.refused(message)

    async def run(self):
        while True:
            try:
                token = read_token()
                async with websockets.connect(URL, max_size=None) as self.ws:
                    self.bound = False
                    await self.send(type="auth", token=token)
                    async for raw in self.ws:
                        await self.handle(json.loads(raw))
            except (OSError, websockets.WebSocketException):
                pass  # no gateway now, or no longer
            await asyncio.sleep(RETRY_S)


asyncio.run(Counter().run())
