"""The kernel's doors that Python does not open by itself: thin calls through ctypes, on Linux alone.

Each raises OSError where the kernel or a container refuses; who calls decides what to do without it.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import signal
import struct
import sys
from collections.abc import Iterable

MACHINE = os.uname().machine if hasattr(os, "uname") else ""
LINUX = sys.platform == "linux"
NEW_NS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
READ_ONLY, NO_SUID, NO_DEV, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 1 << 12, 1 << 14, 1 << 18
DETACH = 2
_PDEATHSIG, _DUMPABLE, _SECCOMP, _SUBREAPER, _NO_NEW_PRIVS = 1, 4, 22, 36, 38
_X86 = MACHINE == "x86_64"
_CLONE, _PIVOT_ROOT, _CAPSET = (56, 155, 126) if _X86 else (220, 41, 91)
_MOUNT_SETATTR, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_ENTER = 442, 444, 445, 446
# PyDLL keeps Python's lock, so that a child of `clone` is in the state that it expects
_libc = ctypes.PyDLL(None, use_errno=True) if LINUX else None
KNOWN = LINUX and MACHINE in ("x86_64", "aarch64") and sys.maxsize > 1 << 32


def _call(name: str, *args: object) -> int:
    if _libc is None:
        raise OSError(errno.ENOSYS, name)
    numbers = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = int(getattr(_libc, name)(*numbers))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def clone(flags: int) -> int:
    """Fork into new namespaces; the child has run none of Python's fork hooks, and should fork at once."""
    return _call("syscall", _CLONE, flags | signal.SIGCHLD, 0, 0, 0, 0)


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    _call("unshare", flags)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2)."""
    _call("mount", source.encode(), os.fsencode(target), kind.encode(), flags, options.encode())


def bind(source: str, target: str) -> None:
    """Show a file or folder at another place, read-only."""
    _call("mount", os.fsencode(source), os.fsencode(target), None, BIND | RECURSIVE, None)
    read_only(target)


def read_only(target: str, whole: bool = True) -> None:
    """Nothing can be written into a mount any more; `whole` takes in the mounts beneath it."""
    attributes = struct.pack("<QQQQ", READ_ONLY | NO_SUID, 0, 0, 0)
    at_cwd, recursive = -100, 0x8000 if whole else 0
    _call("syscall", _MOUNT_SETATTR, at_cwd, os.fsencode(target), recursive, attributes, len(attributes))


def unmount(target: str) -> None:
    """Take a mount away, also one that is in use."""
    _call("umount2", os.fsencode(target), DETACH)


def enter_root(folder: str) -> None:
    """Make a folder, which is a mount, the root, and let go of the old one."""
    os.chdir(folder)
    _call("syscall", _PIVOT_ROOT, b".", b".")
    _call("umount2", b".", DETACH)
    os.chdir("/")


def die_with_parent(number: int) -> None:
    """Get a signal when the parent ends."""
    _call("prctl", _PDEATHSIG, number, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever a descendant leaves behind."""
    _call("prctl", _SUBREAPER, 1, 0, 0, 0)


def shut() -> None:
    """No other process of this user may trace this one or read its memory."""
    _call("prctl", _DUMPABLE, 0, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up every capability, for good."""
    _call("syscall", _CAPSET, struct.pack("<Ii", 0x20080522, 0), bytes(24))
    no_new_privileges()


def no_new_privileges() -> None:
    """No program that is started from here gains rights by being set-uid."""
    _call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)


# ---- Landlock: only what is listed can be reached ----

_READ = 0b1100  # read files, list folders
_RUN = 0b1
_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL = (1 << 16) - 1
_OF_FILES = 0b1 | 0b10 | 0b100 | 1 << 14 | 1 << 15


def landlock_version() -> int:
    """0 where there is none. /sys does not always tell, so the kernel is asked."""
    try:
        return _call("syscall", _LANDLOCK_CREATE, None, 0, 1)
    except OSError:
        return 0


def landlock(readable: Iterable[str], writable: Iterable[str]) -> None:
    """From here on: read what is beneath the one, write beneath the other; no signal or trace to the outside."""
    version = landlock_version()
    rights = _BY_VERSION.get(version, _ALL)
    network, scoped = (0b11 if version >= 4 else 0), (0b11 if version >= 6 else 0)
    fields = struct.pack("<QQQ", rights, network, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _call("syscall", _LANDLOCK_CREATE, fields, len(fields), 0)
    for allowed, paths in ((rights & (_READ | _RUN), readable), (rights, writable)):
        for path in paths:
            _allow(rules, path, allowed)
    no_new_privileges()
    _call("syscall", _LANDLOCK_ENTER, rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    fitting = rights if os.path.isdir(path) else rights & _OF_FILES
    _call("syscall", _LANDLOCK_ADD, rules, 1, struct.pack("<Qi", fitting, place), 0)
    os.close(place)


# ---- seccomp: calls that no answer needs are refused ----

_NAMES = "ptrace read_vm write_vm unshare setns mount umount pivot_root chroot add_key request_key keyctl bpf perf uffd"
_NAMES += " by_handle kcmp socket"
_NUMBERS = (
    (101, 310, 311, 272, 308, 165, 166, 155, 161, 248, 249, 250, 321, 298, 323, 304, 312, 41)
    if _X86
    else (117, 270, 271, 97, 268, 40, 39, 41, 51, 217, 218, 219, 280, 241, 282, 265, 272, 198)
)
_NEVER = (*_NUMBERS, 424, 425, 428, 429, 430, 432, 433, 434, 438, 440, 442)  # pidfds, io_uring, the newer mounts
_OF_ITSELF = (62, 234, 129, 297, 302, 203) if _X86 else (129, 131, 138, 240, 261, 122)  # kill ... prlimit, affinity
_WITH_OTHERS = (200, 141, 112, 109) if _X86 else (130, 140, 157, 154)  # tkill, setpriority; a group stays one group
_MACHINE = 0xC000003E if _X86 else 0xC00000B7


def seccomp(others_are_hidden: bool) -> None:
    """Refuse tracing, mounting, keys, sockets; and signals to others, unless others cannot be seen anyway."""
    code = refusals(0 if others_are_hidden else os.getpid())
    program = ctypes.create_string_buffer(code)
    header = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(program))
    no_new_privileges()
    _call("prctl", _SECCOMP, 2, header, 0, 0)


@functools.cache
def refusals(own: int) -> bytes:
    """The filter's code. Signals are refused but to the process `own`; 0 when there is nobody else to signal."""
    load, equal, at_least, end = 0x20, 0x15, 0x35, 0x06
    allow, refuse = (end, 0, 0, 0x7FFF0000), (end, 0, 0, 0x00050000 | 1)
    code = [(load, 0, 0, 4), (equal, 1, 0, _MACHINE), refuse, (load, 0, 0, 0), (at_least, 0, 1, 0x40000000), refuse]
    for number in _NEVER + (_WITH_OTHERS if own else ()):
        code += [(equal, 0, 1, number), refuse]
    for number in _OF_ITSELF if own else ():
        tests = [(equal, 0, 1, pid & 0xFFFFFFFF) for pid in (0, own, -own)]
        checks = [step for test in tests for step in (test, allow)]
        code += [(equal, 0, len(checks) + 2, number), (load, 0, 0, 16), *checks, refuse]
    code.append(allow)
    return b"".join(struct.pack("<HBBI", *step) for step in code)
