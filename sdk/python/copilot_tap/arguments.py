"""Checks a call's arguments, with problems in words that a model and a person understand."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Iterable
from urllib.parse import unquote, urldefrag, urljoin

MAX_PROBLEMS = 5
MAX_SHOWN = 40
MAX_WAYS = 3
UNIONS = ("anyOf", "oneOf")
DATA = ("enum", "const", "default", "example", "examples", "required", "type")
"""Keywords whose values are data, or names."""
MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
"""Keywords whose values are schemas, each with a name."""
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


def _either(names: Iterable[str], word: str = " or ") -> str:
    return word.join(dict.fromkeys(names))


def describe_kind(schema: Any) -> str:
    """The values that fit a schema, in a few words if possible; else ""."""
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
    """A short value itself, or its kind."""
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


def _at_pointer(root: Any, pointer: str) -> Any:
    """The value of a pointer such as #/a~1b/0, or None."""
    found = root
    for step in pointer.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            found = found.get(name) if isinstance(found, dict) else None
    return found


def _follow(root: dict[str, Any], schema: Any) -> Any:
    """Through a reference within the schema."""
    reference = schema.get("$ref", "") if isinstance(schema, dict) else ""
    return _at_pointer(root, reference) if re.match("#(/|$)", reference) else schema


def _describe_union(root: dict[str, Any], union: Any) -> list[str]:
    """A value of a kind that no alternative accepts is a single problem. Otherwise the problems are
    those of the alternatives for this kind, and of the alternative that its constants select."""
    place = list(union.absolute_path)
    if not union.context:  # several alternatives fit
        return [refused(place, union.message)]
    ways: dict[Any, list[Any]] = {}
    for problem in union.context:
        ways.setdefault(problem.schema_path[0], []).append(problem)

    def refuses(problem: Any, kinds: tuple[str, ...], depth: int) -> bool:
        return problem.validator in kinds and len(problem.absolute_path) == len(place) + depth

    def is_choice(problem: Any) -> bool:
        return refuses(problem, ("enum", "const"), 1)

    kinds = ("type", "enum", "const")
    fitting = [way for way in ways.values() if not any(refuses(one, kinds, 0) for one in way)]
    if not fitting:
        return _describe_plain(root, union)
    chosen = [way for way in fitting if not any(map(is_choice, way))]
    shown = chosen or [list(filter(is_choice, way)) for way in fitting]
    texts = [
        " and ".join(text for one in way for text in _describe_problem(root, one))
        for way in shown[:MAX_WAYS]
    ]
    return [_either(texts, ", or ")]


def _describe_problem(root: dict[str, Any], problem: Any) -> list[str]:
    return (_describe_union if problem.validator in UNIONS else _describe_plain)(root, problem)


def _describe_plain(root: dict[str, Any], problem: Any) -> list[str]:
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
    short = problem.validator in ("type", "enum", "const", *UNIONS)
    kind = describe_kind(schema) if short else ""
    if not kind or not place:
        return [refused(place, problem.message)]
    return [f"needs {_named(place)} to be {kind}, not {_shown(value)}"]


def in_words(schema: dict[str, Any], problems: list[Any]) -> str:
    """The first few problems that a validator has found."""
    texts = [text for problem in problems for text in _describe_problem(schema, problem)]
    return "; ".join(list(dict.fromkeys(texts))[:MAX_PROBLEMS])


def _map_schemas(schema: Any, change: Callable[[dict[str, Any]], None]) -> Any:
    """A copy, with itself and each schema in it changed."""
    if isinstance(schema, list):
        return [_map_schemas(one, change) for one in schema]
    if not isinstance(schema, dict):
        return schema
    copy: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in DATA:
            copy[keyword] = value
        elif keyword in MAPS and isinstance(value, dict):
            copy[keyword] = {name: _map_schemas(one, change) for name, one in value.items()}
        else:
            copy[keyword] = _map_schemas(value, change)
    change(copy)
    return copy


def _check_pattern(pattern: Any) -> None:
    if not isinstance(pattern, str):
        return
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"{_json(pattern)} is not a regular expression of Python ({error}); leave the pattern out, "
            "or write it without syntax of other languages, such as \\p{L}"
        ) from error


def _read_bounds(schema: dict[str, Any]) -> None:
    """In OpenAPI 3.0, as in draft 4, an exclusive bound is `maximum` with `exclusiveMaximum: true`."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            if schema.pop(exclusive) and bound in schema:
                schema[exclusive] = schema.pop(bound)


def _check_patterns(schema: dict[str, Any]) -> None:
    _check_pattern(schema.get("pattern"))
    patterns = schema.get("patternProperties")
    for pattern in patterns if isinstance(patterns, dict) else ():
        _check_pattern(pattern)


def _find_referenced(root: Any, reference: str, schemas: list[Any]) -> Any:
    if re.match("#(/|$)", reference):
        return _at_pointer(root, reference)
    own = root.get("$id", root.get("id")) or ""
    for one in schemas:
        name = own if one is schemas[-1] else one.get("$id", one.get("id"))
        if one.get("$anchor") == reference[1:] and reference.startswith("#") or name == reference:
            return one
        if isinstance(name, str) and not reference.startswith("#"):
            if urldefrag(urljoin(own, name))[0] == urldefrag(urljoin(own, reference))[0]:
                return one
    return None


def to_checkable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema for a validator of its draft. ValueError: arguments cannot be checked with it."""
    schemas: list[dict[str, Any]] = []
    _map_schemas(schema, schemas.append)
    for reference in [one["$ref"] for one in schemas if isinstance(one.get("$ref"), str)]:
        seen: set[str] = set()
        while isinstance(reference, str):
            found = None if reference in seen else _find_referenced(schema, reference, schemas)
            if not isinstance(found, (dict, bool)):
                why = "refers to itself" if reference in seen else "is not in the schema"
                raise ValueError(f'$ref {_json(reference)} {why}; put its schema under "$defs"')
            seen.add(reference)
            reference = found.get("$ref") if isinstance(found, dict) else None
    _map_schemas(schema, _check_patterns)
    is_draft_4 = "draft-04" in str(schema.get("$schema"))
    checkable: dict[str, Any] = schema if is_draft_4 else _map_schemas(schema, _read_bounds)
    return checkable
