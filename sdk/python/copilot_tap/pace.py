"""The rate of messages, and of attempts to connect.

The gateway reads a provider that sends more than 200 messages at once, then 100 a second, more
slowly, and in the end closes its connection; answers do not count.
"""

from __future__ import annotations

import random
import time

BURST = 150
PER_SECOND = 90


def backoff(attempt: int, refused: bool) -> float:
    """Seconds between two attempts: up to double each time, with jitter."""
    first, most = (1.0, 10.0) if refused else (0.1, 2.0)
    return min(most, first * 2 ** min(attempt, 10)) * (0.5 + random.random() / 2)


class Pace:
    def __init__(self) -> None:
        self._left = float(BURST)
        self._at = time.monotonic()

    def take(self) -> bool:
        """Whether a further message may be sent now."""
        now = time.monotonic()
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
