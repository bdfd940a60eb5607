"""What can go wrong, each with a code and what to do about it."""

from __future__ import annotations

from typing import Any, Mapping

ADVICE = {
    "AUTH_FAILED": "Unset an old TAP_PROVIDER_TOKEN; COPILOT_HOME and the port must be the session's.",
    "UNSUPPORTED_VERSION": "Update tap, or this SDK: both come together.",
    "INVALID_SESSION": "Choose a session that is there, or leave the choice to the SDK.",
    "DUPLICATE_INSTANCE": "Stop the other program, or give one of them another name or an instance.",
    "TOOL_CONFLICT": "Rename the tool.",
    "PAYLOAD_TOO_LARGE": "Send less, or a result as a file (Provider.file).",
    "RATE_LIMITED": "Await each push before the next, and wait a second.",
    "UNAUTHORIZED": "The user has not allowed this, or a paired provider may not do it.",
    "INVALID_JSON": "What was sent has a wrong shape: it needs a fix.",
    "DISCONNECTED": "It reconnects by itself; try again once it is bound.",
}


class TapError(Exception):
    """The gateway has refused something, or cannot be reached."""

    def __init__(self, code: str, message: str, about: Mapping[str, Any] | None = None) -> None:
        self.code = code
        self.advice = ADVICE.get(code, "")
        self.reply_to = (about or {}).get("replyTo")
        self.session = (about or {}).get("sessionId")
        super().__init__(f"{code}: {message}" + (f". {self.advice}" if self.advice else ""))

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> TapError:
        return cls(message["code"], message["message"], message)


class ToolError(Exception):
    """Raised by a tool: the call fails with this code, and the model reads the message.

    `code` is NOT_FOUND, TIMEOUT, CANCELLED or INTERNAL.
    """

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


def failure(error: BaseException) -> dict[str, Any]:
    """The fields of a failed tool.result."""
    text = str(error) or type(error).__name__
    if not isinstance(error, ToolError):
        return {"error": text, "errorCode": "INTERNAL"}
    retryable = {"retryable": True} if error.retryable else {}
    return {"error": text, "errorCode": error.code, **retryable}
