"""A real gateway with a simulated session, to test a provider without Copilot. docs/testing.md."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any, AsyncIterator

from .provider import Provider


GONE = "the test gateway has ended"


class CallFailed(Exception):
    """A call that failed: the model reads its text."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def _command() -> list[str]:
    """Tap's own program: in TAP_FOLDER, next to this package, or in the CLI's extensions."""
    node = os.environ.get("TAP_NODE") or shutil.which("node")
    if not node:
        raise RuntimeError("the test kit needs Node.js: install it, or set TAP_NODE")
    home = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
    named = os.environ.get("TAP_FOLDER")
    places = [Path(named)] if named else []
    installed = home / "extensions" / "tap"
    places += [Path(__file__).resolve().parents[3], installed, installed / "current"]
    for folder in places:
        if (folder / "js" / "cli" / "cli.mjs").is_file():
            return [node, str(folder / "js" / "cli" / "cli.mjs")]
    raise RuntimeError(f"tap is not in {', '.join(map(str, places))}: set TAP_FOLDER")


class TestTap:
    """The value of `start_tap`."""

    __test__ = False  # for pytest

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._ready: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._news = asyncio.Event()
        self._ended = False
        self.env: dict[str, str] = {}
        """Environment variables for the process of a provider."""
        self.events: list[dict[str, Any]] = []
        """Everything that the user and the model have received: `type`, `text`, `session`."""

    @property
    def where(self) -> dict[str, Any]:
        """The same for `Provider(name, **kit.where)` in this process."""
        home, port = self.env["COPILOT_HOME"], int(self.env["TAP_GATEWAY_PORT"])
        return {"home": home, "port": port, "token": ""}

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            message = json.loads(line)
            if message.get("type") == "ready":
                self._ready.set_result(message["env"])
            elif message.get("type") == "event":
                self.events.append({**message["event"], "session": message["session"]})
                self._news.set()
            else:
                self._answer(message)
        self._ended = True
        for future in [*self._pending.values(), self._ready]:
            if not future.done():
                future.set_exception(RuntimeError(GONE))

    def _answer(self, message: dict[str, Any]) -> None:
        future = self._pending.pop(message["id"], None)
        if not future or future.done():
            return
        if "error" in message:
            future.set_exception(CallFailed(message["error"]["code"], message["error"]["message"]))
        else:
            future.set_result(message["result"])

    async def ask(self, do: str, **fields: Any) -> Any:
        """Any request of docs/testing.md."""
        if self._ended:
            raise RuntimeError(GONE)
        request_id = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        assert self._process.stdin
        line = json.dumps({"id": request_id, "do": do, **fields})
        self._process.stdin.write(line.encode() + b"\n")
        try:
            return await future
        except asyncio.CancelledError:
            cancel = json.dumps({"id": 0, "do": "cancel", "call": request_id})
            self._process.stdin.write(cancel.encode() + b"\n")
            raise

    async def tool(self, name: str) -> dict[str, Any]:
        """Waits until the model has the tool."""
        return await self.ask("tool", name=name)

    async def tool_gone(self, name: str) -> None:
        await self.ask("toolGone", name=name)

    async def call(self, tool: str, /, **args: Any) -> Any:
        """Calls the tool as the model would. CallFailed if it fails; cancelling this cancels the call."""
        return await self.ask("call", tool=tool, args=args)

    async def shows(self, text: str) -> str:
        """Waits for a line of the timeline, or an injected prompt."""

        async def look() -> str:
            while True:
                for event in self.events:
                    if text in event["text"]:
                        return event["text"]
                self._news.clear()
                await self._news.wait()

        return await asyncio.wait_for(look(), 10)

    async def restart_gateway(self) -> None:
        """Crashes the gateway, then starts a new gateway."""
        await self.ask("restartGateway")

    @contextlib.asynccontextmanager
    async def serve(self, provider: Provider) -> AsyncIterator[Provider]:
        """Connects a provider of this process to this gateway for a while."""
        before = {name: os.environ.get(name) for name in self.env}
        os.environ.update(self.env)
        try:
            provider._reset()  # it may have used a different address
            async with provider:
                yield provider
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


@contextlib.asynccontextmanager
async def start_tap() -> AsyncIterator[TestTap]:
    process = await asyncio.create_subprocess_exec(
        *_command(),
        "dev",
        "--json",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
    )
    kit = TestTap(process)
    reader = asyncio.ensure_future(kit._read())
    try:
        kit.env = await asyncio.wait_for(asyncio.shield(kit._ready), 20)
        yield kit
    finally:
        assert process.stdin
        process.stdin.close()
        await process.wait()
        await reader
