"""Streams: events that the gateway keeps, a filter that decides about each, and a look back.

Here a log is made up; read yours instead.
"""

import asyncio
import os

from copilot_tap import Provider

EVERY_S = float(os.environ.get("LOG_EVERY_MS") or 5000) / 1000
LOG = [
    "GET /health 200",
    "GET /cart 200 in 12 ms",
    "WARN the disk is 91 % full",
    "GET /health 200",
    "ERROR POST /order: the database does not answer",
]
# The first rule that matches decides. Without a match, the push's own level counts: keep.
RULES = [
    {"match": "GET /health", "outcome": "drop"},
    {"match": "^ERROR", "outcome": "inject"},  # put before the model
    {"match": "^WARN", "outcome": "surface"},  # a line in the timeline
]

tap = Provider("shop")
stream = tap.stream("log")


@tap.tool
async def shop_log() -> str:
    """The latest lines of the shop's log."""
    return "\n".join(f"{line['ts']} {line['event']}" for line in await stream.history(last=20))


async def main():
    await tap.connect()
    await stream.filter(RULES)
    for line in LOG:
        receipt = await stream.push(line)
        print(f"{receipt.outcome}: {line}", flush=True)
        await asyncio.sleep(EVERY_S)
    await tap.run()


asyncio.run(main())
