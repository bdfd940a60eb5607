"""Waiting, reconnecting, following sessions, pairing, refusals, closing."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from copilot_tap import Call, Provider, TapError
from copilot_tap.testing import CallFailed, start_tap
from copilot_tap.where import Whereabouts


def make(kit, name, **options):
    tap = Provider(name, **{**kit.where, **options})
    tap.said = []
    tap.bindings = asyncio.Queue()
    tap.on("status", tap.said.append)
    tap.on("bound", tap.bindings.put)

    @tap.tool(name=f"who_{name}", description="Says its name")
    async def who(*, call: Call):
        return f"{name} in {call.session}"

    return tap


async def until(look):
    async def wait():
        while not look():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(wait(), 15)


async def test_waits_for_a_gateway_and_comes_back_to_a_new_one(kit):
    await kit.ask("killGateway")
    tap = make(kit, "loyal")
    connecting = asyncio.ensure_future(tap.connect())
    await until(lambda: tap.said == ["waiting for a gateway (the gateway is not there)"])
    await kit.restart_gateway()
    await connecting
    started = asyncio.Event()
    lost = []
    tap.on("unbound", lost.append)

    @tap.tool(description="")
    async def hang():
        started.set()
        await asyncio.sleep(60)

    await tap.synced()
    await kit.tool("hang")
    call = asyncio.ensure_future(kit.call("hang"))
    await started.wait()
    await tap.bindings.get()
    await kit.restart_gateway()
    with pytest.raises(CallFailed) as failed:
        await call
    assert failed.value.code == "DISCONNECTED"
    await tap.bindings.get()
    await kit.tool("who_loyal")
    assert await kit.call("who_loyal") == "loyal in test"
    assert [error.code for error in lost] == ["DISCONNECTED"]
    await tap.close()


async def test_follows_when_its_session_ends(kit):
    tap = make(kit, "follower")
    steps = []

    @tap.on("session.end")
    async def clean_up(event):
        await asyncio.sleep(0.05)
        steps.append(event)

    async with tap:
        await kit.tool("who_follower")
        await kit.ask("addSession", name="second")
        await kit.ask("endSession")
        await kit.ask("use", session="second")
        await kit.tool("who_follower")
        assert steps == [{"session": "test", "deadline": 3.0}]
        assert await kit.call("who_follower") == "follower in second"
        assert tap.sessions == {"second"}


async def test_a_listener_of_session_end_has_until_the_deadline(kit):
    tap = make(kit, "follower")
    errors, ended = [], []
    tap.on("error", errors.append)

    @tap.on("session.end")
    async def never_ready(event):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(event["session"])

    async with tap:
        await kit.tool("who_follower")
        await kit.ask("addSession", name="second")
        await kit.ask("endSession")
        await kit.ask("use", session="second")
        await kit.tool("who_follower")
        assert tap.sessions == {"second"}
        assert ended == ["test"]
        assert any("session.end: a listener took too long" in str(error) for error in errors)


async def test_a_farewell_to_a_session_is_not_said_on_a_later_connection(kit):
    tap = make(kit, "follower")
    begun, go_on = asyncio.Event(), asyncio.Event()
    unbound = []
    tap.on("unbound", unbound.append)

    @tap.on("session.end")
    async def slow(event):
        begun.set()
        await go_on.wait()

    async with tap:
        await tap.bindings.get()
        await kit.ask("endSession")
        await begun.wait()
        await kit.restart_gateway()
        await kit.ask("addSession", name="test")
        await kit.ask("use", session="test")
        await tap.bindings.get()
        await kit.tool("who_follower")
        go_on.set()
        await asyncio.sleep(0.2)
        assert await kit.call("who_follower") == "follower in test"
        assert tap.sessions == {"test"}
        assert len(unbound) == 1


async def test_a_token_that_is_void_after_a_restart_is_told(kit):
    folder = Path(kit.env["COPILOT_HOME"]) / "extensions" / "tap"
    token = (folder / ".provider-token").read_text().strip()
    tap = make(kit, "loyal", token=token)
    errors = asyncio.Queue()
    tap.on("error", errors.put)
    with pytest.raises(TapError) as void:
        async with tap:
            await kit.restart_gateway()
            assert (await errors.get()).code == "AUTH_FAILED"
    assert void.value.code == "AUTH_FAILED"
    with pytest.raises(KeyError):
        async with make(kit, "own", token=(folder / ".provider-token").read_text().strip()):
            raise KeyError("its own error comes first")


async def test_run_returns_when_closed_and_is_cancelled_when_cancelled(kit):
    tap = make(kit, "runner", session="unknown")
    running = asyncio.ensure_future(tap.run())
    await until(lambda: tap.said and "waiting for a session" in tap.said[-1])
    connecting = asyncio.ensure_future(tap.connect())
    await asyncio.sleep(0)
    await tap.close()
    assert await running is None
    with pytest.raises(TapError, match="the provider was closed"):
        await connecting

    tap = make(kit, "runner")
    running = asyncio.ensure_future(tap.run())
    await tap.bindings.get()
    await tap.close()
    assert await running is None
    tap = make(kit, "runner")
    running = asyncio.ensure_future(tap.run())
    await tap.bindings.get()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await kit.shows("tap: runner left")


async def test_all_sessions_also_later_ones(kit):
    async with make(kit, "everywhere", session="all") as tap:
        await kit.tool("who_everywhere")
        assert (await tap.push("news", "hello")).session == "test"
        await kit.ask("addSession", name="later")
        await kit.ask("use", session="later")
        await kit.tool("who_everywhere")
        assert await kit.call("who_everywhere") == "everywhere in later"
        await kit.ask("endSession", session="test")
        await kit.ask("endSession", session="later")
        await until(lambda: not tap.sessions)
        assert await tap.push("news", "no session") is None


async def test_tells_what_was_declared_while_its_hello_was_on_its_way(kit):
    def late():
        tap.tool(lambda: "in time", name="late", description="", parameters={"type": "object"})
        tap.context("It is late.")

    def choose(sessions):
        asyncio.get_running_loop().call_soon(late)
        return sessions[0]["id"]

    tap = make(kit, "busy", session=choose)
    async with tap:
        await kit.tool("late")
        while "It is late." not in (await kit.ask("prompt") or ""):
            await asyncio.sleep(0.01)


async def test_instances(kit):
    left, right = (Provider("editor", **kit.where, instance=one) for one in ("left", "right"))
    for tap, answer in ((left, "on the left"), (right, "on the right")):
        tap.tool(lambda answer=answer: answer, name="where", description="", parameters={})
    async with left, right:
        await kit.tool("list_editor_instances")
        assert await kit.call("where", target="left") == "on the left"
        assert await kit.call("where", target="right") == "on the right"


async def test_pairs_where_there_is_no_token(kit, tmp_path):
    def codes():
        return re.findall(r"\b\d{6}\b", " ".join(event["text"] for event in kit.events))

    prompts = []

    async def pair(prompt):
        prompts.append(prompt)
        await until(lambda: len(codes()) == len(prompts))
        return "wrong" if len(prompts) == 1 else f" {codes()[-1]}\n"

    async with make(kit, "page", pair=pair, home=tmp_path) as tap:
        assert len(prompts) == 2
        assert tap.persist_dir is None
        await kit.tool("who_page")
        tap.context("x")
        with pytest.raises(TapError) as refused:
            await tap.synced()
        assert refused.value.code == "UNAUTHORIZED"


async def test_refusals_say_what_to_do(kit, tmp_path):
    async with make(kit, "weather"):
        with pytest.raises(TapError) as refused:
            await make(kit, "weather").connect()
        assert refused.value.code == "DUPLICATE_INSTANCE"
    with pytest.raises(TapError, match="TAP_PROVIDER_TOKEN"):
        await make(kit, "wrong", token="ptk-wrong").connect()
    with pytest.raises(TapError, match="not bound"):
        await make(kit, "early").push("x", "y")

    folder = tmp_path / "extensions" / "tap"
    folder.mkdir(parents=True)
    (folder / ".provider-token").write_text("ptk-of-another")
    lost = make(kit, "lost", home=tmp_path)
    errors = asyncio.Queue()
    lost.on("error", errors.put)
    connecting = asyncio.ensure_future(lost.connect())
    assert (await errors.get()).code == "AUTH_FAILED"
    connecting.cancel()
    await asyncio.wait({connecting})


async def test_a_program_ends_by_a_signal_and_says_goodbye(kit, tmp_path):
    program = tmp_path / "brief.py"
    program.write_text(
        "from copilot_tap import Provider\n"
        "tap = Provider('brief')\n"
        "tap.on('status', lambda text: print(text, flush=True))\n"
        "@tap.tool\n"
        "def brief() -> str:\n"
        "    'Says something.'\n"
        "    return 'x'\n"
        "tap.main()\n"
    )
    sdk = Path(__file__).parents[1]
    paths = [str(sdk), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, **kit.env, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    process = subprocess.Popen([sys.executable, program], env=env)
    await kit.shows("tap: brief is here: brief")
    process.terminate()
    assert await asyncio.to_thread(process.wait, 10) == 0
    await kit.shows("tap: brief left")


async def test_a_program_ends_while_a_tool_sleeps_in_its_thread(kit, tmp_path):
    program = tmp_path / "sleepy.py"
    program.write_text(
        "import time\n"
        "from copilot_tap import Call, Provider\n"
        "tap = Provider('sleepy')\n"
        "@tap.tool\n"
        "def doze(*, call: Call):\n"
        "    call.progress('dozing')\n"
        "    time.sleep(60)\n"
        "tap.main()\n"
    )
    sdk = Path(__file__).parents[1]
    env = {**os.environ, **kit.env, "PYTHONPATH": str(sdk)}
    process = subprocess.Popen([sys.executable, program], env=env)
    await kit.tool("doze")
    call = asyncio.ensure_future(kit.call("doze"))
    await kit.shows("dozing")
    process.send_signal(signal.SIGINT)
    assert await asyncio.to_thread(process.wait, 10) == 0
    with pytest.raises(CallFailed):
        await call


async def test_the_kit_says_that_its_gateway_has_ended():
    async with start_tap() as kit:
        waiting = asyncio.ensure_future(kit.ask("tool", name="none"))
        await asyncio.sleep(0)
        kit._process.terminate()
        for question in (waiting, kit.ask("prompt")):
            with pytest.raises((RuntimeError, CallFailed)):
                await question
        await until(lambda: kit._ended)
        with pytest.raises(RuntimeError, match="has ended"):
            await kit.ask("prompt")


async def test_of_a_gateway_that_hangs_it_can_leave(kit):
    tap = make(kit, "patient")
    await tap.connect()
    folder = Path(kit.env["COPILOT_HOME"]) / "extensions" / "tap"
    (descriptor,) = folder.glob(".gateway-*.json")
    pid = json.loads(descriptor.read_text())["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        text = "x" * 1_000_000
        pushes = [asyncio.ensure_future(tap.push("big", text)) for _ in range(30)]
        await asyncio.sleep(0.2)
        begun = time.monotonic()
        await tap.close()
        assert time.monotonic() - begun < 4
        outcomes = await asyncio.gather(*pushes, return_exceptions=True)
        assert {one.code for one in outcomes} == {"DISCONNECTED"}
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("text", ["94OO", "0", "65536", "-1", "1e3", " 9400", "0x24B8", "9400.0", "\u0669"])
def test_a_port_is_decimal_digits(monkeypatch, text):
    monkeypatch.setenv("TAP_GATEWAY_PORT", text)
    with pytest.raises(ValueError, match="is not a port"):
        Whereabouts(None, None, None, None)
    assert Whereabouts(None, 9401, None, None).url == "ws://localhost:9401"
    assert Whereabouts("ws://x", None, None, None).url == "ws://x"


async def test_follows_an_offer_unless_it_has_chosen_its_session(kit):
    guest = make(kit, "guest")
    fixed = make(kit, "fixed", session="test")
    for tap in (guest, fixed):
        await tap.connect()
        await tap.bindings.get()
    await kit.ask("addSession", name="other")
    moved = []
    guest.on("unbound", moved.append)
    command = Path(__file__).parents[3] / "js" / "cli" / "cli.mjs"
    for name, code in (("guest", 0), ("fixed", 1)):
        words = ["node", command, "use", name, "--session", "other"]
        process = await asyncio.create_subprocess_exec(*words, env={**os.environ, **kit.env})
        assert await process.wait() == code
    assert (await guest.bindings.get())["session"] == "other"
    assert "moved" in str(moved[0])
    assert fixed.bindings.empty()
    await guest.close()
    await fixed.close()
