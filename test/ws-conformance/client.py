"""Python's websockets, driven from outside: an order a line on stdin, its answer a line on stdout."""

import asyncio
import json
import sys

import websockets

connections = {}


async def obey(order):
    ws = connections.get(order.get("connection"))
    what = order["do"]
    if what == "open":
        ws = await websockets.connect(order["url"], max_size=None)
        connections[order["id"]] = ws
        return {"connection": order["id"]}
    if what == "send":
        await ws.send(order["text"])
    elif what == "binary":
        await ws.send(bytes(order["size"]))
    elif what == "fragments":
        await ws.send(order["pieces"])  # a list goes out as one message, a frame for each
    elif what == "ping":
        await asyncio.wait_for(await ws.ping("are you there?"), 30)
    elif what == "next":
        return {"text": await ws.recv()}
    elif what == "close":
        await ws.close(order["code"], order["reason"])
    elif what == "ended":
        await ws.wait_closed()
        return {"code": ws.close_code, "reason": ws.close_reason}
    return {}


async def answer(order):
    try:
        said = await obey(order)
    except Exception as error:  # the test decides what it means
        said = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"id": order["id"], **said}), flush=True)


async def main():
    loop = asyncio.get_running_loop()
    orders = asyncio.StreamReader(limit=2**26)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    tasks = set()
    while line := await orders.readline():
        task = asyncio.create_task(answer(json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


asyncio.run(main())
