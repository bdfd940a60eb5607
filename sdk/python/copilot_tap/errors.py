"""The SDK's errors, each with a code and advice."""

from __future__ import annotations

from typing import Any, Mapping

ADVICE = {
    "AUTH_FAILED": "Unset an old TAP_PROVIDER_TOKEN; COPILOT_HOME and the port must be the session's.",
    "UNSUPPORTED_VERSION": "Update tap, or this SDK: both come together.",
    "INVALID_SESSION": "Choose a session that is there, or leave the choice to the SDK.",
    "DUPLICATE_INSTANCE": "Stop the other program, or give either of them a different name or an instance.",
    "TOOL_CONFLICT": "Rename the tool.",
    "PAYLOAD_TOO_LARGE": "Send less, or a result as a file (Provider.file).",
    "RATE_LIMITED": "Await each push before the next, and wait a second.",
    "UNAUTHORIZED": "The user has not allowed this, or a paired provider may not do it.",
    "INVALID_JSON": "The message has a wrong shape: the program needs a fix.",
    "DISCONNECTED": "It reconnects by itself; try again once it is bound.",
}


class TapError(Exception):
    """The gateway has refused something, or cannot be reached."""

    def __init__(
        self,
        code: str,
        message: str,
        about: Mapping[str, Any] | None = None,
        advice: str | None = None,
    ) -> None:
        self.code = code
        self.advice = ADVICE.get(code, "") if advice is None else advice
        self.reply_to = (about or {}).get("replyTo")
        self.session = (about or {}).get("sessionId")
        super().__init__(f"{code}: {message}" + (f". {self.advice}" if self.advice else ""))

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> TapError:
        return cls(message["code"], message["message"], message)


def closed_error(message: str) -> TapError:
    """A provider does not reconnect after close()."""
    return TapError("DISCONNECTED", message, advice="Create a new provider to connect again.")


class ToolError(Exception):
    """Raised by a tool: the call fails with this code, and the model reads the message.

    `code` is INVALID_ARGUMENTS, NOT_FOUND, TIMEOUT, CANCELLED, INTERNAL or TOOL_ERROR.
    """

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


MAX_TEXT = 32_768
"""The maximum of a failed call's text: the message must fit the gateway's limit."""


def error_text(error: BaseException) -> str:
    """The text of an exception with its type, as `KeyError: 'nope'`. Never raises."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # raised by the user's code
        return f"{name}, whose text cannot be had"
    # An exception without its own type, or for the model, needs no type in its text.
    plain = type(error) is Exception or isinstance(error, (ToolError, TapError))
    if not text:
        return name
    return (text if plain else f"{name}: {text}")[:MAX_TEXT]


def failure(error: BaseException) -> dict[str, Any]:
    """The fields of a failed tool.result."""
    text = error_text(error)
    if not isinstance(error, ToolError):
        return {"error": text, "errorCode": "INTERNAL"}
    retryable = {"retryable": True} if error.retryable else {}
    return {"error": text, "errorCode": str(error.code), **retryable}
