"""A provider: its declarations, the messages that it sends, and its lifetime."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, Awaitable, Callable

from .calls import Calls, FileResult
from .errors import TapError, closed_error
from .files import Files
from .hooks import Hooks, Match
from .connection import Connection, Message
from .listeners import Listener, Listeners
from .requests import Requests
from .sessions import SessionChoice
from .streams import Receipt, Rules, Stream, Streams
from .tools import Tools, make_tool, not_in_force
from .where import Whereabouts


class Provider:
    """Offers functions of this program to Copilot sessions as tools."""

    def __init__(
        self,
        name: str,
        *,
        session: SessionChoice = "latest",
        instance: str | None = None,
        metadata: dict[str, Any] | None = None,
        concurrency: int | dict[str, Any] | None = None,
        startup_context: str | None = None,
        pair: Callable[[str], Awaitable[str]] | None = None,
        token: str | None = None,
        home: str | os.PathLike[str] | None = None,
        port: int | None = None,
        url: str | None = None,
    ) -> None:
        self.name = name
        self.sessions: set[str] = set()
        self.persist_dir: Path | None = None
        self._broadcasts = session == "all"
        limit = {"max": concurrency} if isinstance(concurrency, int) else concurrency
        self._hello: Message = {"name": name, "instance": instance, "metadata": metadata}
        self._hello.update(concurrency=limit, startup_context=startup_context)
        self._listeners = Listeners(name, lambda coroutine: self._connection.spawn(coroutine))
        self._tools, self._hooks = Tools(), Hooks(self.on_error)
        self._filters: dict[str, Rules] = {}
        self._make_connection = lambda: Connection(self, Whereabouts(url, port, home, token), session, pair)
        self._reset()

    def _reset(self) -> None:
        """A connection, and its state."""
        self._left = False  # closed, for good
        self._connection = self._make_connection()
        self._requests = Requests(self._connection)
        self._streams = Streams(
            self._connection, self._requests, self._ask, self._filters, self._broadcasts
        )
        self._calls = Calls(self._connection, self._tools.declared.get, self.on_error)
        self._run: asyncio.Task[None] | None = None
        self._connected: asyncio.Future[None] | None = None
        self._syncing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the loop of its connection
        self._sync_lock: asyncio.Lock | None = None
        self._awaited = False  # by run(), which raises the error that ended it
        self._files = Files()

    # ---- declarations
    # ----------------------------------------------------------------------------

    def tool(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Makes a function a tool: `@tap.tool` or `@tap.tool(description=..., timeout=...)`.

        By default the name is the function's, the description its docstring, and the parameters
        follow from its type hints. A parameter `call` gets the Call. `timeout` is in seconds.
        """

        def declare(wrapped: Callable[..., Any]) -> Callable[..., Any]:
            made = make_tool(wrapped, name, description, parameters, timeout)
            self._tools.declared[made.definition["name"]] = made
            self._changed()
            return wrapped

        return declare(function) if function else declare

    def remove_tool(self, name: str) -> None:
        self._tools.declared.pop(name, None)
        self._changed()

    def deny(self, reason: str, **match: Match) -> Callable[[], None]:
        """The tool does not run. `match`: tool, args, file, provider. Returns a function that removes the rule."""
        return self._rule(self._hooks.add({"match": match, "action": "deny", "reason": reason}))

    def note(self, content: str, **match: Match) -> Callable[[], None]:
        """The model reads `content` after the tool has run."""
        rule = {"match": match, "action": "context", "content": content}
        return self._rule(self._hooks.add(rule))

    def gate(self, *, fail_open: bool = False, **match: Match) -> Callable[[Listener], Listener]:
        """Calls the function before the tool runs: True allows, a text denies, with a reason."""

        def declare(judge: Listener) -> Listener:
            self._rule(self._hooks.gate({"match": match, "failOpen": fail_open}, judge))
            return judge

        return declare

    def _rule(self, key: int) -> Callable[[], None]:
        self._changed()

        def remove() -> None:
            self._hooks.rules.pop(key, None)
            self._changed()

        return remove

    def context(self, text: str) -> None:
        """Text that is added to every prompt of the user; "" removes it."""
        self._hooks.context = text
        self._changed()

    def section(
        self, name: str, action: str | Callable[[str], Any] | None, content: str = ""
    ) -> None:
        """Changes a section of the system message: `append`, `prepend`, `replace` by `content`, a
        function of the current text, or None, which removes the change."""
        change = {"action": action, "content": content} if isinstance(action, str) else action
        self._hooks.section(name, change)
        self._changed()

    def on(self, event: str, listener: Listener | None = None) -> Any:
        """Calls a function with each event: `tap.on("status", print)` or `@tap.on("bound")`."""

        def add(wrapped: Listener) -> Listener:
            self._listeners.add(event, wrapped, connected=self._run is not None)
            return wrapped

        return add(listener) if listener else add

    # ---- sending changes to the gateway
    # ------------------------------------------------------------

    def _changed(self) -> None:
        """From any thread."""
        if self._loop and self._connection.bound:
            self._loop.call_soon_threadsafe(self._sync_later)

    def _sync_later(self) -> None:
        if self._connection.bound and not self._syncing:
            self._syncing = self._connection.spawn(self._sync_soon())

    async def _sync_soon(self) -> None:
        await asyncio.sleep(0)  # declarations that are made together are sent together
        self._syncing = None
        await self.synced()

    async def synced(self, *, in_force: bool = False) -> None:
        """Sends the changes to the gateway, and returns once the gateway has them; hooks are then in
        force. Raises TapError if the gateway refuses a change; that change is undone. With
        `in_force` it waits until the sessions have the tools, too, and raises TIMEOUT if that takes
        too long; the tools stay declared."""
        if not self._sync_lock:
            return
        refusals: list[TapError] = []
        late: TapError | None = None
        async with self._sync_lock:
            for change in (self._tools.change, self._hooks.change, self._hooks.context_change):
                changed = change() if self._connection.bound else None
                if in_force and change == self._tools.change and self._connection.bound:
                    changed = self._tools.in_force(changed)
                if not changed:
                    continue
                message, restore = changed
                try:
                    late = not_in_force(await self._ask(message)) or late
                except TapError as error:
                    if error.code == "DISCONNECTED":
                        raise  # the next hello has all declarations
                    restore()
                    refusals.append(error)
        for further in refusals[1:]:
            self.on_error(further)
        if refusals or late:
            raise refusals[0] if refusals else late  # type: ignore[misc]

    async def _ask(self, message: Message) -> Any:
        # Bound to "all" without a session, no session would answer.
        if self.sessions:
            return await self._requests.ask(
                message, sessions=set(self.sessions) if message.get("inForce") else None
            )
        await self._connection.send(message)
        return None

    # ---- messages to the gateway
    # -----------------------------------------------------------------

    async def push(
        self,
        stream: str,
        event: Any,
        *,
        level: str = "keep",
        prompt: str | None = None,
        metadata: dict[str, Any] | None = None,
        session: str | None = None,
        key: str | None = None,
        traceparent: str | None = None,
    ) -> Receipt | None:
        """An event: kept, shown (`surface`), or put before the model (`inject`)."""
        return await self._streams.push(
            stream,
            event,
            level=level,
            prompt=prompt,
            metadata=metadata,
            session=session,
            key=key,
            traceparent=traceparent,
        )

    async def withdraw(self, key: str, *, session: str | None = None) -> bool:
        """Removes a waiting inject with this key. Returns whether it was there."""
        return await self._streams.withdraw(key, session)

    def stream(self, name: str) -> Stream:
        return Stream(lambda: self._streams, name)

    async def file(
        self, name: str, content: str | bytes, *, mime_type: str, ttl: int = 300
    ) -> FileResult:
        """A result too large for a message: return the value of this call. After `ttl` seconds, or with
        `close`, the file is removed."""
        if not self.persist_dir:
            raise TapError("UNAUTHORIZED", "there is no folder for files")
        data = content.encode() if isinstance(content, str) else content
        path = await self._files.add(self.persist_dir, Path(name), data, ttl)
        file = {"path": str(path), "mimeType": mime_type, "size": len(data), "ttl": ttl}
        return FileResult(file)

    # ---- messages from the gateway (called by Connection)
    # ------------------------------------------------

    def hello(self) -> Message:
        hooks, tools = self._hooks.declare(), self._tools.declare()
        subscribe = self._listeners.subscribed()
        return {**self._hello, "subscribe": subscribe, **hooks, "tools": tools}

    def on_message(self, message: Message) -> None:
        kind = message["type"]
        if kind == "tool.call":
            self._calls.start(message)
        elif kind == "tool.cancel":
            self._calls.cancel(message)
        elif kind == "gate.check":
            self._connection.spawn(self._reply(self._hooks.check(message)))
        elif kind == "transform.request":
            self._connection.spawn(self._reply(self._hooks.rewrite(message)))
        elif kind in ("ack", "stream.history"):
            self._requests.answered(message)
        elif kind == "session.event":
            event: dict[str, Any] = {"session": message["sessionId"], **message["data"]}
            self._listeners.tell_later(message["event"], event)
        elif kind == "session.lifecycle":
            if message["state"] == "started":
                self.sessions.add(message["sessionId"])
            event = {"session": message["sessionId"]}
            self._listeners.tell_later(f"session.{message['state']}", event)
        elif kind == "error" and not self._requests.refused(message):
            self.on_error(TapError.of(message))

    async def _reply(self, answer: Awaitable[Message]) -> None:
        message = await answer
        if self._connection.bound:
            await self._connection.send(message)

    def on_bound(self, ack: Message) -> None:
        self.persist_dir = Path(ack["persistDir"]) if ack.get("persistDir") else None
        session = ack["sessionId"]
        every = [one["id"] for one in self._connection.sessions.open]
        self.sessions |= set(every if session == "all" else [session])
        if self._connected and not self._connected.done():
            self._connected.set_result(None)
        self._connection.spawn(self._restore())
        event = {"session": session, "provider_id": ack["providerId"]}
        self._listeners.tell_later("bound", event)

    async def _restore(self) -> None:
        """Restores the filters, which each hello resets, and sends declarations that were made meanwhile."""
        await self._streams.restore(self.on_error)
        await self.synced()

    def on_lost(self, error: TapError) -> None:
        self.sessions.clear()
        self._requests.reject_all(error)
        self._calls.abort_all()
        self._listeners.tell_later("unbound", error)

    async def on_session_end(self, session: str, deadline: float) -> None:
        self.sessions.discard(session)
        self._requests.settle_ended(self.sessions)
        await self._listeners.tell("session.end", {"session": session, "deadline": deadline})

    def on_status(self, text: str) -> None:
        self._listeners.tell_later("status", text)

    def on_error(self, error: BaseException, call: str | None = None) -> None:
        """Reports an error without a caller."""
        self._listeners.on_error(error, call)

    # ---- connecting and closing
    # ------------------------------------------------------------------

    async def connect(self) -> None:
        """Returns once it is bound to a session; waits for a gateway and for a session. DISCONNECTED
        if it is closed before."""
        if not await self._bound(self._start()):
            raise closed_error("the provider was closed")

    def _start(self) -> asyncio.Task[None]:
        if self._left:
            raise closed_error("connect(): the provider was closed")
        if self._run is None:
            self._loop = asyncio.get_running_loop()
            self._connected = self._loop.create_future()
            self._sync_lock = asyncio.Lock()
            self._run = asyncio.ensure_future(self._connection.run())
            self._run.add_done_callback(self._on_end)
        return self._run

    async def _bound(self, run: asyncio.Task[None]) -> bool:
        """False if it is closed before."""
        connected = self._connected
        assert connected
        try:
            await asyncio.wait({run, connected}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        if run.done() and not run.cancelled():
            run.result()  # raises the error that ended it
        return connected.done()

    def _on_end(self, run: asyncio.Task[None]) -> None:
        """Reports an error that ended it after it was bound, unless run() raises it."""
        error = None if run.cancelled() else run.exception()
        was_bound = self._connected and self._connected.done()
        if isinstance(error, Exception) and was_bound and not self._awaited:
            self.on_error(error)

    async def run(self) -> None:
        """Runs until `close`, or until it cannot continue, for example because its token is void: TapError."""
        run = self._start()
        self._awaited = True
        if not await self._bound(run):
            return
        try:
            await asyncio.wait({run})
        except asyncio.CancelledError:
            await self.close()
            raise
        if not run.cancelled():
            run.result()

    async def close(self, reason: str | None = None) -> None:
        """Sends `goodbye` and does not reconnect. Cancels running calls."""
        if self._left or self._run is None:
            self._left = True
            return
        self._left = True
        self._calls.abort_all()
        await self._connection.stop(self._run, reason)
        self._files.remove_all()
        self._requests.reject_all(closed_error("the provider was closed"))

    async def __aenter__(self) -> Provider:
        await self.connect()
        return self

    async def __aexit__(self, raised: type[BaseException] | None, *_: Any) -> None:
        run = self._run
        await self.close()
        if run and not raised and not run.cancelled():
            run.result()  # raises the error that ended it meanwhile

    def main(self) -> None:
        """Runs it until Ctrl-C or SIGTERM; the last line of a program."""
        try:
            asyncio.run(self._main())
        except TapError as error:
            sys.exit(f"provider {self.name}: {error}")
        except KeyboardInterrupt:
            pass

    async def _main(self) -> None:
        work = asyncio.ensure_future(self.run())
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        await asyncio.wait({work})
        if not work.cancelled():
            work.result()
