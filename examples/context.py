"""What the model should know without asking.

An ambient context, something for the start of the session, and additions to the system prompt, one of
them made anew at each prompt.

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
        "name": "choose_environment",
        "description": "Chooses where deployments go.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"enum": ["staging", "production"]}},
            "required": ["name"],
        },
    }
]
TRANSFORMS = {
    "custom_instructions": {"action": "append", "content": "This repository uses pnpm, not npm."},
    "code_change_rules": {"action": "callback"},  # asks us: transform.request
}


class Deployments:
    def __init__(self, ws):
        self.ws = ws
        self.bound = False
        self.environment = "staging"

    def describe(self):
        return f"Deployments go to {self.environment} now."

    async def send(self, **message):
        await self.ws.send(json.dumps(message))

    async def bind(self, sessions):
        # Most recently active first. None yet: sessions.updated will follow.
        if self.bound or not sessions:
            return
        await self.send(
            type="hello",
            name="deployments",
            protocolVersion=2,
            session=sessions[0]["id"],
            tools=TOOLS,
            # Once, when the session starts.
            startup_context="The deployment helper is there.",
            # With each prompt of the user.
            context=self.describe(),
            hooks={"transforms": TRANSFORMS},
        )

    async def transform(self, request):
        # Within 2 s, or the section stays as it is.
        production = self.environment == "production"
        rule = "Every change needs a test." if production else "Be quick and bold."
        content = f"{request['current']}\n{rule}"
        await self.send(type="transform.result", callId=request["callId"], content=content)

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
        elif kind == "transform.request":
            await self.transform(message)
        elif kind == "tool.call":
            wanted = message["args"].get("name")
            self.environment = "production" if wanted == "production" else "staging"
            await self.send(
                type="context.update", requestId=message["id"], context=self.describe()
            )
        elif kind == "ack":
            # The new context is in force; the requestId is the id of the call that asked for it.
            await self.send(type="tool.result", id=message["requestId"], data=self.describe())
        elif kind == "tool.cancel":
            await self.send(
                type="tool.result", id=message["id"], error="Cancelled", errorCode="CANCELLED"
            )
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")
        elif kind == "error":
            print(f"{message['code']}: {message['message']}", flush=True)
            if "requestId" in message:
                await self.send(
                    type="tool.result", id=message["requestId"], error=message["message"]
                )


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Deployments(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
