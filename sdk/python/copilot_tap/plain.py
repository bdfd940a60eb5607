"""Values of a program that have no JSON form, such as dates, in the usual form."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from typing import Any

TEXTS = (decimal.Decimal, pathlib.PurePath, uuid.UUID)
TIMES = (datetime.date, datetime.time)
LISTS = (set, frozenset)


def _to_plain(value: Any) -> Any:
    if isinstance(value, TEXTS):
        return str(value)
    if isinstance(value, TIMES):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, LISTS):
        return list(value)
    if callable(getattr(value, "model_dump", None)):  # pydantic
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    kind = type(value).__name__
    raise TypeError(f"a value is of the type {kind}, which is no JSON; return a text, a list or a dict")


def to_json(value: Any, **options: Any) -> str:
    """TypeError with the name of a type that has no JSON form."""
    return json.dumps(value, default=_to_plain, **options)
