"""Whatever a user's function does, the call is answered once, and its author reads why."""

import asyncio
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Literal, Optional

import pytest
from copilot_tap import Call, Provider, ToolError
from copilot_tap.testing import CallFailed


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Odd(BaseException):
    pass


def raiser(what):
    def now():
        raise what

    return now


async def failure_of(kit, tool, **args):
    with pytest.raises(CallFailed) as failed:
        await asyncio.wait_for(kit.call(tool, **args), 10)
    return failed.value


RAISED = {
    "key": (KeyError("nope"), "INTERNAL: KeyError: 'nope'."),
    "plain": (Exception("no luck"), "INTERNAL: no luck."),
    "silent": (RuntimeError(), "INTERNAL: RuntimeError."),
    "mute": (Mute(), "INTERNAL: Mute, whose text cannot be had."),
    "odd": (Odd("base"), "Odd: base."),
    "cancelled": (asyncio.CancelledError(), "CancelledError."),
    "long": (ValueError("x" * 6_000_000), "INTERNAL: ValueError: xxx"),
    "numbered": (ToolError(404, "gone"), "INTERNAL: gone."),
    "exit": (SystemExit(3), "SystemExit: 3."),
}


async def test_a_call_is_answered_whatever_its_function_raises(kit, capfd):
    tap = Provider("odd", **kit.where, concurrency=1)  # a place that is kept would show
    for name, (error, _) in RAISED.items():
        tap.tool(raiser(error), name=f"thread_{name}", description="")
        if name != "exit":  # that of a coroutine ends the program

            async def raising(error=error):
                raise error

            tap.tool(raising, name=f"async_{name}", description="", parameters={"type": "object"})
    async with tap:
        await kit.tool("thread_exit")
        for name, (_, text) in RAISED.items():
            for kind in ("thread", "async") if name != "exit" else ("thread",):
                failed = await failure_of(kit, f"{kind}_{name}")
                assert failed.code == "INTERNAL"
                assert text in str(failed)
        assert not tap._calls._running


async def test_a_call_is_answered_whatever_its_function_makes_of_its_arguments(kit, capfd):
    tap = Provider("odd", **kit.where, concurrency=1)

    @tap.tool(description="")
    async def loop(items: list):
        items.append(items)
        raise ValueError("no luck")

    @tap.tool(description="")
    def odd(items: list):
        items.append(object())
        raise ValueError("no luck")

    async with tap:
        await kit.tool("odd")
        for name in ("loop", "odd"):
            failed = await failure_of(kit, name, items=[1])
            assert "ValueError: no luck" in str(failed)
        assert not tap._calls._running
    assert "loop (its arguments, changed by the tool, are not JSON)" in capfd.readouterr().err


async def test_a_result_that_was_not_awaited_is_named(kit, capfd):
    tap = Provider("hasty", **kit.where)

    async def fetch():
        return "rain"

    @tap.tool(description="")
    async def forecast():
        return fetch()

    async with tap:
        await kit.tool("forecast")
        failed = await failure_of(kit, "forecast")
    assert "the tool returned a coroutine: is an await missing?" in str(failed)


async def test_a_function_that_cancels_itself_is_answered(kit, capfd):
    tap = Provider("odd", **kit.where, concurrency=1)

    @tap.tool(description="")
    async def itself():
        asyncio.current_task().cancel()
        await asyncio.sleep(60)

    @tap.tool(description="")
    async def late(*, call: Call):
        call.progress("almost")
        asyncio.current_task().cancel()
        return "done"

    @tap.tool(description="")
    async def other():
        waiting = asyncio.ensure_future(asyncio.sleep(60))
        waiting.cancel()
        await waiting

    async with tap:
        await kit.tool("other")
        for _ in range(2):
            assert "CancelledError" in str(await failure_of(kit, "itself"))
            assert "CancelledError" in str(await failure_of(kit, "other"))
            assert await asyncio.wait_for(kit.call("late"), 10) == "done"


async def test_a_cancel_before_the_function_runs_and_with_its_last_progress_is_answered(kit):
    tap = Provider("slow", **kit.where)
    begun = []

    @tap.tool(description="")
    async def work(*, call: Call):
        begun.append(call.id)
        call.progress("the last")
        return "done"

    answers = []
    async with tap:
        await kit.tool("work")
        send = tap._connection.send

        async def slowly(message):
            if message["type"] == "tool.progress":
                tap._calls.cancel({"id": message["id"]})
                await asyncio.sleep(0.05)
            if message["type"] == "tool.result":
                answers.append(message)
            await send(message)

        tap._connection.send = slowly
        failed = asyncio.ensure_future(kit.call("work"))
        while not answers:
            await asyncio.sleep(0.01)
        assert answers[0]["errorCode"] == "CANCELLED"
        with pytest.raises(CallFailed):
            await failed
        tap._calls.start({"id": "early", "sessionId": "test", "tool": "work", "args": {}})
        tap._calls.cancel({"id": "early"})
        while len(answers) < 2:
            await asyncio.sleep(0.01)
        assert (answers[1]["id"], answers[1]["errorCode"]) == ("early", "CANCELLED")
        assert "early" not in begun
        assert not tap._calls._running


async def test_a_tool_that_is_taken_away_can_still_be_cancelled(kit):
    tap = Provider("slow", **kit.where)
    ended = asyncio.Event()

    @tap.tool(description="")
    async def wait(*, call: Call):
        tap.remove_tool("wait")
        call.progress("waiting")
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with tap:
        await kit.tool("wait")
        running = asyncio.ensure_future(kit.call("wait"))
        await kit.shows("waiting")
        running.cancel()
        await asyncio.wait_for(ended.wait(), 10)


async def test_arguments_that_do_not_fit_are_told_in_words(kit, capfd):
    tap = Provider("die", **kit.where)

    @tap.tool(description="")
    async def greet(
        name: str, times: int = 1, unit: Literal["c", "k"] = "c", tag: Optional[str] = None
    ):
        return "hello"

    async with tap:
        await kit.tool("greet")
        for args, text in (
            ({}, 'greet needs "name" (text)'),
            ({"name": 7}, 'greet needs "name" to be text, not 7'),
            ({"name": "", "times": 1.5}, 'greet needs "times" to be a whole number, not 1.5'),
            ({"name": "", "unit": "x"}, 'greet needs "unit" to be one of "c", "k", not "x"'),
            ({"name": "", "tag": 1}, 'greet needs "tag" to be text or null, not 1'),
            ({"name": ["x" * 99]}, 'greet needs "name" to be text, not a list'),
            ({"gift": 1}, 'greet does not take "gift"; needs "name" (text)'),
        ):
            failed = await failure_of(kit, "greet", **args)
            assert failed.code == "INVALID_ARGUMENTS"
            start = "Provider \"die\" failed with INVALID_ARGUMENTS: "
            assert str(failed) == f"{start}{text}. Check the arguments, then call again."
    assert capfd.readouterr().err == ""  # that is the model's mistake


async def test_the_author_reads_which_call_has_failed_and_where(kit, capfd):
    tap = Provider("slow", **kit.where)

    @tap.tool(description="", parameters={"type": "object"})
    async def boom(**_):
        raise KeyError("nope\x1b[2J") from ValueError("the cause\u202e")

    @tap.tool(description="")
    def in_a_thread():
        raise Mute

    @tap.tool(description="")
    async def meant():
        raise ToolError("NOT_FOUND", "nobody is there")

    async with tap:
        await kit.tool("meant")
        await failure_of(kit, "meant")
        assert capfd.readouterr().err == ""
        await failure_of(kit, "boom", a="\x1b[2J", long="y" * 500)
        said = capfd.readouterr().err
        lines = said.splitlines()
        assert lines[0].startswith('provider slow: boom {"a":"\\u001b[2J","long":"yyy')
        assert lines[0].endswith("y… failed:") and len(lines[0]) < 300
        assert "ValueError: the cause\\u{202e}" in said
        assert f'File "{__file__}", line' in said and "in boom" in said
        assert lines[-1] == "KeyError: 'nope\\x1b[2J'"
        await failure_of(kit, "in_a_thread")
        said = capfd.readouterr().err
        assert said.startswith("provider slow: in_a_thread {} failed:\nTraceback")
        assert "in in_a_thread" in said
        heard = []
        tap.on("error", heard.append)
        await failure_of(kit, "boom")
        await asyncio.sleep(0.01)
        assert isinstance(heard[0], KeyError)
        assert capfd.readouterr().err == ""


async def test_the_author_reads_what_gates_sections_and_listeners_raise(kit, capfd):
    tap = Provider("hooked", **kit.where)
    tap.gate(tool="bash")(lambda check: raiser(Mute())())
    tap.gate(tool="view")(lambda check: raiser(asyncio.CancelledError())())
    tap.gate(tool="read")(lambda check: {"decision": "deny", "reason": object()})
    tap.section("code_change_rules", lambda current: raiser(OSError("of the section"))())
    tap.on("session.idle", lambda event: raiser(OSError("of the listener"))())
    tap.on("bound", lambda event: None)
    async with tap:
        await tap.synced()
        while not (await kit.ask("check", tool="read", args={})).get("deny"):
            await asyncio.sleep(0.01)
        deny = (await kit.ask("check", tool="bash", args={"command": "ls"}))["deny"]
        assert "the gate failed: Mute, whose text cannot be had" in deny
        deny = (await kit.ask("check", tool="view", args={}))["deny"]
        assert "the gate failed: CancelledError" in deny
        await kit.ask("build", section="code_change_rules", current="text")
        await kit.ask("become", activity="user-prompt")
        await kit.ask("become", activity="idle")
        said = ""
        while "of the listener" not in said:
            said += capfd.readouterr().err
            await asyncio.sleep(0.01)
        for head, error in (
            ('the gate of bash {"command":"ls"}', "Mute: <exception str() failed>"),
            ("the function of section code_change_rules", "OSError: of the section"),
            ('on("session.idle")', "OSError: of the listener"),
        ):
            at = said.index(f"provider hooked: {head} failed:\nTraceback")
            assert error in said[at:]


async def test_an_exit_in_a_coroutine_is_answered_and_then_ends_the_program(kit):
    program = """
        import sys
        from copilot_tap import Provider
        tap = Provider("brief")

        @tap.tool(description="")
        async def leave():
            sys.exit(3)

        tap.main()
    """
    env = {**os.environ, **kit.env, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    child = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    try:
        await kit.tool("leave")
        assert "SystemExit: 3" in str(await failure_of(kit, "leave"))
        _, said = await asyncio.get_running_loop().run_in_executor(None, child.communicate)
        assert child.returncode == 3
    finally:
        child.kill()
