"""What of the file system a worker can see: Python, the system's libraries, and no more."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator

from harness import linux

KIT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
HIDDEN = [os.path.realpath(os.path.join(KIT, name)) for name in ("harness", "solutions", ".git", ".kata", "mock")]
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
ROOM = "/scratch"  # not /tmp: Python itself may be installed there


def needed() -> list[str]:
    """The paths that exist, without those that lie inside another; / itself is no folder to show."""
    found: list[str] = []
    paths = (*SYSTEM, *DEVICES, sys.base_prefix, sys.prefix, *sys.path)
    for path in sorted({os.path.abspath(path) for path in paths if os.path.isabs(path)}):
        if os.path.exists(path) and path != "/" and not any(path.startswith(f"{other}/") for other in found):
            found.append(path)
    return found


def around(path: str, hidden: list[str]) -> Iterator[str]:
    """The parts of a folder beside what is hidden: Landlock cannot hide a folder in one that is open."""
    inside = _beneath(hidden, path)
    if not inside:
        yield path
    elif os.path.realpath(path) not in inside:
        for name in os.listdir(path):
            yield from around(os.path.join(path, name), hidden)


def build(root: str, shown: Iterable[str], hidden: list[str]) -> None:
    """Make a root folder with `shown` in it, read-only, in new namespaces. OSError where that is not allowed."""
    os.mkdir(root)
    _separate()
    linux.mount("tmpfs", root, "tmpfs", linux.NO_SUID, "size=1m,mode=755")
    for path in shown:
        _make(root + path, os.path.isdir(path))
        linux.bind(path, root + path)
        for place in _beneath(hidden, path):
            covered = root + path + place[len(os.path.realpath(path)) :]
            linux.mount("tmpfs", covered, "tmpfs", linux.READ_ONLY, "size=4k,mode=755")
    for name in (ROOM, "/proc"):
        os.makedirs(root + name)
    for name in ("/tmp", "/dev/shm"):
        with contextlib.suppress(FileExistsError):
            os.symlink(ROOM, root + name)
    linux.read_only(root, whole=False)


def _separate() -> None:
    """Leave the machine's mounts and network, as a user who is the same inside and outside."""
    uid, gid = os.geteuid(), os.getegid()
    flags = linux.NEW_NS | linux.NEW_NET | linux.NEW_IPC | linux.NEW_UTS
    linux.unshare(flags | (linux.NEW_USER if uid else 0))
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    linux.mount("none", "/", "", linux.RECURSIVE | linux.PRIVATE)


def _beneath(hidden: Iterable[str], path: str) -> list[str]:
    top = os.path.realpath(path)
    return [place for place in hidden if os.path.exists(place) and os.path.commonpath([top, place]) == top]


def _make(path: str, folder: bool) -> None:
    os.makedirs(path if folder else os.path.dirname(path), exist_ok=True)
    if not folder:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
