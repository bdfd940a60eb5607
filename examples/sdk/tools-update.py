"""Tools that come and go: two more while a sheet is open."""

from copilot_tap import Provider

tap = Provider("sheets")


@tap.tool
async def open_sheet() -> str:
    """Opens the spreadsheet."""
    tap.tool(sum_sheet)
    tap.tool(close_sheet)
    return "the sheet is open"


async def sum_sheet() -> int:
    """The sum of the open spreadsheet."""
    return 42


async def close_sheet() -> str:
    """Closes the spreadsheet."""
    tap.remove_tool("sum_sheet")
    tap.remove_tool("close_sheet")
    return "the sheet is closed"


tap.main()
