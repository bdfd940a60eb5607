"""A long job: it says how far it is, and stops when it is cancelled."""

import asyncio
import os

from copilot_tap import Call, Provider

STEP_S = float(os.environ.get("STEP_MS") or 1000) / 1000

tap = Provider("renderer")


@tap.tool(timeout=10)  # for a page: progress starts it again
async def render(pages: int, *, call: Call) -> str:
    """Renders pages in turn."""
    try:
        for page in range(1, pages + 1):
            await asyncio.sleep(STEP_S)  # the work
            call.progress(f"page {page} of {pages}")
    except asyncio.CancelledError:
        print("stopped: its result is no longer needed", flush=True)
        raise
    return f"{pages} pages are rendered"


tap.main()
