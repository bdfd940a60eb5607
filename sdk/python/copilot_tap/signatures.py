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

import jsonschema

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
UNIONS = (Union, getattr(types, "UnionType", Union))
LISTS = (list, set, frozenset, tuple, collections.abc.Sequence, collections.abc.Iterable)
MAPPINGS = (dict, collections.abc.Mapping)
CALL = "call"
"""The parameter that gets the Call; the model does not see it."""


def create_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema of a type hint; referenced types are added to `definitions`. TypeError for a type
    without a schema."""
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if callable(getattr(hint, "model_json_schema", None)):  # pydantic
        return _model_schema(hint, definitions)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        described = next((text for text in args[1:] if isinstance(text, str)), None)
        schema = create_schema(args[0], definitions)
        return {**schema, **({"description": described} if described else {})}
    if origin in UNIONS:
        return {"anyOf": [create_schema(one, definitions) for one in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return {"enum": [one.value for one in hint]}
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        needed = [f.name for f in dataclasses.fields(hint) if _is_needed(f)]
        return _object({name: create_schema(hints[name], definitions) for name in hints}, needed)
    if typing.is_typeddict(hint) if hasattr(typing, "is_typeddict") else False:
        hints = typing.get_type_hints(hint, include_extras=True)
        needed = [name for name in hints if name in hint.__required_keys__]
        return _object({name: create_schema(one, definitions) for name, one in hints.items()}, needed)
    return _container(hint, origin or hint, args, definitions)


def _model_schema(model: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Its references start at the root of the whole schema."""
    schema = dict(model.model_json_schema())
    for name, definition in schema.pop("$defs", {}).items():
        if definitions.setdefault(name, definition) != definition:
            raise TypeError(f"two models are named {name}: rename either")
    return schema


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _container(
    hint: Any, origin: Any, args: tuple[Any, ...], definitions: dict[str, Any]
) -> dict[str, Any]:
    if origin is tuple and args and args[-1] is not Ellipsis:
        items = [create_schema(one, definitions) for one in args]
        return {"type": "array", "prefixItems": items, "minItems": len(args), "maxItems": len(args)}
    if origin in LISTS:
        item = create_schema(args[0], definitions) if args else {}
        return {"type": "array", **({"items": item} if item else {})}
    if origin in MAPPINGS:
        values = create_schema(args[1], definitions) if args else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    raise TypeError(f"{hint!r} has no JSON Schema: give the tool `parameters` of its own")


def _object(properties: dict[str, Any], needed: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": needed} if needed else schema


def create_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(function, include_extras=True)
    _, described = read_docstring(function)
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    needed = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == CALL:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{name}: give a tool that takes * or ** `parameters` of its own")
        schema = create_schema(hints.get(name, inspect.Parameter.empty), definitions)
        if name in described:
            schema = {"description": described[name], **schema}
        if parameter.default is parameter.empty:
            needed.append(name)
        elif isinstance(parameter.default, (str, int, float, bool)):
            schema = {**schema, "default": parameter.default}
        properties[name] = schema
    schema = _object(properties, needed)
    return {**schema, "$defs": definitions} if definitions else schema


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The text before "Args:", and the description of each parameter after it."""
    text = inspect.getdoc(function) or ""
    head, _, rest = text.partition("\nArgs:\n")
    section = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    entries = re.findall(r"^ +(\w+)(?: \([^)]*\))?: (.*(?:\n {6,}.*)*)", section, re.MULTILINE)
    return head.strip(), {name: re.sub(r"\s+", " ", said) for name, said in entries}


def takes_call(function: Callable[..., Any]) -> bool:
    return CALL in inspect.signature(function).parameters


def convert(hint: Any, value: Any) -> Any:
    """An argument converted to its hint: enums, dataclasses, pydantic models; others are unchanged."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return convert(args[0], value)
    if origin in UNIONS:
        return convert(next((one for one in args if _fits(one, value)), None), value)
    if callable(getattr(hint, "model_validate", None)):
        return hint.model_validate(value)
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return hint(value)
    if isinstance(value, dict):
        return _convert_object(hint, origin, args, value)
    if isinstance(value, list):
        return _convert_list(origin or hint, args, value)
    return value


def _fits(hint: Any, value: Any) -> bool:
    definitions: dict[str, Any] = {}
    schema = create_schema(hint, definitions)
    return jsonschema.Draft202012Validator({**schema, "$defs": definitions}).is_valid(value)


def _convert_object(hint: Any, origin: Any, args: tuple[Any, ...], value: dict[str, Any]) -> Any:
    if origin in MAPPINGS and args:
        return {name: convert(args[1], one) for name, one in value.items()}
    if not (dataclasses.is_dataclass(hint) or hasattr(hint, "__required_keys__")):
        return value
    hints = typing.get_type_hints(hint, include_extras=True)
    return hint(**{name: convert(hints.get(name), one) for name, one in value.items()})  # type: ignore[operator]


def _convert_list(kind: Any, args: tuple[Any, ...], value: list[Any]) -> Any:
    if kind is tuple and args and args[-1] is not Ellipsis:
        return tuple(convert(one, item) for one, item in zip(args, value))
    items = [convert(args[0], item) for item in value] if args else value
    return kind(items) if kind in (set, frozenset, tuple) else items
