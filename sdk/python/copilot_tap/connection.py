"""The connection to the gateway: waits for a gateway, authenticates, binds, and reconnects."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Awaitable, Callable, Protocol

try:
    import websockets
    from websockets.exceptions import ConnectionClosed, WebSocketException
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "copilot_tap needs the package websockets: apt install python3-websockets, "
        "or pip install websockets"
    ) from missing

from .errors import TapError, closed_error
from .pace import Pace, backoff
from .plain import to_json
from .sessions import SessionChoice, Sessions
from .where import Whereabouts

Message = dict[str, Any]

ADMISSION_S = 10.0
"""From a connection to the list of sessions, without the time for a code of the user."""
FAREWELL_S = 1.0
PATIENT_FAILURES = 3
"""A wrong token may be about to be replaced; after this many failures it is not."""
FINAL = {"UNSUPPORTED_VERSION", "TOOL_CONFLICT", "DUPLICATE_INSTANCE"}
FINAL |= {"UNAUTHORIZED", "INVALID_JSON", "PAYLOAD_TOO_LARGE"}
ANSWERS = {"tool.result", "gate.result", "transform.result"}


class Owner(Protocol):
    """The owner of a connection: gives it the declarations, and receives its messages."""

    name: str

    def hello(self) -> Message: ...
    def on_bound(self, ack: Message) -> None: ...
    def on_lost(self, error: TapError) -> None: ...
    def on_message(self, message: Message) -> None: ...
    async def on_session_end(self, session: str, deadline: float) -> None: ...
    def on_error(self, error: Exception) -> None: ...
    def on_status(self, text: str) -> None: ...


class NotTap(Exception):
    """Any program can have the gateway's port, and may send any text."""

    def __init__(self) -> None:
        super().__init__("the program on this port is not a tap gateway")


def _parse_message(raw: str | bytes) -> Message:
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        raise NotTap from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise NotTap
    return message


def _in_words(error: Exception) -> str:
    """Why a connection has ended, or could not be opened."""
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return "the gateway is not there"
    received = error.rcvd if isinstance(error, ConnectionClosed) else None
    if received:
        return str(received.reason or f"close code {received.code}")
    return str(error) or type(error).__name__


def _connect(url: str) -> Any:
    options: dict[str, Any] = {"max_size": None, "compression": None}
    options |= {"open_timeout": ADMISSION_S, "close_timeout": FAREWELL_S}
    if int(websockets.__version__.split(".")[0]) >= 15:
        options["proxy"] = None  # the gateway is on this machine
    return websockets.connect(url, **options)  # type: ignore[attr-defined]


class Connection:
    def __init__(
        self,
        owner: Owner,
        where: Whereabouts,
        session: SessionChoice,
        pair: Callable[[str], Awaitable[str]] | None,
    ) -> None:
        self.sessions = Sessions()
        self._owner, self._where, self._choice, self._pair_with = owner, where, session, pair
        self._ws: Any = None
        self._state = "closed"  # admission, waiting, hello, bound, leaving
        self._binding = ""
        self._reconnect_token = ""
        self._paired_token: str | None = None
        self._pace = Pace()
        self._attempts = self._refusals = 0
        self._ever_bound = False
        self._said = ""
        self._fatal: Exception | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._admission: asyncio.TimerHandle | None = None

    @property
    def bound(self) -> bool:
        return self._state == "bound"

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        """Runs in the background; an exception is reported."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._owner.on_error(error)

    # ---- connecting and closing
    # ------------------------------------------------------------------

    async def run(self) -> None:
        """Runs until `stop`. Raises an error that a further attempt cannot fix."""
        while self._state != "leaving":
            try:
                await self._connection()
            except (OSError, asyncio.TimeoutError, WebSocketException) as error:
                self._on_close(_in_words(error))
            except NotTap as error:
                self._refusals += 1
                self._on_close(str(error))
            if self._fatal:
                raise self._fatal
            if self._state == "leaving":
                return
            delay = backoff(self._refusals or self._attempts, self._refusals > 0)
            self._attempts += 1
            await asyncio.sleep(delay)

    async def stop(self, run: asyncio.Task[None], reason: str | None) -> None:
        greeted = self._state in ("bound", "waiting", "hello")
        self._state = "leaving"
        if greeted:  # the gateway closes after a goodbye, unless it hangs
            goodbye = self.spawn(self._transmit({"type": "goodbye", "reason": reason}))
            done, _ = await asyncio.wait({run}, timeout=FAREWELL_S)
            if not done:
                goodbye.cancel()
                self._ws.transport.abort()
        run.cancel()
        await asyncio.wait({run})
        for task in self._tasks:
            task.cancel()

    async def _connection(self) -> None:
        token = self._paired_token or self._where.token()
        if not token and not self._pair_with:
            self._say(f"waiting for a session of the Copilot CLI (no {self._where.token_file})")
            return
        auth = {"token": token} if token else {"mode": "pair", "name": self._owner.name}
        async with _connect(self._where.url) as ws:
            self._ws, self._state, self._pace = ws, "admission", Pace()
            loop = asyncio.get_running_loop()
            self._admission = loop.call_later(ADMISSION_S, lambda: self.spawn(ws.close()))
            try:
                await self._transmit({"type": "auth", **auth})
                async for raw in ws:
                    await self._receive(_parse_message(raw))
            finally:
                self._admission.cancel()
        self._on_close(f"close code {ws.close_code} {ws.close_reason or ''}".strip())

    def _on_close(self, why: str) -> None:
        was_bound = self.bound
        if self._state != "leaving":
            self._state = "closed"
        self.sessions.leave_all()
        if self._state == "leaving":
            self._owner.on_lost(closed_error(f"the connection ended: {why}"))
        elif was_bound:
            self._owner.on_lost(TapError("DISCONNECTED", f"the connection ended: {why}"))
        if self._state != "leaving":
            self._say(f"connection lost ({why})" if was_bound else f"waiting for a gateway ({why})")

    def _say(self, text: str) -> None:
        """Reports a changed status."""
        if self._said != text:
            self._said = text
            self._owner.on_status(text)

    async def _fail(self, error: Exception) -> None:
        self._fatal = error
        self._state = "leaving"
        await self._ws.close()

    # ---- sending ---------------------------------------------------------------------------------

    async def send(self, message: Message) -> None:
        """Raises TapError if it cannot be sent now."""
        kind = message["type"]
        if self._state == "leaving":
            raise closed_error(f"{kind}: the provider was closed")
        if not self.bound:
            raise TapError("DISCONNECTED", f"{kind}: not bound to a session")
        if kind not in ANSWERS and not self._pace.take():
            raise TapError("RATE_LIMITED", f"{kind}: more messages than the gateway takes")
        await self._transmit(message)

    async def _transmit(self, message: Message) -> None:
        try:
            await self._ws.send(to_json({k: v for k, v in message.items() if v is not None}))
        except ConnectionClosed:
            pass  # the reader gets the error, too

    # ---- messages --------------------------------------------------------------------------------

    async def _receive(self, message: Message) -> None:
        kind = message["type"]
        if self._state == "leaving":
            return
        if kind == "auth.pairing":
            self.spawn(self._pair(message["prompt"]))
        elif kind == "sessions":
            if self._admission:
                self._admission.cancel()
            self._paired_token = message.get("token") or self._paired_token
            self._state = "waiting"
            await self._on_sessions(message["active"])
        elif kind == "sessions.updated":
            await self._on_sessions(message["active"])
        elif kind == "hello.ack":
            await self._on_bound(message)
        elif kind == "session.lifecycle" and message["state"] == "shutdown.pending":
            self.sessions.end(message["sessionId"])
            self.spawn(self._on_session_end(message["sessionId"], message["deadline"]))
        elif kind == "session.offer":
            await self._on_offer(message["sessionId"])
        elif kind == "error":
            await self._on_error(message)
        else:
            if kind == "session.lifecycle" and message["state"] == "started":
                self.sessions.join(message["sessionId"])
            self._owner.on_message(message)

    async def _pair(self, prompt: str) -> None:
        if self._admission:
            self._admission.cancel()
        assert self._pair_with
        try:
            code = await self._pair_with(prompt)
        except Exception as error:
            await self._fail(error)
        else:
            await self._transmit({"type": "auth.confirm", "code": str(code).strip()})

    async def _on_sessions(self, active: list[Message]) -> None:
        self.sessions.update(active)
        if self._state == "waiting":
            await self._bind()
        elif self.bound:
            await self._join_others()

    async def _join_others(self) -> None:
        if self._binding != "all":
            return
        for session in self.sessions.unjoined:
            self.sessions.join(session)
            await self._transmit({"type": "session.ready", "sessionId": session})

    async def _on_offer(self, session: str) -> None:
        """The user has chosen that session. A program that has chosen its session itself keeps it."""
        if self._choice != "latest" or session == self._binding:
            return
        if self._state not in ("bound", "waiting"):
            return
        if self.bound:
            reason = "the user has moved the provider to a different session"
            self._owner.on_lost(TapError("DISCONNECTED", reason))
        self.sessions.leave_all()
        self._binding, self._reconnect_token = session, ""
        self._state = "waiting"
        await self._bind()

    async def _bind(self) -> None:
        former = self._binding
        session = self.sessions.choose(self._choice, former)
        if session is None:
            return self._say("connected; waiting for a session")
        token = self._reconnect_token if session == former and self._reconnect_token else None
        hello = {**self._owner.hello(), "type": "hello", "protocolVersion": 2, "session": session}
        self._binding = session
        self._state = "hello"
        await self._transmit({**hello, "reconnectToken": token})

    async def _on_bound(self, ack: Message) -> None:
        self._state = "bound"
        self._ever_bound = True
        self._attempts = self._refusals = 0
        self._reconnect_token = ack["reconnectToken"]
        self._owner.on_bound(ack)
        self._say(f"bound to {self.sessions.label(ack['sessionId'])}")
        await self._join_others()

    async def _on_session_end(self, session: str, deadline_ms: float) -> None:
        """The session waits until the deadline, and so does this."""
        ws = self._ws
        farewell = self.spawn(self._owner.on_session_end(session, deadline_ms / 1000))
        done, _ = await asyncio.wait({farewell}, timeout=deadline_ms / 1000)
        if not done:
            farewell.cancel()
            self._owner.on_error(TimeoutError("session.end: a listener took too long"))
        if not self.bound or self._ws is not ws:
            return
        await self._transmit({"type": "shutdown.ready", "sessionId": session})
        if self._binding == session:
            self._state = "waiting"
            self._owner.on_lost(TapError("DISCONNECTED", "the session has ended"))
            await self._bind()

    async def _on_error(self, message: Message) -> None:
        error = TapError.of(message)
        if error.code == "AUTH_FAILED":
            return await self._on_auth_failed(error)
        if self._state != "hello" or error.reply_to != "hello":
            # The session may have ended meanwhile.
            if (error.reply_to, error.code) != ("session.ready", "INVALID_SESSION"):
                self._owner.on_message(message)
            return
        self._state = "waiting"
        if error.code == "INVALID_SESSION":
            self.sessions.end(self._binding)
            return await self._bind()
        if error.code == "UNSUPPORTED_VERSION" or (not self._ever_bound and error.code in FINAL):
            return await self._fail(error)
        self._owner.on_error(error)
        self._refusals += 1
        await self._ws.close()

    async def _on_auth_failed(self, error: TapError) -> None:
        if self.bound:
            return self._owner.on_error(error)
        self._refusals += 1
        if self._paired_token:
            self._paired_token = None  # it was revoked, or its session has ended: pair again
        elif self._where.given:
            await self._fail(error)
        elif self._refusals == PATIENT_FAILURES:
            self._owner.on_error(error)
