"""Calls in flight: each has a function that runs, and at most one result."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
from dataclasses import dataclass, field
from typing import Any, Callable

from .errors import TapError, ToolError, failure
from .connection import FAREWELL_S, Connection, Message
from .plain import to_json
from .report import call_text
from .threads import in_thread
from .tools import Tool

CANCELLED = {"error": "cancelled", "errorCode": "CANCELLED"}
MAX_RESULT_BYTES = 5 * 1024 * 1024 - 1024


@dataclass(frozen=True)
class FileResult:
    """The value of Provider.file: a result in a file."""

    file: dict[str, Any]


@dataclass
class Call:
    """The call that a tool answers."""

    id: str
    session: str
    tool: str
    _progress: Callable[[str], None] = field(repr=False)
    traceparent: str | None = None
    """The W3C trace context of the call; pass it to the services that the tool calls."""
    cancelled: bool = False
    """For a long function that is not async: its result is no longer expected."""

    def progress(self, message: str) -> None:
        """Shows in the timeline, and restarts the call's timeout. From any thread."""
        self._progress(message)


@dataclass
class _Running:
    call: Call
    task: asyncio.Task[Any] | None = None
    stoppable: bool = False
    """A coroutine of the user runs. A thread cannot be stopped: it checks call.cancelled."""
    progress: set[asyncio.Task[Any]] = field(default_factory=set)


class Calls:
    """`on_error` gets exceptions of a tool that are not for the model, with the call."""

    def __init__(
        self,
        connection: Connection,
        find: Callable[[str], Tool | None],
        on_error: Callable[[BaseException, str], None],
    ) -> None:
        self._connection, self._find, self._on_error = connection, find, on_error
        self._running: dict[str, _Running] = {}

    def start(self, message: Message) -> None:
        call_id, loop, thread = message["id"], asyncio.get_running_loop(), threading.get_ident()

        def progress(text: str) -> None:
            if threading.get_ident() == thread:
                self._progress(call_id, str(text))
            else:
                loop.call_soon_threadsafe(self._progress, call_id, str(text))

        trace = message.get("traceparent")
        call = Call(call_id, message["sessionId"], message["tool"], progress, trace)
        self._running[call_id] = running = _Running(call)
        running.task = self._connection.spawn(self._perform(running, message["args"]))

    async def _perform(self, running: _Running, args: dict[str, Any]) -> None:
        """Answers the call exactly once, whatever the function raises."""
        call = running.call
        ending: BaseException | None = None  # of the program, or of this task: raised after the answer
        outcome = CANCELLED
        try:
            if not call.cancelled:
                outcome = _result_fields(await self._run(running, args))
        except GeneratorExit:
            raise  # the loop is gone
        except BaseException as error:  # the model must get an answer for any exception
            outcome = failure(error)
            if not call.cancelled:
                ending = None if isinstance(error, Exception) else error
                self._report(error, call, args)
        running.stoppable = False
        try:
            if running.progress:
                await asyncio.wait(running.progress)  # they precede the result
        except asyncio.CancelledError as error:
            ending = error
        # Without a connection no answer is expected. A cancelled call keeps its slot until now.
        if self._running.pop(call.id, None):
            answer = self._answer(call.id, CANCELLED if call.cancelled else outcome)
            if not ending:
                await answer
                return
            with contextlib.suppress(asyncio.TimeoutError):  # for a gateway that does not read
                await asyncio.wait_for(answer, FAREWELL_S)
        if ending:
            raise ending

    def _report(self, error: BaseException, call: Call, args: dict[str, Any]) -> None:
        if not isinstance(error, ToolError) and self._connection.bound:
            self._on_error(error, call_text(call.tool, args))

    async def _run(self, running: _Running, args: dict[str, Any]) -> Any:
        call = running.call
        tool = self._find(call.tool)
        if tool is None:
            raise ToolError("NOT_FOUND", f"there is no tool {call.tool} any more")
        given = tool.arguments(args)
        if tool.takes_call:
            given["call"] = call
        if inspect.iscoroutinefunction(tool.function):
            running.stoppable = True
            return await tool.function(**given)
        return await in_thread(functools.partial(tool.function, **given))

    async def _answer(self, call_id: str, outcome: Message) -> None:
        if self._connection.bound:
            await self._connection.send({"type": "tool.result", "id": call_id, **outcome})

    def _progress(self, call_id: str, message: str) -> None:
        running = self._running.get(call_id)
        if running and not running.call.cancelled:
            running.progress.add(task := self._connection.spawn(self._send_progress(call_id, message)))
            task.add_done_callback(running.progress.discard)

    async def _send_progress(self, call_id: str, message: str) -> None:
        """Dropped if it is sent too fast."""
        try:
            await self._connection.send({"type": "tool.progress", "id": call_id, "message": message})
        except TapError:
            pass

    def cancel(self, message: Message) -> None:
        running = self._running.get(message["id"])
        if running:
            self._abort(running)

    def _abort(self, running: _Running) -> None:
        running.call.cancelled = True
        if running.task and running.stoppable:
            running.task.cancel()

    def abort_all(self) -> None:
        running, self._running = self._running, {}
        for one in running.values():
            self._abort(one)


def _result_fields(result: Any) -> Message:
    if isinstance(result, FileResult):
        return {"file": result.file}
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("the tool returned a coroutine: is an await missing?")
    data = "" if result is None else result
    size = len(to_json(data, allow_nan=False))
    if size > MAX_RESULT_BYTES:
        text = f"the result has {size} bytes of JSON; 5 MB are allowed"
        raise ToolError("PAYLOAD_TOO_LARGE", text)
    return {"data": data}
