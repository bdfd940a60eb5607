"""Results in files: each has its own name, and is removed after its time, or with the provider."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path


class Files:
    def __init__(self) -> None:
        self._paths: set[Path] = set()

    async def add(self, folder: Path, name: Path, data: bytes, ttl: float) -> Path:
        path = await asyncio.to_thread(_write, folder, name, data)
        self._paths.add(path)
        asyncio.get_running_loop().call_later(ttl, self._remove, path)
        return path

    def _remove(self, path: Path) -> None:
        self._paths.discard(path)
        with contextlib.suppress(OSError):
            path.unlink()

    def remove_all(self) -> None:
        for path in list(self._paths):
            self._remove(path)


def _write(folder: Path, name: Path, data: bytes) -> Path:
    handle, path = tempfile.mkstemp(name.suffix, f"{name.stem}-", folder)
    with open(handle, "wb") as file:
        file.write(data)
    return Path(path)
