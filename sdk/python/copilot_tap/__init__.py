"""A process that offers tools to GitHub Copilot CLI sessions. docs/sdk-python.md is the manual."""

from .calls import Call, FileResult
from .errors import TapError, ToolError
from .provider import Provider
from .streams import Receipt, Stream

__all__ = ["Call", "FileResult", "Provider", "Receipt", "Stream", "TapError", "ToolError"]
