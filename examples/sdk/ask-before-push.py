"""A gate that asks a person: `git push` is denied, the person at this terminal is asked, and the agent is
sent the answer. A yes is good for that very command, once, for two minutes.
"""

import asyncio
import json
import time

from copilot_tap import Provider

GOOD_FOR_S = 120

tap = Provider("push-guard")
question = None  # the task that asks
allowed = ("", 0.0)  # a command, and until when


# The gateway waits 5 s for an answer, too short for a person: so the gate does not wait.
@tap.gate(tool="shell", args=r"\bgit\b.*\bpush\b")
async def may_push(check):
    global allowed, question
    command = check["args"]["command"]
    if command == allowed[0] and time.monotonic() < allowed[1]:
        allowed = ("", 0.0)
        return True
    if question and not question.done():
        return "A person is being asked about an earlier push. Wait for the answer."
    question = asyncio.create_task(ask(command))
    return "A person is being asked. Do other work: an event will bring the answer."


async def ask(command):
    global allowed
    # As JSON: text of the agent cannot draw on the terminal.
    print(f"The agent wants to run {json.dumps(command)}", flush=True)
    answer = await asyncio.to_thread(input, "Allow it once? [y/N] ")
    yes = answer.strip().lower() in ("y", "yes")
    if yes:
        allowed = (command, time.monotonic() + GOOD_FOR_S)
    text = "The push is allowed: run the same command again." if yes else "The push is refused."
    await tap.push("answers", text, level="inject")


tap.main()
