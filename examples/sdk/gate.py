"""A gate: `git push` waits for the verdict of CI, and is denied while it is red.

Here CI is a file that holds `red` or `green`; ask yours instead.
"""

import json
import os
from pathlib import Path

from copilot_tap import Provider

CI_FILE = Path(os.environ.get("CI_FILE") or "ci-status.txt")

tap = Provider("ci-gate")


def judge():
    try:
        status = CI_FILE.read_text().strip()
    except OSError:
        reason = f"The state of CI is not known: {CI_FILE} cannot be read."
        return {"decision": "deny", "reason": reason}
    if status == "green":
        return {"decision": "allow"}
    if status == "red":
        return {"decision": "deny", "reason": "CI is red. Repair the tests first."}
    return {"decision": "context", "reason": f"CI is {status}: look at it again after the push."}


@tap.gate(tool="shell", args="git push(?!.*--dry-run)")
async def may_push(check):
    verdict = judge()
    print(f"{check['tool']} {json.dumps(check['args'])}: {verdict['decision']}", flush=True)
    return verdict


# The gateway decides these two without a question.
tap.deny("Force-pushes are not allowed here.", tool="shell", args=r"push.*(--force|-f)\b")
tap.note(
    "This is a migration: it must also work on the data of the version before.",
    tool="edit",
    file="*.sql",
)
tap.main()
