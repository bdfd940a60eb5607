"""Runs functions that are not async in threads, outside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from typing import Any, Callable

from .errors import error_text


async def in_thread(function: Callable[[], Any]) -> Any:
    """Runs it in a thread that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        # In a coroutine they would end the loop or the program; in a thread they end neither.
        if isinstance(error, StopIteration) or not isinstance(error, (Exception, type(None))):
            cause, error = error, RuntimeError(f"the tool raised {error_text(error)}")
            error.__cause__ = cause
        if error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function)
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True).start()
    return await future
