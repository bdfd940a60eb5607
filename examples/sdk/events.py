"""Follows the events of a session: prompts, and how long tools take."""

from collections import Counter

from copilot_tap import Provider

prompts = 0
spent: Counter = Counter()  # milliseconds, by tool

tap = Provider("watcher")


@tap.tool
async def statistics() -> str:
    """How much was asked, and which tools took long."""
    lines = [f"{name}: {ms} ms" for name, ms in spent.most_common()]
    return "\n".join([f"{prompts} prompts", *lines])


@tap.on("user.message")
def on_prompt(_event):
    global prompts
    prompts += 1


@tap.on("assistant.message")
def on_answer(event):
    print(f"assistant: {event['content']}", flush=True)


@tap.on("tool.execution_complete")
def on_tool(event):
    lender = event.get("provider")  # of a tool that is not the CLI's
    name = f"{lender}/{event['tool']}" if lender else event["tool"]
    print(f"{name}: {event['result']['type']}", flush=True)
    spent[name] += event["durationMs"]


tap.main()
