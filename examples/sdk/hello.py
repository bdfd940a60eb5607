"""A complete provider with a tool, `greet`. Start it whenever you like: it waits, and comes back."""

from copilot_tap import Provider

tap = Provider("hello")


@tap.tool
async def greet(name: str) -> str:
    """Greets a person by name."""
    return f"Hello, {name}!"


tap.on("status", print)
tap.main()
