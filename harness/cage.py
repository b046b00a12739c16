"""Shuts workers in, as far as the machine allows: namespaces, another user, Landlock, seccomp, limits.

A `Cage` belongs to the process that forks workers. Each worker has a keeper between itself and that process. In
namespaces the keeper is process 1: what the worker starts ends with it. Elsewhere it adopts orphans, and kills them.
Nothing is taken for granted: the strongest level for which a trial worker comes to life is the level of all.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterable
from typing import NoReturn

from harness import linux, walls
from harness.ending import Kept, end_children
from harness.walls import ROOM

if os.name == "posix":
    import resource

FIRST_USER = 1_900_000_000  # nobody's: above what systemd and containers take
MEMORY, FILE, FILES, PROCESSES = 4 << 30, 64 << 20, 256, 64


class Cage:
    """`words` names the level. `hidden`, real paths, cannot be read in it, whatever else can."""

    def __init__(self, scratch: str, hidden: Iterable[str]) -> None:
        self._scratch, self._count, self._root = scratch, 0, os.path.join(scratch, "root")
        self._shown, self._hidden = walls.needed(), list(hidden)
        self._landlock = [part for path in self._shown for part in walls.around(path, self._hidden)]
        self._without = os.environ.pop("KATA_WITHOUT", "").split()  # for tests, and machines on which one misbehaves
        self.words: tuple[str, ...] = ("process",)
        super_user = linux.LINUX and os.geteuid() == 0
        self._processes = PROCESSES if super_user else PROCESSES + _processes()
        own = FIRST_USER + 1000 * (int.from_bytes(os.urandom(4), "big") % 200_000)
        rooted = linux.KNOWN and "namespaces" not in self._without and self._build()
        with contextlib.suppress(OSError):
            linux.adopt_orphans()
            linux.shut()
        linux.refusals(0)  # built once, before the forks
        users = (own, 65534, 0) if super_user and "uid" not in self._without else (0,)
        for self._namespaces, self._user in itertools.product((True, False) if rooted else (False,), users):
            if self._works():
                return
        self._without += ["landlock", "seccomp"]

    def start(self, run: Callable[[], NoReturn], keep: Iterable[int]) -> Kept:
        """A new worker, which keeps only the descriptors `keep`, and runs `run`."""
        self._count += 1
        self._uid = self._user + (self._count % 1000 if self._user >= FIRST_USER else 0)
        folder = "" if self._namespaces else os.path.join(self._scratch, f"w{self._count}")
        told, tell = os.pipe()
        pid = linux.clone(linux.NEW_PID | linux.NEW_NS | linux.NEW_IPC) if self._namespaces else os.fork()
        if pid == 0:
            try:
                self._keep(run, tell, folder, sorted(keep))
            finally:
                os._exit(1)
        os.close(tell)
        return Kept(pid, told, folder)

    def close(self) -> None:
        """End what keepers that were killed have left behind."""
        end_children(0)
        with contextlib.suppress(OSError):
            linux.unmount(self._root)

    def _keep(self, run: Callable[[], NoReturn], tell: int, folder: str, keep: list[int]) -> None:
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # when memory runs out, it is the worker that goes
        with contextlib.suppress(OSError):
            linux.die_with_parent(signal.SIGKILL if self._namespaces else signal.SIGTERM)
        self._enter(folder)
        worker = os.fork()
        if worker == 0:
            _close_all_but(keep)
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._drop()
            run()
        _close_all_but([tell])
        if self._namespaces:
            linux.shut()
        else:
            signal.signal(signal.SIGTERM, lambda *_: _end(worker))
        pid, status = os.wait()
        while pid != worker:
            pid, status = os.wait()
        os.write(tell, struct.pack("<q", os.waitstatus_to_exitcode(status)))
        _end(0 if self._namespaces else worker)

    def _enter(self, folder: str) -> None:
        """The keeper's part: what only it has the right to do."""
        if self._namespaces:
            linux.mount("tmpfs", f"{self._root}{ROOM}", "tmpfs", linux.NO_SUID | linux.NO_DEV, "size=128m,mode=1777")
            with contextlib.suppress(OSError):  # some containers cover parts of /proc and refuse a new one
                flags = linux.NO_SUID | linux.NO_DEV | linux.READ_ONLY
                linux.mount("proc", f"{self._root}/proc", "proc", flags)
            linux.enter_root(self._root)
            os.chdir(ROOM)
            return
        with contextlib.suppress(OSError):
            linux.adopt_orphans()
        os.mkdir(folder, 0o700)
        if self._uid:
            os.chown(folder, self._uid, self._uid)
        os.chdir(folder)

    def _drop(self) -> None:
        """The worker's part: give up every right, one after the other."""
        os.environ.update(HOME=os.getcwd(), TMPDIR=os.getcwd())
        if not linux.LINUX:
            return
        _limits(self._processes)
        if self._uid:
            os.setgroups([])
            os.setresgid(self._uid, self._uid, self._uid)
            os.setresuid(self._uid, self._uid, self._uid)
        if linux.KNOWN:
            words = ["process"]
            linux.drop_capabilities()
            linux.die_with_parent(signal.SIGKILL)
            if not self._namespaces and "landlock" not in self._without and linux.landlock_version():
                linux.landlock(self._landlock, [".", "/dev/null"])
                words.insert(0, "landlock")
            if "seccomp" not in self._without:
                with contextlib.suppress(OSError):
                    linux.seccomp(self._namespaces)
                    words.insert(-1, "seccomp")
            self.words = tuple(["namespaces"] * self._namespaces + ["uid"] * bool(self._uid) + words)

    def _build(self) -> bool:
        try:
            walls.build(self._root, self._shown, self._hidden)
        except OSError:
            return False
        return True

    def _works(self) -> bool:
        """Whether a worker of this level comes to life, and can still read Python's own files."""
        heard, say = os.pipe()

        def trial() -> NoReturn:
            for module in (os, struct, sys.modules.get("numpy", os)):
                with open(str(module.__file__), "rb"):
                    pass
            os.write(say, " ".join(self.words).encode())
            os._exit(0)

        if self._user and not self._namespaces:
            os.chmod(self._scratch, 0o711)
        try:
            kept = self.start(trial, [say])
        except OSError:
            os.close(say)
            return False
        os.close(say)
        told, _, _ = select.select([heard], [], [], 5)
        words = os.read(heard, 99).decode() if told else ""
        os.close(heard)
        kept.end(0)
        self.words = tuple(words.split()) or self.words
        return bool(words)


def _close_all_but(keep: list[int]) -> None:
    for low, high in itertools.pairwise([2, *keep, 4096]):
        os.closerange(low + 1, high)


def _end(group: int) -> NoReturn:
    if group:
        end_children(group)
    os._exit(0)


def _limits(processes: int) -> None:
    memory = min(MEMORY, max(1 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2))
    for name, most in (("CORE", 0), ("FSIZE", FILE), ("AS", memory), ("NOFILE", FILES), ("NPROC", processes)):
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (most, most))


def limit_time(seconds: float | None) -> None:
    """A limit on processor time, for a worker that outlives its judge."""
    if seconds is not None and os.name == "posix":
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 5, int(seconds) + 10))


def _processes() -> int:
    """How many there are: without a user of its own, a worker's limit counts them too."""
    with contextlib.suppress(OSError):
        return sum(name.isdigit() for name in os.listdir("/proc"))
    return 1 << 16
