"""A result that is too large for a message, and a single call at a time."""

import asyncio
import os

from copilot_tap import Call, FileResult, Provider

WORK_S = float(os.environ.get("WORK_MS") or 2000) / 1000

# Ten more calls may stand in line, the next fails with RATE_LIMITED.
tap = Provider("exporter", concurrency=1)


@tap.tool
async def export_table(rows: int = 100, *, call: Call) -> FileResult:
    """Exports a table as CSV."""
    await asyncio.sleep(WORK_S)  # the work
    lines = "".join(f"{row},{row * row}\n" for row in range(rows))
    table = f"number,square\n{lines}"
    return await tap.file(f"table-{call.id}.csv", table, mime_type="text/csv")


tap.main()
