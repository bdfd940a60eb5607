"""Events that are pushed, filters that decide what becomes of them, and a look back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .provider import Provider


@dataclass(frozen=True)
class Receipt:
    outcome: str
    """stored, surfaced, injected, queued or dropped"""
    session: str
    rule: int | None = None
    """Of the stream's filter."""


class Stream:
    """Events of one name, from Provider.stream."""

    def __init__(self, provider: Provider, name: str) -> None:
        self._provider, self.name = provider, name

    async def push(self, event: Any, **options: Any) -> Receipt | None:
        return await self._provider.push(self.name, event, **options)

    async def filter(self, rules: list[dict[str, str]]) -> None:
        """Decides what becomes of each event. It holds after a reconnect, too."""
        await self._provider._set_filter(self.name, rules)

    async def history(self, last: int = 100, session: str | None = None) -> list[dict[str, Any]]:
        """The latest events, the last one first."""
        return await self._provider._history(self.name, last, session)
