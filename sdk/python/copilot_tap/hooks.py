"""Hooks: rules and gates, context, sections (docs/protocol.md, "Hooks")."""

from __future__ import annotations

import inspect
import itertools
from typing import Any, Callable, Union

from .errors import error_text
from .connection import Message
from .report import call_text

Judge = Callable[..., Any]
Match = Union[str, dict[str, str]]
"""The match of a rule; `args` may be a single argument: {"path": "/command", "pattern": "^git push"}."""
Section = tuple[Union[Message, None], Union[Callable[..., Any], None]]
"""The change, and the function that it calls back."""
Change = tuple[Message, Callable[[], None]]
"""The message for the gateway, and the function that undoes the change after a refusal."""
ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""They end the program and so the connection; the gateway then denies without an answer."""


def _decision(verdict: Any) -> Message:
    """Denies unless the verdict is an explicit permission."""
    if verdict is True:
        return {"decision": "allow"}
    if isinstance(verdict, str):
        return {"decision": "deny", "reason": verdict}
    if isinstance(verdict, dict) and verdict.get("decision") in ("allow", "deny", "context"):
        reason = verdict.get("reason")
        return {
            "decision": verdict["decision"],
            "reason": reason if isinstance(reason, str) else None,
        }
    return {"decision": "deny", "reason": "the gate has not allowed it"}


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that may be async."""
    result = function(*args)
    return await result if inspect.isawaitable(result) else result


def _undo(declared: dict[Any, Any], refused: dict[Any, Any], former: dict[Any, Any]) -> None:
    """Undoes a refused change, except declarations that were replaced since."""
    for key in refused.keys() | former.keys():
        if declared.get(key) != refused.get(key):
            continue
        if key in former:
            declared[key] = former[key]
        else:
            declared.pop(key, None)


class Hooks:
    def __init__(self, on_error: Callable[[BaseException, str], None]) -> None:
        self._on_error = on_error
        self._ids = itertools.count(1)
        self.rules: dict[int, Message] = {}
        self._judges: dict[str, Judge] = {}
        self._sections: dict[str, Section] = {}
        self.context: str | None = None
        # The declarations that the gateway has or is receiving.
        self._known_rules: dict[int, Message] = {}
        self._known_sections: dict[str, Section] = {}
        self._known_context: str | None = None

    def add(self, rule: Message) -> int:
        key = next(self._ids)
        self.rules[key] = rule
        return key

    def gate(self, rule: Message, judge: Judge) -> int:
        gate_id = f"gate-{next(self._ids)}"
        self._judges[gate_id] = judge
        return self.add({**rule, "action": "gate", "gateId": gate_id})

    def section(self, name: str, change: Message | Callable[..., Any] | None) -> None:
        if callable(change):
            self._sections[name] = ({"action": "callback"}, change)
        else:
            self._sections[name] = (change, None)

    def declare(self) -> Message:
        """For hello."""
        self._known_rules, self._known_sections = dict(self.rules), dict(self._sections)
        self._known_context = self.context
        rules = list(self._known_rules.values())
        transforms = {name: change for name, (change, _) in self._known_sections.items() if change}
        hello: Message = {}
        if rules or transforms:
            hello["hooks"] = {"onPreToolUse": rules, "transforms": transforms}
        if self.context:
            hello["context"] = self.context
        return hello

    def change(self) -> Change | None:
        """The changes of rules and sections."""
        rules, sections = dict(self.rules), dict(self._sections)
        former_rules, former_sections = self._known_rules, self._known_sections
        self._known_rules, self._known_sections = rules, sections
        update: Message = {}
        if rules != former_rules:
            update["onPreToolUse"] = list(rules.values())
        transforms = {
            name: change
            for name, (change, _) in sections.items()
            if former_sections.get(name, (None, None))[0] != change
        }
        if transforms:
            update["transforms"] = transforms
        if not update:
            return None

        def restore() -> None:
            self._known_rules, self._known_sections = former_rules, former_sections
            _undo(self.rules, rules, former_rules)
            _undo(self._sections, sections, former_sections)

        return {"type": "hooks.update", **update}, restore

    def context_change(self) -> Change | None:
        former, now = self._known_context, self.context
        if now == former:
            return None
        self._known_context = now

        def restore() -> None:
            self._known_context = former
            if self.context == now:
                self.context = former

        return {"type": "context.update", "context": now or ""}, restore

    async def check(self, message: Message) -> Message:
        """The answer to gate.check."""
        answer = {"type": "gate.result", "gateId": message["gateId"], "callId": message["callId"]}
        judge = self._judges.get(message["gateId"])
        check = {"tool": message["tool"], "args": message["args"], "session": message["sessionId"]}
        try:
            return {**answer, **_decision(await call(judge, check) if judge else None)}
        except ENDS:
            raise
        except BaseException as error:
            self._on_error(error, f"the gate of {call_text(check['tool'], check['args'])}")
            return {**answer, "decision": "deny", "reason": f"the gate failed: {error_text(error)}"}

    async def rewrite(self, message: Message) -> Message:
        """The answer to transform.request."""
        content = message["current"]
        try:
            _, rewriter = self._sections.get(message["section"], (None, None))
            if rewriter:
                content = str(await call(rewriter, content))
        except ENDS:
            raise
        except BaseException as error:
            self._on_error(error, f"the function of section {message['section']}")
        return {"type": "transform.result", "callId": message["callId"], "content": content}
