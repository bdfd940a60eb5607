"""A provider that cannot read the token file: it asks the user for the code that the session shows.

For a program in a container, say, or on the other end of a forwarded port; a web page does the same.
Needs Python 3.9 and the `websockets` package, version 10 or later.
"""

import asyncio
import json
import os

import websockets

URL = f"ws://localhost:{os.environ.get('TAP_GATEWAY_PORT') or 9400}"
RETRY_S = 0.5

TOOLS = [{"name": "where_am_i", "description": "Says where this program runs."}]


class Outsider:
    """Outlives its connections."""

    def __init__(self):
        self.ws = None
        self.bound = False
        self.token = None  # the result of pairing: good for that session, until it ends

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        if self.bound or not sessions:
            return
        # Without a session: that of the token.
        await self.send(type="hello", name="outsider", protocolVersion=2, tools=TOOLS)

    async def handle(self, message):
        kind = message["type"]
        if kind == "auth.pairing":
            # In a thread: the connection has to be answered meanwhile.
            code = await asyncio.get_running_loop().run_in_executor(
                None, input, f"{message['prompt']}: "
            )
            await self.send(type="auth.confirm", code=code.strip())
        elif kind in ("sessions", "sessions.updated"):
            self.token = message.get("token", self.token)
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
            print(f"bound to {message['sessionId']}", flush=True)
        elif kind == "tool.call":
            await self.send(type="tool.result", id=message["id"], data="outside")
        elif kind == "tool.cancel":
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", flush=True)
            if message["code"] == "AUTH_FAILED":
                # A wrong code, or a token whose session or gateway is gone. Pair again.
                self.token = None
            elif message["code"] == "RATE_LIMITED":
                await self.ws.close()

    async def run(self):
        while True:
            try:
                async with websockets.connect(URL, max_size=None) as self.ws:
                    self.bound = False
                    if self.token:
                        await self.send(type="auth", token=self.token)
                    else:
                        await self.send(type="auth", mode="pair", name="outsider")
                    async for raw in self.ws:
                        await self.handle(json.loads(raw))
            except (OSError, websockets.WebSocketException):
                pass  # no gateway now, or no longer
            await asyncio.sleep(RETRY_S)


asyncio.run(Outsider().run())
