"""Pushes, streams, hooks, session events."""

import asyncio

import pytest
from copilot_tap import Provider, Receipt, TapError


async def test_a_push_is_answered_by_what_became_of_it(kit):
    async with Provider("ci", **kit.where) as tap:
        assert await tap.push("builds", {"number": 7}) == Receipt("stored", "test")
        shown = await tap.push("builds", "214 is red", level="surface", metadata={"number": 214})
        assert shown.outcome == "surfaced"
        await kit.shows("tap: ci/builds: 214 is red")
        latest, before = await tap.stream("builds").history(last=2)
        assert latest["metadata"] == {"number": 214}
        assert before["event"] == '{"number": 7}'
        with pytest.raises(TapError) as refused:
            await tap.push("", "no name")
        assert refused.value.code == "INVALID_JSON"


async def test_a_filter_holds_after_a_reconnect(kit):
    tap = Provider("ci", **kit.where)
    bound = asyncio.Queue()
    tap.on("bound", bound.put)
    async with tap:
        stream = tap.stream("log")
        await stream.filter([{"match": "^DEBUG", "outcome": "drop"}])
        assert await stream.push("DEBUG x", level="surface") == Receipt("dropped", "test", 0)
        with pytest.raises(TapError):
            await stream.filter([{"match": "(", "outcome": "drop"}])
        await bound.get()
        await kit.restart_gateway()
        await bound.get()
        assert (await stream.push("DEBUG x", level="surface")).outcome == "dropped"


async def test_a_refused_filter_stops_neither_later_ones_nor_tools(kit):
    tap = Provider("ci", **kit.where)
    errors = asyncio.Queue()
    tap.on("error", errors.put)
    await tap.stream("bad").filter([{"match": "(", "outcome": "drop"}])
    await tap.stream("good").filter([{"match": "^DEBUG", "outcome": "drop"}])
    tap.on("bound", lambda _: tap.tool(lambda: 1, name="late", description="", parameters={}))
    async with tap:
        assert (await errors.get()).code == "INVALID_JSON"
        await kit.tool("late")
        assert (await tap.push("good", "DEBUG x", level="surface")).outcome == "dropped"


async def test_too_many_pushes_are_refused_one_by_one(kit):
    tap = Provider("flood", **kit.where)

    @tap.tool(description="")
    async def alive():
        return "yes"

    async with tap:
        await kit.tool("alive")
        pushes = (tap.push("flood", f"event {number}") for number in range(2000))
        outcomes = await asyncio.gather(*pushes, return_exceptions=True)
        refused = [one for one in outcomes if isinstance(one, TapError)]
        assert len(refused) > 1900
        assert {one.code for one in refused} == {"RATE_LIMITED"}
        assert await kit.call("alive") == "yes"


async def test_hooks_before_and_after_connecting(kit):
    tap = Provider("ci", **kit.where)
    errors = []
    tap.on("error", errors.append)
    tap.deny("Force-pushes are not allowed here.", tool="shell", args="--force")
    verdict = [True]

    @tap.gate(tool="shell", args="git push")
    async def judge(check):
        assert check == {"tool": "shell", "args": {"command": "git push"}, "session": "test"}
        if isinstance(verdict[0], Exception):
            raise verdict[0]
        return verdict[0]

    async def push(more=""):
        args = {"command": f"git push{more}"}
        return await kit.ask("check", tool="bash", args=args)

    async with tap:
        assert "Force-pushes are not allowed here." in (await push(" --force"))["deny"]
        assert await push() == {}
        for answer, reason in (
            ("CI is red", "CI is red"),
            (None, "has not allowed it"),
            ({"decision": "maybe"}, "has not allowed it"),
            (ValueError("CI is away"), "CI is away"),
        ):
            verdict[0] = answer
            assert reason in (await push())["deny"]
        assert len(errors) == 1

        remove = tap.note("Migrations are append-only.", tool="edit", file="*.sql")
        await tap.synced()
        edit = {"tool": "edit", "args": {"path": "/db/1.sql"}}
        assert "append-only" in (await kit.ask("check", **edit))["context"]
        remove()
        await tap.synced()
        assert await kit.ask("check", **edit) == {}

        tap.context("CI is red.")
        tap.section("code_change_rules", lambda current: f"{current}\nThe freeze is on.")
        await tap.synced()
        assert "CI is red." in await kit.ask("prompt")
        built = await kit.ask("build", section="code_change_rules", current="Be careful.")
        assert built == "Be careful.\nThe freeze is on."


async def test_a_refused_rule_is_taken_out_and_what_was_told_beside_it_holds(kit):
    tap = Provider("ci", **kit.where)
    errors, bound = [], asyncio.Queue()
    tap.on("error", errors.append)
    tap.on("bound", bound.put)
    tap.section("code_change_rules", lambda current: f"{current} Then test.")
    remove = tap.deny("Removals are not allowed.", tool="shell", args="rm")
    removal = {"tool": "bash", "args": {"command": "rm x"}}

    async def in_force():
        assert "Removals are not" in (await kit.ask("check", **removal))["deny"]
        built = await kit.ask("build", section="code_change_rules", current="Be careful.")
        assert built == "Be careful. Then test."
        assert "It is Tuesday." in await kit.ask("prompt")

    async with tap:
        await bound.get()
        remove()
        tap.deny("odd", tool="shell", args="(")
        tap.section("code_change_rules", "append", "x")
        tap.context("It is Tuesday.")
        with pytest.raises(TapError) as refused:
            await tap.synced()
        assert refused.value.code == "INVALID_JSON"
        await in_force()
        tap.note("later", tool="edit")
        await tap.synced()
        await in_force()
        await kit.restart_gateway()
        await bound.get()
        await in_force()
        tap.context("x" * 1_000_000)
        with pytest.raises(TapError):
            await tap.synced()
        await tap.synced()
        await in_force()
    assert errors == []


async def test_events_of_the_session(kit):
    tap = Provider("watcher", **kit.where)
    heard = asyncio.Queue()

    @tap.on("user.message")
    async def on_prompt(event):
        await heard.put(event)

    async with tap:
        await kit.ask("wanted", event="user.message")
        await kit.ask("report", event="user.message", data={"content": "fix it"})
        assert await heard.get() == {"session": "test", "content": "fix it"}
        with pytest.raises(RuntimeError, match="before connect"):
            tap.on("assistant.message", print)
