"""A tool's JSON Schema and description from a function's signature and docstring."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import re
import types
import typing
from typing import Any, Callable, Literal, Union

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
UNIONS = (Union, getattr(types, "UnionType", Union))
LISTS = (list, set, frozenset, tuple, collections.abc.Sequence, collections.abc.Iterable)
CALL = "call"
"""The parameter that gets the Call; it is not the model's."""


def schema_of(hint: Any) -> dict[str, Any]:
    """JSON Schema of a type hint. TypeError for what has none."""
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if callable(getattr(hint, "model_json_schema", None)):  # pydantic
        return hint.model_json_schema()
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        described = next((text for text in args[1:] if isinstance(text, str)), None)
        return {**schema_of(args[0]), **({"description": described} if described else {})}
    if origin in UNIONS:
        return {"anyOf": [schema_of(one) for one in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return {"enum": [one.value for one in hint]}
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        needed = [f.name for f in dataclasses.fields(hint) if _is_needed(f)]
        return _object({name: schema_of(hints[name]) for name in hints}, needed)
    if typing.is_typeddict(hint) if hasattr(typing, "is_typeddict") else False:
        hints = typing.get_type_hints(hint, include_extras=True)
        needed = [name for name in hints if name in hint.__required_keys__]
        return _object({name: schema_of(one) for name, one in hints.items()}, needed)
    return _container(hint, origin or hint, args)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _container(hint: Any, origin: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    if origin in LISTS:
        items = schema_of(args[0]) if args else {}
        return {"type": "array", **({"items": items} if items else {})}
    if origin in (dict, collections.abc.Mapping):
        values = schema_of(args[1]) if args else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    raise TypeError(f"{hint!r} has no JSON Schema: give the tool `parameters` of its own")


def _object(properties: dict[str, Any], needed: list[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": needed} if needed else schema


def parameters_of(function: Callable[..., Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(function, include_extras=True)
    _, described = read_docstring(function)
    properties: dict[str, Any] = {}
    needed = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == CALL:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{name}: give a tool that takes * or ** `parameters` of its own")
        schema = schema_of(hints.get(name, inspect.Parameter.empty))
        if name in described:
            schema = {"description": described[name], **schema}
        if parameter.default is parameter.empty:
            needed.append(name)
        elif isinstance(parameter.default, (str, int, float, bool)):
            schema = {**schema, "default": parameter.default}
        properties[name] = schema
    return _object(properties, needed)


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What stands before its "Args:", and what it says there of each parameter."""
    text = inspect.getdoc(function) or ""
    head, _, rest = text.partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    entries = re.findall(r"^ +(\w+)(?: \([^)]*\))?: (.*(?:\n {6,}.*)*)", section, re.MULTILINE)
    return head.strip(), {name: re.sub(r"\s+", " ", said) for name, said in entries}


def takes_call(function: Callable[..., Any]) -> bool:
    return CALL in inspect.signature(function).parameters


def convert(hint: Any, value: Any) -> Any:
    """An argument as its hint has it: enums, dataclasses, pydantic models; others as they are."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return convert(args[0], value)
    if callable(getattr(hint, "model_validate", None)):
        return hint.model_validate(value)
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return hint(value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints = typing.get_type_hints(hint, include_extras=True)
        return hint(**{name: convert(hints.get(name), one) for name, one in value.items()})  # type: ignore[operator]
    if origin in (list, set, frozenset) and args and isinstance(value, list):
        return origin(convert(args[0], one) for one in value)
    return value
