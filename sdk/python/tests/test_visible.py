"""The SDK prints control characters as escapes."""

from __future__ import annotations

import pytest

from copilot_tap.listeners import Listeners
from copilot_tap.visible import visible


def test_plain_text_stays() -> None:
    assert visible("größe 天気 \U0001f600 \\x41") == "größe 天気 \U0001f600 \\x41"


def test_what_is_not_seen_is_shown() -> None:
    hidden = "\x1b\n\t\x9b\u200b\u00ad\u202e\u2028\u3164\u034f\ufe0f\U000e0041\ud800"
    shown = visible(hidden)
    assert shown == (
        "\\x1b\n\t\\u{9b}\\u{200b}\\u{ad}\\u{202e}\\u{2028}\\u{3164}\\u{34f}"
        "\\u{fe0f}\\u{e0041}\\u{d800}"
    )
    assert visible(shown) == shown


def test_errors_that_nobody_hears_are_printed_so(capsys: pytest.CaptureFixture[str]) -> None:
    listeners = Listeners("p\u200b", lambda _work: None)
    listeners.on_error(ValueError("\x1b[2Jgone\U000e0041"))
    assert capsys.readouterr().err == "provider p\\u{200b}: ValueError: \\x1b[2Jgone\\u{e0041}\n"
