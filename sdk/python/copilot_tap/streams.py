"""Events that are pushed, their filters, and their history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Awaitable, Callable

from .connection import Connection, Message
from .errors import TapError
from .plain import to_json
from .requests import Requests

Rules = list[dict[str, str]]


@dataclass(frozen=True)
class Receipt:
    outcome: str
    """stored, surfaced, injected, queued or dropped"""
    session: str
    rule: int | None = None
    """Of the stream's filter."""
    replaced: bool = False
    """It has the place of an inject with the same key that waited."""


class Streams:
    """`ask` sends a message and returns the answer; it raises TapError if the provider is not bound."""

    def __init__(
        self,
        connection: Connection,
        requests: Requests,
        ask: Callable[[Message], Awaitable[Any]],
        filters: dict[str, Rules],
        broadcasts: bool,
    ) -> None:
        self._connection, self._requests, self._ask = connection, requests, ask
        self._filters = filters  # each hello resets them
        self._broadcasts = broadcasts

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
        text = event if isinstance(event, str) else to_json(event)
        push: Message = {"type": "push", "stream": stream, "event": text, "level": level}
        push |= {"prompt": prompt, "metadata": metadata, "sessionId": session}
        push |= {"key": key, "traceparent": traceparent}
        if self._broadcasts and session is None:
            push["broadcast"] = True
        ack = await self._ask(push)
        if not ack:
            return None
        replaced = ack.get("replaced", False)
        return Receipt(ack["outcome"], ack["sessionId"], ack.get("rule"), replaced)

    async def withdraw(self, key: str, session: str | None = None) -> bool:
        ack = await self._ask({"type": "withdraw", "key": key, "sessionId": session})
        return bool(ack and ack["withdrawn"])

    async def filter(self, stream: str, rules: Rules) -> None:
        former = self._filters.get(stream)
        self._filters[stream] = rules
        if not self._connection.bound:
            return
        try:
            await self._ask({"type": "filter.set", "stream": stream, "rules": rules})
        except TapError as error:
            # Filters that were lost with the connection are set again with the next hello.
            if error.code != "DISCONNECTED" and self._filters.get(stream) is rules:
                if former is None:
                    del self._filters[stream]
                else:
                    self._filters[stream] = former
            raise

    async def restore(self, on_error: Callable[[TapError], None]) -> None:
        """After a hello."""
        for stream, rules in list(self._filters.items()):
            if not rules or not self._connection.bound:
                continue
            try:
                await self._ask({"type": "filter.set", "stream": stream, "rules": rules})
            except TapError as error:
                if error.code != "DISCONNECTED":  # otherwise the next hello restores it
                    on_error(error)

    async def history(
        self, stream: str, last: int | None = None, session: str | None = None
    ) -> list[dict[str, Any]]:
        query = {"type": "stream.query", "streams": [stream], "last": last, "sessionId": session}
        answer = await self._requests.ask(query, "queryId")
        return next(iter(answer["streams"].values()), []) if answer else []


class Stream:
    """Events of a name, from Provider.stream. `streams` returns those of the present connection."""

    def __init__(self, streams: Callable[[], Streams], name: str) -> None:
        self._streams, self.name = streams, name

    async def push(self, event: Any, **options: Any) -> Receipt | None:
        return await self._streams().push(self.name, event, **options)

    async def filter(self, rules: Rules) -> None:
        """Sets the rules for the events of the stream. They hold after a reconnect, too."""
        await self._streams().filter(self.name, rules)

    async def history(
        self, last: int | None = None, session: str | None = None
    ) -> list[dict[str, Any]]:
        """The latest events, newest first."""
        return await self._streams().history(self.name, last, session)
