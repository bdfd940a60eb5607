"""A different program has the gateway's port."""

import asyncio
import json

import pytest
import websockets
from copilot_tap import Provider

STRANGE = ["hello", "", "null", "[]", "5", "{}", '{"type":7}', bytes([0, 255, 1]), "[" * 100_000]


@pytest.mark.parametrize("bound", [False, True])
async def test_outlives_another_program_on_the_port_whatever_it_sends(bound):
    first = [
        {"type": "sessions", "active": [{"id": "s", "label": "a session", "cwd": "/"}]},
        {"type": "hello.ack", "providerId": "p", "sessionId": "s", "reconnectToken": "r"},
    ]
    for text in STRANGE:

        async def stranger(socket, *_path, text=text):
            for message in first if bound else []:
                await socket.send(json.dumps(message))
            await socket.send(text)
            await socket.wait_closed()

        async with websockets.serve(stranger, "127.0.0.1", 0) as server:
            tap = Provider("lost", port=server.sockets[0].getsockname()[1], token="any")
            said = []
            tap.on("status", said.append)
            running = asyncio.ensure_future(tap.run())
            for _ in range(1000):
                if any("not a tap gateway" in status for status in said):
                    break
                await asyncio.sleep(0.01)
            assert any("not a tap gateway" in status for status in said), said
            assert not running.done()
            await tap.close()
            await running
