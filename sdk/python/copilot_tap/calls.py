"""Calls in flight: each has one function that runs, and at most one result."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import threading
from dataclasses import dataclass, field
from typing import Any, Callable

from .errors import TapError, ToolError, failure
from .link import Link, Message
from .threads import in_thread
from .tools import Tool

CANCELLED = {"error": "cancelled", "errorCode": "CANCELLED"}
MOST_RESULT_BYTES = 5 * 1024 * 1024 - 1024


@dataclass(frozen=True)
class FileResult:
    """What Provider.file gives: a result that lies in a file."""

    file: dict[str, Any]


@dataclass
class Call:
    """What a tool may know of the call that it answers."""

    id: str
    session: str
    tool: str
    _progress: Callable[[str], None] = field(repr=False)
    cancelled: bool = False
    """For a function that is not async and runs long: nobody waits for it any more."""

    def progress(self, message: str) -> None:
        """Shows in the timeline, and starts the call's timeout again. From any thread."""
        self._progress(message)


@dataclass
class _Running:
    call: Call
    task: asyncio.Task[Any] | None = None
    progress: set[asyncio.Task[Any]] = field(default_factory=set)


class Calls:
    def __init__(self, link: Link, find: Callable[[str], Tool | None]) -> None:
        self._link, self._find = link, find
        self._running: dict[str, _Running] = {}

    def start(self, message: Message) -> None:
        call_id, loop, thread = message["id"], asyncio.get_running_loop(), threading.get_ident()

        def progress(text: str) -> None:
            if threading.get_ident() == thread:
                self._progress(call_id, str(text))
            else:
                loop.call_soon_threadsafe(self._progress, call_id, str(text))

        call = Call(call_id, message["sessionId"], message["tool"], progress)
        self._running[call_id] = running = _Running(call)
        running.task = self._link.spawn(self._perform(running, message["args"]))

    async def _perform(self, running: _Running, args: dict[str, Any]) -> None:
        call = running.call
        try:
            outcome = _result_fields(await self._run(self._find(call.tool), args, call))
        except asyncio.CancelledError:
            if not call.cancelled:
                raise  # the program ends
        except Exception as error:  # whatever it is, the model must hear of it
            outcome = failure(error)
        await asyncio.gather(*running.progress)  # it comes before the result
        # Where the connection is gone nobody waits for an answer. A cancelled call has its place
        # until now.
        if self._running.pop(call.id, None):
            await self._answer(call.id, CANCELLED if call.cancelled else outcome)

    async def _run(self, tool: Tool | None, args: dict[str, Any], call: Call) -> Any:
        if tool is None:
            raise ToolError("NOT_FOUND", f"there is no tool {call.tool} any more")
        given = tool.arguments(args)
        if tool.takes_call:
            given["call"] = call
        if inspect.iscoroutinefunction(tool.function):
            return await tool.function(**given)
        return await in_thread(functools.partial(tool.function, **given))

    async def _answer(self, call_id: str, outcome: Message) -> None:
        if self._link.bound:
            await self._link.send({"type": "tool.result", "id": call_id, **outcome})

    def _progress(self, call_id: str, message: str) -> None:
        running = self._running.get(call_id)
        if running and not running.call.cancelled:
            running.progress.add(task := self._link.spawn(self._send_progress(call_id, message)))
            task.add_done_callback(running.progress.discard)

    async def _send_progress(self, call_id: str, message: str) -> None:
        """Where it is sent too fast it is left out."""
        try:
            await self._link.send({"type": "tool.progress", "id": call_id, "message": message})
        except TapError:
            pass

    def cancel(self, message: Message) -> None:
        running = self._running.get(message["id"])
        if running:
            self._abort(running)

    def _abort(self, running: _Running) -> None:
        running.call.cancelled = True
        tool = self._find(running.call.tool)
        # A thread cannot be stopped: it looks at call.cancelled.
        if running.task and tool and inspect.iscoroutinefunction(tool.function):
            running.task.cancel()

    def abort_all(self) -> None:
        running, self._running = self._running, {}
        for one in running.values():
            self._abort(one)


def _result_fields(result: Any) -> Message:
    if isinstance(result, FileResult):
        return {"file": result.file}
    data = "" if result is None else result
    size = len(json.dumps(data, allow_nan=False))
    if size > MOST_RESULT_BYTES:
        text = f"the result has {size} bytes of JSON; 5 MB are allowed"
        raise ToolError("PAYLOAD_TOO_LARGE", text)
    return {"data": data}
