"""Checks a call's arguments, with problems in words that a model and a person understand."""

from __future__ import annotations

import json
from typing import Any, Iterable

MAX_PROBLEMS = 5
MAX_SHOWN = 40
KINDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _either(names: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(names))


def describe_kind(schema: Any) -> str:
    """What fits a schema, as far as a few words can say it; else ""."""
    if not isinstance(schema, dict):
        return ""
    if "const" in schema:
        return _json(schema["const"])
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(map(_json, schema["enum"]))
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return _either(KINDS.get(kind, str(kind)) for kind in kinds)
    ways = [describe_kind(way) for way in schema.get("anyOf") or schema.get("oneOf") or []]
    return "" if "" in ways else _either(ways)


def _shown(value: Any) -> str:
    """A short value itself, else what it is."""
    text = _json(value)
    if len(text) <= MAX_SHOWN:
        return text
    if isinstance(value, str):
        return KINDS["string"]
    return KINDS["array" if isinstance(value, list) else "object"]


def _named(place: Iterable[Any]) -> str:
    return _json(".".join(map(str, place)))


def refused(place: list[Any], why: str) -> str:
    return f"refuses {_named(place)}: {why}" if place else f"refuses the arguments: {why}"


def _follow(root: dict[str, Any], schema: Any) -> Any:
    """Through a reference within the schema."""
    reference = schema.get("$ref", "") if isinstance(schema, dict) else ""
    if not reference.startswith("#/"):
        return schema
    found: Any = root
    for step in reference[2:].split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~"), {})
    return found


def _told(root: dict[str, Any], problem: Any) -> list[str]:
    place = list(problem.absolute_path)
    schema, value = problem.schema, problem.instance
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if problem.validator == "required":
        absent = [name for name in problem.validator_value if name not in value]
        kinds = [describe_kind(_follow(root, properties.get(name))) for name in absent]
        return [
            f"needs {_named([*place, name])}" + (f" ({kind})" if kind else "")
            for name, kind in zip(absent, kinds)
        ]
    if problem.validator == "additionalProperties" and problem.validator_value is False:
        extra = [name for name in value if name not in properties]
        return [f"does not take {_named([*place, name])}" for name in extra]
    short = problem.validator in ("type", "enum", "const", "anyOf", "oneOf")
    kind = describe_kind(schema) if short else ""
    if not kind or not place:
        return [refused(place, problem.message)]
    return [f"needs {_named(place)} to be {kind}, not {_shown(value)}"]


def in_words(schema: dict[str, Any], problems: list[Any]) -> str:
    """Of the problems that a validator has found, the first few."""
    told = [text for problem in problems for text in _told(schema, problem)]
    return "; ".join(list(dict.fromkeys(told))[:MAX_PROBLEMS])
