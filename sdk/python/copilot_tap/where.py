"""The gateway's address, and the token for it (docs/protocol.md, "Connecting")."""

from __future__ import annotations

import os
import re
from pathlib import Path


def _port(text: str) -> int:
    """A port in decimal digits. Any other text is an error: a silent default would connect to the
    wrong place."""
    if re.fullmatch("[0-9]{1,5}", text) and 0 < int(text) < 65536:
        return int(text)
    raise ValueError(f'TAP_GATEWAY_PORT is "{text[:32]}", which is not a port (1 to 65535)')


class Whereabouts:
    def __init__(
        self, url: str | None, port: int | None, home: str | os.PathLike[str] | None, token: str | None
    ) -> None:
        env = os.environ
        folder = Path(home or env.get("COPILOT_HOME") or Path.home() / ".copilot")
        self.url = url or f"ws://localhost:{port or _port(env.get('TAP_GATEWAY_PORT') or '9400')}"
        self.token_file = folder / "extensions" / "tap" / ".provider-token"
        # A given token does not change: a new gateway will refuse it.
        self.given = token if token is not None else env.get("TAP_PROVIDER_TOKEN")

    def token(self) -> str | None:
        """Every gateway has its own token, so it is read again for each connection."""
        if self.given:
            return self.given
        try:
            return self.token_file.read_text(encoding="utf-8").strip() or None
        except OSError:
            return None
