"""The known sessions, the joined sessions, and the choice of a session."""

from __future__ import annotations

from typing import Any, Callable, Union

SessionInfo = dict[str, Any]
SessionChoice = Union[str, Callable[[list[SessionInfo]], "str | None"]]


class Sessions:
    def __init__(self) -> None:
        self.active: list[SessionInfo] = []
        self._ended: set[str] = set()  # for this provider, though they may still be listed
        self._joined: set[str] = set()

    def update(self, active: list[SessionInfo]) -> None:
        self.active = active
        self._ended &= {one["id"] for one in active}

    def join(self, session: str) -> None:
        self._joined.add(session)

    def end(self, session: str) -> None:
        self._joined.discard(session)
        self._ended.add(session)

    def leave_all(self) -> None:
        self._joined.clear()

    @property
    def open(self) -> list[SessionInfo]:
        return [one for one in self.active if one["id"] not in self._ended]

    @property
    def unjoined(self) -> list[str]:
        """Sessions that began after the binding to "all"."""
        return [one["id"] for one in self.open if one["id"] not in self._joined]

    def choose(self, choice: SessionChoice, former: str) -> str | None:
        """None: wait."""
        if choice == "all":
            return "all"
        ids = [one["id"] for one in self.open]
        if choice == "latest":
            # The former session, if it is still open; otherwise the session used last.
            return former if former in ids else (ids[0] if ids else None)
        wanted = choice(self.open) if callable(choice) else choice
        return wanted if wanted in ids else None

    def label(self, session: str) -> str:
        if session == "all":
            return "all sessions"
        labels = {one["id"]: one.get("label") for one in self.active}
        return labels.get(session) or session
