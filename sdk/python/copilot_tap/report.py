"""Errors in a user's function are written to stderr, for its author."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import TapError
from .visible import visible

MAX_ARGUMENTS = 200
HERE = str(Path(__file__).parent)


def _arguments_text(args: Any) -> str:
    """As JSON, which the tool may have made impossible."""
    try:
        return json.dumps(args, ensure_ascii=False, separators=(",", ":"))
    except Exception:
        return "(its arguments, changed by the tool, are not JSON)"


def call_text(tool: str, args: Any) -> str:
    """A call, for a person. `args`: after the tool has run."""
    text = _arguments_text(args)
    cut = text[:MAX_ARGUMENTS] + "…" if len(text) > MAX_ARGUMENTS else text
    return f"{tool} {cut}".replace("\n", "\\n")


def _of_the_user(trace: TracebackType | None) -> TracebackType | None:
    """Without this package's own lines, which come first."""
    while trace and trace.tb_frame.f_code.co_filename.startswith(HERE) and trace.tb_next:
        trace = trace.tb_next
    return trace


def _stack(error: BaseException) -> str:
    if isinstance(error, TapError):
        return str(error)  # a refusal's message is complete
    trace = _of_the_user(error.__traceback__)
    try:
        return "".join(traceback.format_exception(type(error), error, trace)).rstrip()
    except Exception:  # its text, or that of its cause, is not available
        where = "".join(traceback.format_tb(trace))
        return f"Traceback (most recent call last):\n{where}{type(error).__name__}"


def report(provider: str, error: BaseException, call: str | None = None) -> None:
    """`call`: the failed call."""
    head = f"provider {provider}: " + (f"{call} failed:\n" if call else "")
    text = visible(head + _stack(error))
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    print(text, file=sys.stderr, flush=True)
