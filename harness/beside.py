"""Katas may import each other. The worker may not see their folder, so the sources that a file names are sent along."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

MOST = 32


def gather(path: Path, source: bytes, read: Callable[[Path], bytes]) -> dict[str, bytes]:
    """The sources of the files in the same folder that a file names, and of those that these name, by their stems."""
    found: dict[str, bytes] = {}
    if not re.search(rb"katas|from\s+\.", source):
        return found
    names = {name[:-3] for name in os.listdir(path.parent) if name.endswith(".py")} - {path.stem}
    sources = [source]
    while sources and len(found) < MOST:
        words = {word.decode() for word in re.findall(rb"[A-Za-z_]\w*", sources.pop())}
        for name in sorted((words & names) - found.keys())[:MOST]:
            try:
                found[name] = read(path.parent / f"{name}.py")
            except Exception:  # unreadable: the import will say that there is no such module
                names.discard(name)
            else:
                sources.append(found[name])
    return found


class Beside:
    """Finds `katas.NAME` among the sources that were sent."""

    def __init__(self, folder: str, sources: Mapping[str, bytes]) -> None:
        self._folder, self._sources = folder, sources

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        """Called by `import`."""
        package, stem = name.rpartition(".")[::2]
        if package != "katas" or stem not in self._sources:
            return None
        path = os.path.join(self._folder, f"{stem}.py")
        return spec_from_file_location(name, path, loader=_Sent(name, path, self._sources[stem]))


class _Sent(SourceFileLoader):
    """A source in memory, under the path that it has for the person."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_data(self, path: str) -> bytes:
        """The source; FileNotFoundError for compiled files, of which there are none."""
        if path != self.path:
            raise FileNotFoundError(path)
        return self._source

    def path_stats(self, path: str) -> dict[str, float]:
        """There is no file to look at."""
        raise OSError(path)
