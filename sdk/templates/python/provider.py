"""The provider {{name}}: start it whenever you like, it waits for a session of the Copilot CLI."""

import sys

import find_tap  # noqa: F401 (before copilot_tap)
from copilot_tap import Provider, ToolError

tap = Provider("{{name}}")


@tap.tool
async def {{tool}}_greet(name: str) -> str:
    """Greets a person by name.

    Args:
        name: Whom to greet
    """
    if not name.strip():
        raise ToolError("NOT_FOUND", "the name is empty")
    return f"Hello, {name}!"


if __name__ == "__main__":
    tap.on("status", lambda text: print(f"{{name}}: {text}", file=sys.stderr, flush=True))
    tap.main()
