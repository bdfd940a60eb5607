"""Makes text of other parties safe to print: control characters and hidden characters are escaped."""

from __future__ import annotations

import re
import unicodedata

_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Invisible characters whose category does not show that: fillers, variation selectors, tags,
# and code points that Unicode reserves for more of them.
_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)


_UNUSUAL = re.compile(r"[^\n\t -~]")


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    point = ord(character)
    hidden = unicodedata.category(character) in _CATEGORIES
    if not hidden and not any(first <= point <= last for first, last in _RANGES):
        return character
    return f"\\x{point:02x}" if point < 0x80 else f"\\u{{{point:x}}}"


def visible(text: str) -> str:
    """Keeps lines. Escapes an emoji's joiners, too."""
    return _UNUSUAL.sub(_shown, text)
