"""Text that the model should know without asking: with each prompt, at the start, in the system message."""

from typing import Literal

from copilot_tap import Provider

environment = "staging"

tap = Provider("deployments", startup_context="The deployment helper is there.")


def describe() -> str:
    return f"Deployments go to {environment} now."


@tap.tool
async def choose_environment(name: Literal["staging", "production"]) -> str:
    """Chooses where deployments go."""
    global environment
    environment = name
    tap.context(describe())
    await tap.synced()  # it is in force
    return describe()


def rules(current: str) -> str:
    """Asked at each prompt: within 2 s, or the section stays as it is."""
    rule = "Every change needs a test." if environment == "production" else "Be quick and bold."
    return f"{current}\n{rule}"


tap.context(describe())  # with each prompt of the user
tap.section("custom_instructions", "append", "This repository uses pnpm, not npm.")
tap.section("code_change_rules", rules)
tap.main()
