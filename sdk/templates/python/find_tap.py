"""Finds tap's SDK, so that this folder can be shared as it is, without paths of a machine.

The package copilot_tap may be installed, or be a link in this folder (`copilot-tap new` makes one). Otherwise
it is in TAP_FOLDER, or where the extension is installed.
"""

import importlib.util
import os
import sys
from pathlib import Path


def _folder() -> Path:
    home = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
    named = os.environ.get("TAP_FOLDER")
    places = [Path(named)] if named else []
    places.append(home / "extensions" / "tap")
    for place in places:
        for folder in (place, place / "current"):
            sdk = folder / "sdk" / "python"
            if (sdk / "copilot_tap").is_dir():
                return sdk
    looked = ", ".join(map(str, places))
    raise ImportError(f"tap is not in {looked}: install it, or set TAP_FOLDER")


if importlib.util.find_spec("copilot_tap") is None:
    sys.path.append(str(_folder()))
