"""A gate: `git push` waits for what CI says, and is denied while it is red.

Here CI is a file that holds `red` or `green`; ask yours instead. Where this program does not answer
within 5 s, or is gone, the call is denied: a gate is for what must not happen unseen. The user is
asked once whether tap may judge tool calls at all.

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
CI_FILE = Path(os.environ.get("CI_FILE") or "ci-status.txt")

HOOKS = {
    "onPreToolUse": [
        # Asks us. `args` is a regular expression over the arguments as JSON.
        {
            "match": {"tool": "shell", "args": "git push(?!.*--dry-run)"},
            "action": "gate",
            "gateId": "ci is green",
        },
        # These two do not: the gateway knows all that it needs.
        {
            "match": {"tool": "shell", "args": r"push.*(--force|-f)\b"},
            "action": "deny",
            "reason": "Nobody force-pushes here.",
        },
        {
            "match": {"tool": "edit", "file": "*.sql"},
            "action": "context",
            "content": "This is a migration: it must also work on the data of the version before.",
        },
    ]
}


def judge():
    try:
        status = CI_FILE.read_text().strip()
    except OSError:
        reason = f"The state of CI is not known: {CI_FILE} cannot be read."
        return {"decision": "deny", "reason": reason}
    if status == "green":
        return {"decision": "allow"}
    if status == "red":
        return {"decision": "deny", "reason": "CI is red. Repair the tests first."}
    return {"decision": "context", "reason": f"CI is {status}: look at it again after the push."}


class Gate:
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
            name="ci-gate",
            protocolVersion=2,
            session=sessions[0]["id"],
            hooks=HOOKS,
        )

    async def check(self, gate):
        verdict = judge()
        print(f"{gate['tool']} {json.dumps(gate['args'])}: {verdict['decision']}", flush=True)
        await self.send(
            type="gate.result", gateId=gate["gateId"], callId=gate["callId"], **verdict
        )

    async def handle(self, message):
        kind = message["type"]
        if kind in ("sessions", "sessions.updated"):
            await self.bind(message["active"])
        elif kind == "hello.ack":
            self.bound = True
        elif kind == "gate.check":
            await self.check(message)
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            await self.send(type="goodbye")
        elif kind == "error":
            # UNAUTHORIZED: the user does not want hooks.
            print(f"{message['code']}: {message['message']}", flush=True)


async def main():
    async with websockets.connect(URL, max_size=None) as ws:
        provider = Gate(ws)
        await provider.send(type="auth", token=TOKEN)
        async for raw in ws:
            await provider.handle(json.loads(raw))


asyncio.run(main())
