"""Tools: what follows from a signature, calls, failures, cancels, changes."""

import asyncio
import enum
import json
import time
from dataclasses import dataclass
from typing import Annotated, Literal, Optional

import pytest
from copilot_tap import Call, Provider, TapError, ToolError
from copilot_tap.signatures import parameters_of, read_docstring
from copilot_tap.testing import CallFailed


class Unit(enum.Enum):
    CELSIUS = "c"
    KELVIN = "k"


@dataclass
class Place:
    city: str
    country: str = "CH"


def test_parameters_follow_from_type_hints_and_docstring():
    def forecast(
        place: Place,
        unit: Unit = Unit.CELSIUS,
        days: Annotated[int, "How many"] = 3,
        tags: Optional[list[str]] = None,
        mode: Literal["short", "long"] = "short",
        *,
        call: Call,
    ):
        """Says the weather.

        More of it.

        Args:
            place: Where,
                exactly
            days: Is overruled by the hint
        """

    schema = parameters_of(forecast)
    assert schema["required"] == ["place"]
    assert list(schema["properties"]) == ["place", "unit", "days", "tags", "mode"]
    assert schema["properties"] == {
        "place": {
            "description": "Where, exactly",
            "type": "object",
            "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
            "required": ["city"],
        },
        "unit": {"enum": ["c", "k"]},
        "days": {"type": "integer", "description": "How many", "default": 3},
        "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "mode": {"enum": ["short", "long"], "default": "short"},
    }
    assert read_docstring(forecast)[0] == "Says the weather.\n\nMore of it."


def test_a_hint_without_a_schema_is_refused_at_once():
    with pytest.raises(TypeError, match="`parameters` of its own"):

        @Provider("x").tool
        def odd(what: complex):
            pass


async def test_calls_with_arguments_of_the_hinted_types(kit):
    tap = Provider("weather", **kit.where)

    @tap.tool
    async def forecast(place: Place, unit: Unit = Unit.CELSIUS, *, call: Call) -> str:
        """Tomorrow."""
        assert (call.session, call.tool) == ("test", "forecast")
        return f"{place.city}, {place.country}: {unit.name}"

    @tap.tool(name="raw", description="JSON", parameters={"type": "object"})
    def whatever(**args):
        return {"given": args}

    async with tap:
        assert (await kit.tool("forecast"))["description"] == "Tomorrow."
        assert await kit.call("forecast", place={"city": "Bern"}) == "Bern, CH: CELSIUS"
        assert (await kit.call("forecast", place={"city": "Rom"}, unit="k")).endswith("KELVIN")
        assert json.loads(await kit.call("raw", a=1)) == {"given": {"a": 1}}
        with pytest.raises(CallFailed, match="unit: 'x' is not one of") as failed:
            await kit.call("forecast", place={"city": "Bern"}, unit="x")
        assert failed.value.code == "NOT_FOUND"
        with pytest.raises(CallFailed, match="'city' is a required property"):
            await kit.call("forecast", place={})


async def test_failures_have_the_code_and_text_that_was_raised(kit):
    tap = Provider("weather", **kit.where)

    @tap.tool(description="")
    def typed():
        raise ToolError("NOT_FOUND", "there is no Atlantis", retryable=True)

    @tap.tool(description="")
    async def plain():
        raise ValueError("no luck")

    @tap.tool(description="")
    async def unreadable():
        return float("nan")

    @tap.tool(description="")
    async def huge():
        return "x" * 6_000_000

    async with tap:
        await kit.tool("huge")
        wanted = {
            "typed": ("NOT_FOUND", "there is no Atlantis"),
            "plain": ("INTERNAL", "no luck"),
            "unreadable": ("INTERNAL", "JSON compliant"),
            "huge": ("PAYLOAD_TOO_LARGE", "6000002 bytes"),
        }
        for name, (code, text) in wanted.items():
            with pytest.raises(CallFailed, match=text) as failed:
                await kit.call(name)
            assert failed.value.code == code


async def test_a_file_is_as_large_as_it_likes(kit):
    tap = Provider("weather", **kit.where)
    text = "x" * 6_000_000

    @tap.tool(description="")
    async def log():
        return await tap.file("../log.txt", text, mime_type="text/plain")

    async with tap:
        await kit.tool("log")
        assert await kit.call("log") == text
        assert (tap.persist_dir / "log.txt").read_text() == text


async def test_progress_and_cancelling_of_a_coroutine_and_of_a_thread(kit):
    tap = Provider("slow", **kit.where)
    ended = []

    @tap.tool(description="")
    async def wait(*, call: Call):
        call.progress("waiting")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("coroutine")
            raise

    @tap.tool(description="")
    def work(*, call: Call):
        call.progress("working")
        while not call.cancelled:
            time.sleep(0.005)
        ended.append("thread")

    @tap.tool(description="", timeout=0.05)
    async def brief():
        await asyncio.sleep(60)

    async with tap:
        await kit.tool("brief")
        for name in ("wait", "work"):
            running = asyncio.ensure_future(kit.call(name))
            await kit.shows(f"{name}ing" if name == "work" else "waiting")
            running.cancel()
        while len(ended) < 2:
            await asyncio.sleep(0.01)
        assert sorted(ended) == ["coroutine", "thread"]
        with pytest.raises(CallFailed) as failed:
            await kit.call("brief")
        assert failed.value.code == "TIMEOUT"


async def test_a_cancelled_call_has_its_place_until_it_has_ended(kit):
    tap = Provider("narrow", **kit.where, concurrency=1)
    steps = []

    @tap.tool(description="")
    async def work(name: str, *, call: Call):
        steps.append(f"{name} begins")
        call.progress(name)
        try:
            await asyncio.sleep(60 if name == "first" else 0)
        finally:
            await asyncio.sleep(0.05)
            steps.append(f"{name} ends")

    async with tap:
        await kit.tool("work")
        first = asyncio.ensure_future(kit.call("work", name="first"))
        await kit.shows("first")
        second = asyncio.ensure_future(kit.call("work", name="second"))
        await asyncio.sleep(0)
        first.cancel()
        await second
        assert steps == ["first begins", "first ends", "second begins", "second ends"]


async def test_tools_come_change_and_go_while_it_is_connected(kit):
    tap = Provider("sheet", **kit.where)

    @tap.tool(name="open", description="first")
    async def first():
        return "1"

    async with tap:
        await kit.tool("open")

        @tap.tool(name="sum", description="")
        async def total():
            return 42

        tap.tool(first, name="open", description="second")
        await tap.synced()
        await kit.tool("sum")
        assert (await kit.tool("open"))["description"] == "second"
        tap.remove_tool("sum")
        await tap.synced()
        await kit.tool_gone("sum")

        tap.tool(first, name="tap_status", description="")
        with pytest.raises(TapError, match="Rename the tool") as refused:
            await tap.synced()
        assert refused.value.code == "TOOL_CONFLICT"
        assert await kit.call("open") == "1"


async def test_names_and_texts_may_be_in_any_script(kit):
    tap = Provider("気象 ☔ «Wetter»", **kit.where)

    @tap.tool(description="Grüße 👋🏽")
    async def say(text: str):
        return f"⟨{text}⟩"

    async with tap:
        assert (await kit.tool("say"))["description"] == "Grüße 👋🏽"
        assert await kit.call("say", text="Zürich 😀 \0") == "⟨Zürich 😀 \0⟩"
        await kit.shows("気象 ☔ «Wetter» connected")
