"""A complete tap provider with a tool, `greet`.

Needs Python 3.9 and the `websockets` package, version 10 or later (Debian: apt install
python3-websockets). It waits for the gateway, and connects again when needed.
"""

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

import websockets

URL = f"ws://localhost:{os.environ.get('TAP_GATEWAY_PORT') or 9400}"
HOME = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
TOKEN_FILE = HOME / "extensions" / "tap" / ".provider-token"
RETRY_S = 1.0

TOOLS = [
    {
        "name": "greet",
        "description": "Greets a person by name.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Whom to greet"}},
            "required": ["name"],
        },
    }
]


async def greet(args):
    """The work of the tool. It is cancelled when the answer is no longer needed."""
    if not isinstance(args.get("name"), str) or not args["name"]:
        raise ValueError("name is missing")
    return f"Hello, {args['name']}!"


def read_token():
    """Read again for each connection: every gateway has its own token."""
    return os.environ.get("TAP_PROVIDER_TOKEN") or TOKEN_FILE.read_text().strip()


class Provider:
    """A connection."""

    def __init__(self, ws):
        self.ws = ws
        self.bound = False
        self.calls = {}  # call id -> task

    async def send(self, message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        # Most recently active first. If the list is empty, sessions.updated will follow.
        if self.bound or not sessions:
            return
        await self.send(
            {
                "type": "hello",
                "name": "hello-py",
                "protocolVersion": 2,
                "session": sessions[0]["id"],
                "tools": TOOLS,
            }
        )

    async def answer(self, call_id, args):
        result = {"type": "tool.result", "id": call_id}
        try:
            result["data"] = await greet(args)
        except Exception as problem:  # whatever it is, the model must hear of it
            result.update(error=str(problem), errorCode="INTERNAL")
        self.calls.pop(call_id, None)
        with contextlib.suppress(websockets.ConnectionClosed):
            await self.send(result)

    async def cancel(self, call_id):
        task = self.calls.pop(call_id, None)
        if task:
            task.cancel()
        result = {"type": "tool.result", "id": call_id}
        await self.send({**result, "error": "Cancelled", "errorCode": "CANCELLED"})

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
            print(f"bound to session {message['sessionId']} as {message['providerId']}", flush=True)
        elif kind == "tool.call":
            task = asyncio.ensure_future(self.answer(message["id"], message["args"]))
            self.calls[message["id"]] = task
        elif kind == "tool.cancel":
            await self.cancel(message["id"])
        elif kind == "session.lifecycle":
            if message["state"] == "shutdown.pending":
                # The gateway closes the connection; the next connection binds to the session there is then.
                await self.send({"type": "goodbye", "reason": "the session ends"})
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", file=sys.stderr)
            if message["code"] == "AUTH_FAILED" and os.environ.get("TAP_PROVIDER_TOKEN"):
                sys.exit(1)
            if message.get("replyTo") == "hello" and not self.bound:
                await self.ws.close()
        # Others: a newer gateway may send more.

    async def run(self, token):
        await self.send({"type": "auth", "token": token})
        try:
            async for raw in self.ws:
                await self.handle(json.loads(raw))
        finally:
            for task in self.calls.values():
                task.cancel()


async def main():
    while True:
        try:
            token = read_token()
            async with websockets.connect(URL, max_size=None) as ws:
                await Provider(ws).run(token)
        except (OSError, websockets.WebSocketException):
            pass  # no gateway now, or no longer
        await asyncio.sleep(RETRY_S)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
