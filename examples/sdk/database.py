"""Answers from a SQLite database: reads only, and never more than a session can use."""

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Literal, Optional

from copilot_tap import Provider, ToolError

DATABASE = Path(os.environ.get("DATABASE") or "shop.db").resolve()
MAX_ROWS = 50
MAX_SECONDS = 2.0
MAX_BYTES = 50_000
READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}

tap = Provider("database", concurrency=2)


def judge(action, *_details):
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def connect():
    """A connection for a question: it cannot write, attach other files, or run for long."""
    connection = sqlite3.connect(f"{DATABASE.as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    connection.set_authorizer(judge)
    until = time.monotonic() + MAX_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    if hasattr(connection, "setlimit"):  # Python 3.11: no single value is larger
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
    return connection


def plain(value):
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else value


def ask(sql, parameters=()):
    try:
        with closing(connect()) as connection:
            found = connection.execute(sql, parameters).fetchmany(MAX_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning) as problem:
        if str(problem) == "interrupted":
            raise ToolError("TIMEOUT", f"More than {MAX_SECONDS:g} s: ask for less.") from problem
        raise ToolError("INTERNAL", f"The database says: {problem}") from problem
    rows = [{name: plain(row[name]) for name in row.keys()} for row in found[:MAX_ROWS]]
    if len(json.dumps(rows)) > MAX_BYTES:
        raise ToolError("INTERNAL", "That is too much to read: name fewer columns or rows.")
    return {"rows": rows, "more": len(found) > MAX_ROWS}


@tap.tool
def find_orders(status: Literal["open", "shipped"], customer: Optional[str] = None) -> dict:
    """Orders of the shop, the latest first.

    Args:
        customer: only orders of the customer of exactly this name
    """
    return ask(
        "SELECT id, customer, status, total FROM orders"
        " WHERE status = :status AND (:customer IS NULL OR customer = :customer)"
        " ORDER BY id DESC",
        {"status": status, "customer": customer},
    )


@tap.tool
def describe_tables() -> dict:
    """The tables of the shop's database, and their columns."""
    return ask("SELECT name, sql FROM sqlite_master WHERE type = 'table'")


@tap.tool
def select(sql: str) -> dict:
    """Runs a single SELECT of SQLite on the shop's database: reads only, at most 50 rows."""
    return ask(sql)


if __name__ == "__main__":
    tap.main()
