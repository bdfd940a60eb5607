"""Watches the runs of a CI: the session hears of it when they turn red, and when they are green again."""

import asyncio
import json
import os
import sys

from copilot_tap import Provider

# GitHub's command gh. Any program will do that prints such JSON.
LIST = (
    os.environ.get("CI_LIST")
    or "gh run list --branch main --limit 1 --json databaseId,status,conclusion,url"
)
LOG = os.environ.get("CI_LOG") or "gh run view --log-failed"  # and the number of the run
EVERY_S = float(os.environ.get("CI_EVERY_MS") or 30_000) / 1000
LOG_BYTES = 20_000  # the failure is at the end of a log

tap = Provider("ci")
stream = tap.stream("runs")
last = None  # the run that the session knows of
red = None  # the run with the log to read


async def run(command, *more):
    """No shell: text of a log or a branch's name cannot become a command."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command.split(" "), *more, stdout=pipe, stderr=pipe
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), 20)
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode != 0:
        raise RuntimeError(errors.decode(errors="replace").strip() or f"{command} failed")
    return output.decode(errors="replace")


async def latest():
    return next(iter(json.loads(await run(LIST))), None)


def is_red(one):
    return one is not None and one["conclusion"] != "success"


def describe(one):
    return f"run {one['databaseId']} is {one['conclusion'] or one['status']}"


@tap.tool
async def ci_status() -> str:
    """How the latest CI run of the main branch went."""
    one = await latest()
    return f"{describe(one)}: {one['url']}" if one else "There is no run."


async def ci_log() -> str:
    """The end of the log of the CI run that is red now."""
    return (await run(LOG, str(red["databaseId"])))[-LOG_BYTES:]


async def offer_log(wanted):
    """The tool that reads the log is there only while there is something to read."""
    if wanted:
        tap.tool(ci_log)
    else:
        tap.remove_tool("ci_log")
    await tap.synced()


async def look():
    global last, red
    one = await latest()
    if one is None or one["status"] != "completed":
        return
    if last and one["databaseId"] == last["databaseId"]:
        return
    if is_red(one):
        red = one  # before there is a tool that asks for it
    changed = is_red(one) != is_red(last)
    if changed:
        await offer_log(is_red(one))
    loud = "inject" if is_red(one) else "surface"
    await stream.push(describe(one), level=loud if changed else "keep")
    last = one  # only now: a failed push is tried again


async def main():
    async with tap:
        while True:
            try:
                await look()
            except Exception as problem:
                print(problem, file=sys.stderr, flush=True)
            await asyncio.sleep(EVERY_S)


asyncio.run(main())
