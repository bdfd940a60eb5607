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
        # Of requests to several sessions: the sessions that have not answered, and the answers.
        self._left: dict[str, tuple[set[str], list[Message]]] = {}

    async def ask(
        self, message: Message, id_field: str = "requestId", sessions: set[str] | None = None
    ) -> Any:
        """The answer; None if the request's session has ended. `sessions`: waits for the answers of all
        these."""
        request_id = f"r-{next(self._ids)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = (message, future)
        if sessions:
            self._left[request_id] = (sessions, [])
        try:
            await self._connection.send({**message, id_field: request_id})
            return await future
        finally:
            self._pending.pop(request_id, None)
            self._left.pop(request_id, None)

    def answered(self, message: Message) -> None:
        request_id = message.get("requestId") or message.get("queryId")
        left, answers = self._left.get(request_id or "", (set(), []))
        left.discard(message.get("sessionId", ""))
        answers.append(message)
        if not left:
            self._settle(request_id, self._worst(answers))

    @staticmethod
    def _worst(answers: list[Message]) -> Message | None:
        failed = [answer for answer in answers if answer.get("inForce") is False]
        return next(iter(failed + answers), None)

    def refused(self, message: Message) -> bool:
        """Returns whether a request was pending."""
        request_id = message.get("requestId")
        if request_id not in self._pending:
            # The error of a request that could not be parsed has no id.
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
        """A session that has ended does not answer."""
        for request_id, (asked, _) in list(self._pending.items()):
            if request_id in self._left:
                left, answers = self._left[request_id]
                left &= sessions
                if not left:
                    self._settle(request_id, self._worst(answers))
                continue
            about = asked.get("sessionId")
            if not (sessions if about is None else about in sessions):
                self._settle(request_id, None)

    def reject_all(self, error: TapError) -> None:
        for request_id in list(self._pending):
            self._settle(request_id, error)
