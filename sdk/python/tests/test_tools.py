"""Tools: schemas from signatures, calls, failures, cancels, changes."""

import asyncio
import datetime
import enum
import json
import time
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Optional, Union

import pytest
from copilot_tap import Call, Provider, TapError, ToolError
from copilot_tap.plain import to_json
from copilot_tap.signatures import create_parameters, read_docstring
from copilot_tap.testing import CallFailed
from copilot_tap.tools import make_tool


class Unit(enum.Enum):
    CELSIUS = "c"
    KELVIN = "k"


@dataclass
class Place:
    city: str
    country: str = "CH"


def test_parameters_that_are_no_object_are_refused_at_once():
    tap = Provider("wrong")
    for parameters in ({"city": {"type": "string"}}, {"type": "array"}):
        with pytest.raises(ValueError, match="tool late: parameters must be a JSON Schema of an ob"):
            tap.tool(lambda: 1, name="late", parameters=parameters)


CAT = {"properties": {"kind": {"const": "cat"}, "n": {"type": "number"}}, "required": ["n"]}
DOG = {
    "type": "object",
    "properties": {"kind": {"const": "dog"}, "m": {"type": "string"}},
    "additionalProperties": False,
}


def accept(value, schema, **more):
    parameters = {"type": "object", "properties": {"größe %": schema}, **more}
    tool = make_tool(lambda **given: given, "t", "", parameters, None)
    return tool.arguments({"größe %": value})["größe %"]


def refusal(value, schema, **more):
    with pytest.raises(ToolError) as refused:
        accept(value, schema, **more)
    assert refused.value.code == "INVALID_ARGUMENTS"
    return str(refused.value)


def test_a_schema_may_have_the_bounds_of_older_drafts():
    bounds = {"minimum": 1, "exclusiveMinimum": False, "maximum": 9, "exclusiveMaximum": True}
    for more in ({}, {"$schema": "http://json-schema.org/draft-04/schema#"}):
        assert accept(1, bounds, **more) == 1
        assert "9" in refusal(9, bounds, **more)


def test_a_union_has_the_problems_of_the_way_that_is_meant_else_of_each():
    union = {"anyOf": [CAT, DOG]}
    assert refusal({"kind": "cat"}, union).endswith('t needs "größe %.n" (a number)')
    assert refusal({"kind": "dog", "x": 1}, union).endswith('t does not take "größe %.x"')
    assert '"cat"' in refusal({"kind": "cow"}, union) and '"dog"' in refusal({"kind": "cow"}, union)
    either = {"oneOf": [{"type": "number"}, {"type": "integer"}, DOG]}
    assert "to be a number or a whole number or an object" in refusal("x", either)
    assert "valid under each" in refusal(7, either)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"^\p{L}"},
        {"items": {"patternProperties": {"(": {}}}},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#/type"},
        {"$ref": "#/$defs/loop"},
        {"anyOf": [{"$ref": "other.json"}]},
    ],
)
def test_a_schema_that_no_call_can_be_checked_with_is_refused_at_once(schema):
    with pytest.raises(ValueError, match="^tool t: parameters: "):
        accept(1, schema, **{"$defs": {"loop": {"$ref": "#/$defs/loop"}}})


def test_references_within_a_schema_are_followed():
    definitions = {"größe": {"$id": "size.json", "$anchor": "size", "type": "number"}}
    for reference in ("#/$defs/gr%C3%B6%C3%9Fe", "#/$defs/größe", "size.json"):
        why = refusal("x", {"$ref": reference}, **{"$defs": definitions})
        assert why.endswith('to be a number, not "x"')
    assert "an object" in refusal(7, {"$ref": "#"})


def test_returned_values_are_converted_in_the_usual_way_else_refused_by_their_type():
    class Model:
        def model_dump(self, mode):
            return {"mode": mode}

    moment = datetime.datetime(2026, 1, 2, 3, 4)
    values = [moment, Decimal("1.50"), uuid.UUID(int=1), Path("/x"), Unit.KELVIN, {1}]
    assert json.loads(to_json([*values, Place("Bern"), Model()])) == [
        *("2026-01-02T03:04:00", "1.50", str(uuid.UUID(int=1)), "/x", "k", [1]),
        *({"city": "Bern", "country": "CH"}, {"mode": "json"}),
    ]
    for value, kind in ((iter([]), "list_iterator"), (b"x", "bytes"), (ValueError(), "ValueError")):
        with pytest.raises(TypeError, match=f"of the type {kind}, which is no JSON"):
            to_json({"inner": [value]})


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

    schema = create_parameters(forecast)
    assert schema["required"] == ["place"]
    assert list(schema["properties"]) == ["place", "unit", "days", "tags", "mode"]
    assert schema["properties"] == {
        "place": {
            "description": "Where, exactly",
            "type": "object",
            "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
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


class Person:
    """A stand-in for a model of pydantic."""

    def __init__(self, name):
        self.name = name

    @staticmethod
    def model_json_schema():
        name = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        schema = {"type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}}}
        return {**schema, "required": ["name"], "$defs": {"Name": name}}

    @classmethod
    def model_validate(cls, value):
        return cls(value["name"]["text"])


class Namesake(Person):
    @staticmethod
    def model_json_schema():
        return {"$ref": "#/$defs/Name", "$defs": {"Name": {"type": "string"}}}


def test_what_a_model_refers_to_is_at_the_root_of_the_schema():
    def invite(guests: list[Person], host: Optional[Person] = None):
        pass

    schema = create_parameters(invite)
    assert schema["$defs"] == Person.model_json_schema()["$defs"]
    assert json.dumps(schema).count("$defs") == 3

    def both(one: Person, other: Namesake):
        pass

    with pytest.raises(TypeError, match="two models are named Name"):
        create_parameters(both)


async def test_nested_arguments_are_of_the_hinted_types(kit):
    tap = Provider("party", **kit.where)
    got = []

    @tap.tool(description="")
    async def invite(
        guests: list[Person],
        unit: Optional[Unit] = None,
        place: Union[Place, str, None] = None,
        rooms: Optional[dict[str, Place]] = None,
        pair: tuple[Unit, int] = (Unit.KELVIN, 1),
        units: tuple[Unit, ...] = (),
        seen: Optional[set[Unit]] = None,
    ):
        got.append((unit, place, rooms, pair, units, seen))
        return ", ".join(guest.name for guest in guests)

    async with tap:
        await kit.tool("invite")
        guests = [{"name": {"text": "Ada"}}]
        given = {"unit": "k", "place": {"city": "Bern"}, "rooms": {"a": {"city": "Rom"}}}
        given.update(pair=["c", 2], units=["k"], seen=["c"])
        assert await kit.call("invite", guests=guests, **given) == "Ada"
        assert got.pop() == (
            Unit.KELVIN,
            Place("Bern"),
            {"a": Place("Rom")},
            (Unit.CELSIUS, 2),
            (Unit.KELVIN,),
            {Unit.CELSIUS},
        )
        await kit.call("invite", guests=[], unit=None, place="anywhere")
        assert got.pop()[:2] == (None, "anywhere")
        for wrong in ({"guests": [{"name": {}}]}, {"guests": [], "pair": ["c"]}):
            with pytest.raises(CallFailed) as failed:
                await kit.call("invite", **wrong)
            assert failed.value.code == "INVALID_ARGUMENTS"
        with pytest.raises(CallFailed, match='invite does not take "gift"') as failed:
            await kit.call("invite", guests=[], gift=1)
        assert failed.value.code == "INVALID_ARGUMENTS"


async def test_calls_with_arguments_of_the_hinted_types(kit):
    tap = Provider("weather", **kit.where)

    @tap.tool
    async def forecast(place: Place, unit: Unit = Unit.CELSIUS, *, call: Call) -> str:
        """Tomorrow."""
        assert (call.session, call.tool) == ("test", "forecast")
        return f"{place.city}, {place.country}: {unit.name}"

    @tap.tool(name="raw", description="JSON", parameters={"type": "object"})
    def whatever(**args):
        return {"given": args, "at": datetime.date(2026, 1, 2)}

    async with tap:
        assert (await kit.tool("forecast"))["description"] == "Tomorrow."
        assert await kit.call("forecast", place={"city": "Bern"}) == "Bern, CH: CELSIUS"
        assert (await kit.call("forecast", place={"city": "Rom"}, unit="k")).endswith("KELVIN")
        assert json.loads(await kit.call("raw", a=1)) == {
            **{"given": {"a": 1}, "at": "2026-01-02"}
        }
        with pytest.raises(CallFailed, match='"unit" to be one of "c", "k", not "x"') as failed:
            await kit.call("forecast", place={"city": "Bern"}, unit="x")
        assert failed.value.code == "INVALID_ARGUMENTS"
        with pytest.raises(CallFailed, match=r'forecast needs "place.city" \(text\)'):
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

    @tap.tool(description="")
    def empty():
        return next(iter([]))

    async with tap:
        await kit.tool("huge")
        wanted = {
            "empty": ("INTERNAL", "StopIteration"),
            "typed": ("NOT_FOUND", "there is no Atlantis"),
            "plain": ("INTERNAL", "ValueError: no luck"),
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
        (path,) = tap.persist_dir.glob("log-*.txt")
        assert path.read_text() == text
    assert not path.exists()


async def test_files_of_one_name_do_not_meet_and_are_gone_after_their_time(kit):
    tap = Provider("weather", **kit.where)
    both = asyncio.Event()
    made = []

    @tap.tool(description="")
    async def log(text: str):
        result = await tap.file("log.txt", text, mime_type="text/plain", ttl=1)
        made.append(Path(result.file["path"]))
        if len(made) == 2:
            both.set()
        await both.wait()
        return result

    async with tap:
        await kit.tool("log")
        answers = await asyncio.gather(kit.call("log", text="a"), kit.call("log", text="b"))
        assert answers == ["a", "b"]
        while any(path.exists() for path in made):
            await asyncio.sleep(0.01)


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


async def test_tools_and_context_change_from_the_thread_of_a_tool(kit):
    tap = Provider("sheet", **kit.where)

    @tap.tool(name="open", description="")
    def open_sheet():
        tap.tool(lambda: 42, name="sum", description="", parameters={})
        tap.remove_tool("open")
        tap.context("The sheet is open.")
        return "open"

    async with tap:
        await kit.tool("open")
        assert await kit.call("open") == "open"
        await kit.tool("sum")
        await kit.tool_gone("open")
        while "The sheet is open." not in (await kit.ask("prompt") or ""):
            await asyncio.sleep(0.01)


async def test_names_and_texts_may_be_in_any_script(kit):
    tap = Provider("気象 ☔ «Wetter»", **kit.where)

    @tap.tool(description="Grüße 👋🏽")
    async def say(text: str):
        return f"⟨{text}⟩"

    async with tap:
        assert (await kit.tool("say"))["description"] == "Grüße 👋🏽"
        assert await kit.call("say", text="Zürich 😀 \0") == "⟨Zürich 😀 \0⟩"
        await kit.shows('"気象 ☔ «Wetter»" is here: say')
