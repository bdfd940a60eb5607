"""The declared tools, and the tools that the gateway knows."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, Callable

try:
    import jsonschema
except ImportError as missing:  # pragma: no cover
    raise ImportError(
        "copilot_tap needs the package jsonschema: apt install python3-jsonschema, "
        "or pip install jsonschema"
    ) from missing

from .arguments import in_words, refused, to_checkable
from .errors import TapError, ToolError
from .signatures import CALL, convert, create_parameters, read_docstring, takes_call


@dataclass(eq=False)
class Tool:
    definition: dict[str, Any]
    function: Callable[..., Any]
    validator: Any
    hints: dict[str, Any]
    takes_call: bool

    def arguments(self, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments for the function. ToolError if they are not valid."""
        problems = list(self.validator.iter_errors(args))
        if problems:
            raise self._unfit(in_words(self.definition["parameters"], problems))
        try:
            return {name: convert(self.hints.get(name), value) for name, value in args.items()}
        except ValueError as error:  # pydantic
            raise self._unfit(refused([], str(error))) from error

    def _unfit(self, why: str) -> ToolError:
        return ToolError("INVALID_ARGUMENTS", f"{self.definition['name']} {why}")


def make_tool(
    function: Callable[..., Any],
    name: str | None,
    description: str | None,
    parameters: dict[str, Any] | None,
    timeout: float | None,
) -> Tool:
    derived = parameters is None
    schema = create_parameters(function) if parameters is None else parameters
    validator = jsonschema.validators.validator_for(
        schema, default=jsonschema.Draft202012Validator
    )
    name = name or function.__name__
    try:
        checkable = to_checkable(schema)
    except ValueError as error:
        raise ValueError(f"tool {name}: parameters: {error}") from error
    validator.check_schema(checkable)
    if schema and schema.get("type") != "object":
        raise ValueError(
            f"tool {name}: parameters must be a JSON Schema of an object: "
            '{"type": "object", "properties": {…}}'
        )
    definition: dict[str, Any] = {
        "name": name,
        "description": description or read_docstring(function)[0],
        "parameters": schema,
    }
    if timeout is not None:
        definition["timeout"] = round(timeout * 1000)
    hints = typing.get_type_hints(function, include_extras=True) if derived else {}
    hints.pop(CALL, None)
    return Tool(definition, function, validator(checkable), hints, takes_call(function))


Change = typing.Tuple[typing.Dict[str, Any], Callable[[], None]]


def not_in_force(ack: dict[str, Any] | None) -> TapError | None:
    """The error in an ack of a change with `inForce`, or None."""
    if not ack or ack.get("inForce") is not False:
        return None
    return TapError("TIMEOUT", f"the tools are not in force: {ack.get('reason')}")


class Tools:
    def __init__(self) -> None:
        self.declared: dict[str, Tool] = {}
        self._known: dict[str, Tool] = {}

    def declare(self) -> list[dict[str, Any]]:
        """For hello: all tools."""
        self._known = dict(self.declared)
        return [tool.definition for tool in self._known.values()]

    def in_force(self, change: Change | None) -> Change:
        """The change, or an empty change, with an ack that waits until the sessions have the tools."""
        nothing: dict[str, Any] = {"type": "tools.update", "tools": [], "remove": []}
        message, restore = change or (nothing, lambda: None)
        return {**message, "inForce": True}, restore

    def change(self) -> Change | None:
        """The message for the gateway, and the function that undoes the change after a refusal."""
        former, now = self._known, dict(self.declared)
        changed = [name for name, tool in now.items() if former.get(name) is not tool]
        removed = [name for name in former if name not in now]
        if not changed and not removed:
            return None
        self._known = now

        def restore() -> None:
            self._known = former
            for name in changed + removed:
                if name in former:
                    self.declared[name] = former[name]
                else:
                    self.declared.pop(name, None)

        definitions = [now[name].definition for name in changed]
        return {"type": "tools.update", "tools": definitions, "remove": removed}, restore
