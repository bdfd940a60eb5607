"""Messages that ask for an answer, and their answers."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from .errors import TapError
from .connection import Connection, Message


class Requests:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)
        self._pending: dict[str, tuple[Message, asyncio.Future[Any]]] = {}

    async def ask(self, message: Message, id_field: str = "requestId") -> Any:
        """The answer; None where the session that it is about has ended."""
        request_id = f"r-{next(self._ids)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = (message, future)
        try:
            await self._connection.send({**message, id_field: request_id})
            return await future
        finally:
            self._pending.pop(request_id, None)

    def answered(self, message: Message) -> None:
        self._settle(message.get("requestId") or message.get("queryId"), message)

    def refused(self, message: Message) -> bool:
        """Whether anybody waited for it."""
        request_id = message.get("requestId")
        if request_id not in self._pending:
            # What could not be read has no id in its error.
            kind = message.get("replyTo")
            same = [key for key, (asked, _) in self._pending.items() if asked["type"] == kind]
            request_id = next(iter(same), None)
        return self._settle(request_id, TapError.of(message))

    def _settle(self, request_id: str | None, answer: Any) -> bool:
        _, future = self._pending.pop(request_id or "", (None, None))
        if future and not future.done():
            if isinstance(answer, TapError):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        return future is not None

    def settle_ended(self, sessions: set[str]) -> None:
        """Nobody will answer for a session that has ended."""
        for request_id, (asked, _) in list(self._pending.items()):
            about = asked.get("sessionId")
            if not (sessions if about is None else about in sessions):
                self._settle(request_id, None)

    def reject_all(self, error: TapError) -> None:
        for request_id in list(self._pending):
            self._settle(request_id, error)
