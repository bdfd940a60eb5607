"""A provider with several programs: start it twice, as `instances.py left` and `instances.py right`.

The model sees each tool once, with a further parameter, `target`, and a tool `list_editor_instances`.
"""

import datetime
import os
import sys

from copilot_tap import Provider

instance = sys.argv[1] if len(sys.argv) > 1 else f"window-{os.getpid()}"
# The metadata is in the list of instances: it helps the model to choose.
started = datetime.datetime.now().isoformat(timespec="seconds")
metadata = {"title": f"the {instance} window", "started": started}

tap = Provider("editor", instance=instance, metadata=metadata)


# Each instance declares the same tools. Without a `target` the instance that was last active is called.
@tap.tool
async def open_file() -> str:
    """Says which file is open in an editor window."""
    return f"{instance}.txt"


tap.main()
