"""Where the gateway is, and what lets us in (docs/protocol.md, "Connecting")."""

from __future__ import annotations

import os
from pathlib import Path


class Whereabouts:
    def __init__(
        self, url: str | None, port: int | None, home: str | os.PathLike[str] | None, token: str | None
    ) -> None:
        env = os.environ
        folder = Path(home or env.get("COPILOT_HOME") or Path.home() / ".copilot")
        self.url = url or f"ws://localhost:{port or env.get('TAP_GATEWAY_PORT') or 9400}"
        self.token_file = folder / "extensions" / "tap" / ".provider-token"
        # One that does not change: a new gateway will not take it.
        self.given = token if token is not None else env.get("TAP_PROVIDER_TOKEN")

    def token(self) -> str | None:
        """Every gateway has its own token: read anew for each connection."""
        if self.given:
            return self.given
        try:
            return self.token_file.read_text(encoding="utf-8").strip() or None
        except OSError:
            return None
