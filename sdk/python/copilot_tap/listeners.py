"""The listeners of a provider's events."""

from __future__ import annotations

from typing import Any, Callable, Coroutine

from .errors import TapError
from .hooks import call
from .report import report

Listener = Callable[..., Any]

OWN_EVENTS = {"status", "bound", "unbound", "error"}
LIFECYCLE = {"session.started", "session.idle", "session.end"}


class Listeners:
    """`spawn` runs a coroutine on the connection's loop."""

    def __init__(self, provider: str, spawn: Callable[[Coroutine[Any, Any, None]], Any]) -> None:
        self._provider = provider
        self._spawn = spawn
        self._listeners: dict[str, list[Listener]] = {}

    def add(self, event: str, listener: Listener, connected: bool) -> None:
        known = event in OWN_EVENTS | LIFECYCLE or event in self._listeners
        if connected and not known:
            raise RuntimeError(f"{event}: events of the session are subscribed to before connect()")
        self._listeners.setdefault(event, []).append(listener)

    def subscribed(self) -> list[str]:
        """Events of the session for the gateway to send."""
        return [event for event in self._listeners if event not in OWN_EVENTS | LIFECYCLE]

    def tell_later(self, event: str, data: Any) -> None:
        self._spawn(self.tell(event, data))

    async def tell(self, event: str, data: Any) -> None:
        for listener in list(self._listeners.get(event, [])):
            try:
                await call(listener, data)
            except Exception as error:
                where = f'on("{event}")'
                if event == "error":
                    report(self._provider, error, where)
                else:
                    self.on_error(error, where)

    def on_error(self, error: BaseException, call: str | None = None) -> None:
        """Reports an error without a caller; without a listener, on stderr."""
        if self._listeners.get("error"):
            self.tell_later("error", error)
        elif not (isinstance(error, TapError) and error.code == "DISCONNECTED"):
            report(self._provider, error, call)
