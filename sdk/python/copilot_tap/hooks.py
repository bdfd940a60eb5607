"""A say in what the agent does: rules and gates, context, sections (docs/protocol.md, "Hooks")."""

from __future__ import annotations

import inspect
import itertools
from typing import Any, Callable

from .link import Message

Judge = Callable[..., Any]


def _decision(verdict: Any) -> Message:
    """Whatever is not an explicit permission denies."""
    if verdict is True:
        return {"decision": "allow"}
    if isinstance(verdict, str):
        return {"decision": "deny", "reason": verdict}
    if isinstance(verdict, dict) and verdict.get("decision") in ("allow", "deny", "context"):
        return {"decision": verdict["decision"], "reason": verdict.get("reason")}
    return {"decision": "deny", "reason": "the gate has not allowed it"}


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Of either kind, async or not."""
    result = function(*args)
    return await result if inspect.isawaitable(result) else result


class Hooks:
    def __init__(self, on_error: Callable[[Exception], None]) -> None:
        self._on_error = on_error
        self._ids = itertools.count(1)
        self.rules: dict[int, Message] = {}
        self._judges: dict[str, Judge] = {}
        self._sections: dict[str, Message | None] = {}
        self._rewriters: dict[str, Callable[..., Any]] = {}
        self.context: str | None = None
        self._told: Message = {}

    def add(self, rule: Message) -> int:
        key = next(self._ids)
        self.rules[key] = rule
        return key

    def gate(self, rule: Message, judge: Judge) -> int:
        gate_id = f"gate-{next(self._ids)}"
        self._judges[gate_id] = judge
        return self.add({**rule, "action": "gate", "gateId": gate_id})

    def section(self, name: str, change: Message | Callable[..., Any] | None) -> None:
        self._rewriters.pop(name, None)
        if callable(change):
            self._rewriters[name] = change
            change = {"action": "callback"}
        self._sections[name] = change

    def _state(self) -> Message:
        rules = list(self.rules.values())
        return {"rules": rules, "sections": dict(self._sections), "context": self.context}

    def declare(self) -> Message:
        """For hello."""
        self._told = self._state()
        transforms = {name: change for name, change in self._sections.items() if change}
        hello: Message = {}
        if self.rules or transforms:
            hello["hooks"] = {"onPreToolUse": self._told["rules"], "transforms": transforms}
        if self.context:
            hello["context"] = self.context
        return hello

    def changes(self) -> list[Message]:
        """What to tell the gateway."""
        former, now = self._told, self._state()
        self._told = now
        updates: list[Message] = []
        hooks: Message = {}
        if now["rules"] != former["rules"]:
            hooks["onPreToolUse"] = now["rules"]
        sections = {
            name: change
            for name, change in now["sections"].items()
            if former["sections"].get(name) != change
        }
        if sections:
            hooks["transforms"] = sections
        if hooks:
            updates.append({"type": "hooks.update", **hooks})
        if now["context"] != former["context"]:
            updates.append({"type": "context.update", "context": now["context"] or ""})
        return updates

    async def check(self, message: Message) -> Message:
        """The answer to gate.check."""
        answer = {"type": "gate.result", "gateId": message["gateId"], "callId": message["callId"]}
        judge = self._judges.get(message["gateId"])
        check = {"tool": message["tool"], "args": message["args"], "session": message["sessionId"]}
        try:
            return {**answer, **_decision(await call(judge, check) if judge else None)}
        except Exception as error:
            self._on_error(error)
            return {**answer, "decision": "deny", "reason": f"the gate failed: {error}"}

    async def rewrite(self, message: Message) -> Message:
        """The answer to transform.request."""
        content = message["current"]
        try:
            rewriter = self._rewriters.get(message["section"])
            if rewriter:
                content = str(await call(rewriter, content))
        except Exception as error:
            self._on_error(error)
        return {"type": "transform.result", "callId": message["callId"], "content": content}
