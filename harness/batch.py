"""Grades many submissions in several processes. A job is a process of ours with a judge of its own.

A job reads one line for each submission and writes one: JSON, both. It ends when its input does, at once even in the
middle of a submission, so that nothing is left when the command is interrupted or killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from harness import report
from harness.collect import Entry
from harness.forge import ROOT, Forge, environment
from harness.grade import grade
from harness.judge import Judge, Limits
from harness.model import Report

BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from harness import batch; batch.work()"
ENDING = 10.0
FAULT = "the process that graded it ended: a fault of the kit, or a lack of memory"


class Graded(NamedTuple):
    """One submission's number, its result as the documents hold it, its text for a person, and if the kit failed."""

    number: int
    result: dict[str, Any]
    text: str
    fault: bool = False


def limits(seconds: float | None) -> Limits:
    """The limits when one submission may take that long in all: half for the import, a quarter for one call."""
    return Limits() if seconds is None else Limits(seconds / 2, seconds / 4, seconds)


def run(
    entries: Sequence[Entry], seed: int, seconds: float | None, jobs: int, forge: Forge | None = None
) -> Iterator[Graded]:
    """Every submission, graded, as they become ready. One job is this process, with a forge that has been started."""
    if jobs > 1:
        yield from _Pool(entries, seed, seconds, jobs)
        return
    if jobs == 0:
        yield from (_reported(number, _unread(entry)) for number, entry in enumerate(entries))
        return
    with Judge(limits(seconds), forge) as judge:
        for number, entry in enumerate(entries):
            yield _grade(judge, number, entry, seed)


def _unread(entry: Entry) -> Report:
    return Report(entry.file, entry.kata, entry.submitter, "broken", entry.why)


def _grade(judge: Judge, number: int, entry: Entry, seed: int) -> Graded:
    if entry.why:
        return _reported(number, _unread(entry))
    return _reported(number, grade(judge, entry.kata, Path(entry.file), seed, entry.file, entry.submitter))


def _reported(number: int, one: Report) -> Graded:
    fault = any(outcome.outcome == "error" for outcome in one.outcomes)
    return Graded(number, report.result(one), report.verdict(one), fault)


class _Pool:
    """Jobs that take the submissions from one queue. A job that dies costs the one that it had."""

    def __init__(self, entries: Sequence[Entry], seed: int, seconds: float | None, count: int) -> None:
        self._entries = entries
        self._todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Graded] = queue.SimpleQueue()
        for number in range(len(entries)):
            self._todo.put(number)
        self._orders = json.dumps({"seed": seed, "seconds": seconds})
        self._jobs: list[_Job] = []
        self._closed = False
        self._threads = [threading.Thread(target=self._feed, daemon=True) for _ in range(count)]

    def __iter__(self) -> Iterator[Graded]:
        for thread in self._threads:
            thread.start()
        try:
            for _ in self._entries:
                yield self._done.get()
        finally:
            self._closed = True
            for job in list(self._jobs):
                job.close()

    def _feed(self) -> None:
        """One job's life, from a thread of its own."""
        job = None
        with contextlib.suppress(queue.Empty):
            while not self._closed:
                number = self._todo.get_nowait()
                if job is None:
                    job = _Job(self._orders)
                    self._jobs.append(job)
                try:
                    self._done.put(job.grade(number, self._entries[number]))
                except (OSError, ValueError):
                    lost = replace(_unread(self._entries[number]), says=FAULT)
                    self._done.put(_reported(number, lost)._replace(fault=True))
                    job.close()
                    job = None


class _Job:
    """The other end of a job."""

    def __init__(self, orders: str) -> None:
        path = [str(ROOT), *(entry or os.getcwd() for entry in sys.path)]
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-c", BOOT, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the command to answer
        )
        self._send(orders)

    def _send(self, line: str) -> None:
        stream = self._process.stdin
        assert stream is not None
        stream.write(line + "\n")
        stream.flush()

    def grade(self, number: int, entry: Entry) -> Graded:
        """Have one submission graded; ValueError or OSError when the job is gone."""
        self._send(json.dumps([number, *entry]))
        assert self._process.stdout is not None
        return Graded(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End it, and wait until it has ended its own."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def work() -> None:
    """Be a job."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    orders = json.loads(sys.stdin.readline())
    output, sys.stdout = sys.stdout, sys.stderr  # nothing but answers goes out
    threading.Thread(target=_listen, args=(sys.stdin, lines), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError), Judge(limits(orders["seconds"])) as judge:
        while line := lines.get():
            number, *fields = json.loads(line)
            output.write(json.dumps(_grade(judge, number, Entry(*fields), orders["seed"])) + "\n")
            output.flush()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end of the input interrupts a submission, not this


def _listen(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    """Pass the lines on; at their end, end what the main thread is doing."""
    for line in stream:
        lines.put(line)
    lines.put("")
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
