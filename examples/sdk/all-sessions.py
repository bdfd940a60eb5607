"""A provider for every session, with separate data for each."""

from typing import Optional

from copilot_tap import Call, Provider

notes: dict[str, list[str]] = {}  # for each session

tap = Provider("notes", session="all")


@tap.tool
async def note(text: Optional[str] = None, *, call: Call) -> list[str]:
    """Notes a text for this session, and returns all its notes."""
    mine = notes.setdefault(call.session, [])
    if text:
        mine.append(text)
    return mine


@tap.on("session.end")
async def save(event):
    """The session waits for this: save data here."""
    gone = notes.pop(event["session"], [])
    print(f"{len(gone)} notes are gone, {event['deadline'] * 1000:.0f} ms were left", flush=True)


tap.main()
