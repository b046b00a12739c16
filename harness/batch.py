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
from pathlib import Path
from typing import IO, Any, NamedTuple

from harness import report
from harness.collect import Entry
from harness.forge import ROOT, Forge, environment
from harness.grade import Grading, finish, start
from harness.judge import Judge, Limits
from harness.model import Report
from harness.source import Unreadable

BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from harness import batch; batch.work()"
ENDING = 10.0
AHEAD = 2  # in one job: the one that is graded, and the one that starts
Waiting = queue.SimpleQueue["tuple[int, Entry] | None"]
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
        waiting: Waiting = queue.SimpleQueue()
        for given in (*enumerate(entries), None):
            waiting.put(given)
        yield from _graded(judge, waiting, seed)


def _unread(entry: Entry) -> Report:
    return Report(entry.file, entry.kata, entry.submitter, "broken", entry.why)


def _graded(judge: Judge, waiting: Waiting, seed: int) -> Iterator[Graded]:
    """Each submission up to a None, graded; the worker of the next one starts meanwhile, if there is one by then."""
    started: list[tuple[int, Entry, Grading | Unreadable]] = []
    more = True
    while more or started:
        if more and (not started or (len(started) < AHEAD and not waiting.empty())):
            given = waiting.get()
            more = given is not None
            if given is not None:
                number, entry = given
                why = Unreadable(entry.why) if entry.why else None
                started.append((number, entry, why or start(judge, entry.kata, Path(entry.file), seed)))
        else:
            yield _finished(*started.pop(0))


def _finished(number: int, entry: Entry, grading: Grading | Unreadable) -> Graded:
    return _reported(number, finish(grading, entry.kata, entry.file, entry.submitter))


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
        """One job's life, from a thread of its own. When it dies, what it had in hand is tried once more, alone."""
        job: _Job | None = None
        sent: list[int] = []
        alone = False
        while not self._closed:
            with contextlib.suppress(queue.Empty):
                while not sent or (not alone and len(sent) <= AHEAD and self._todo.qsize() >= len(self._threads)):
                    sent.append(self._todo.get_nowait())
            if not sent:
                return
            try:
                if job is None:
                    job = _Job(self._orders)
                    self._jobs.append(job)
                self._done.put(job.grade([(number, self._entries[number]) for number in sent]))
                del sent[0]
                alone = False
            except (OSError, ValueError):
                if job:
                    job.close()
                job, alone = None, not alone
                if not alone:
                    lost = _unread(self._entries[sent[0]])._replace(says=FAULT)
                    self._done.put(_reported(sent[0], lost)._replace(fault=True))
                for number in sent[1:]:
                    self._todo.put(number)
                sent = sent[:1] if alone else []


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
        self._known: set[int] = set()
        self._send(orders)

    def _send(self, line: str) -> None:
        stream = self._process.stdin
        assert stream is not None
        stream.write(line + "\n")
        stream.flush()

    def grade(self, ahead: Sequence[tuple[int, Entry]]) -> Graded:
        """Have the first of some submissions graded, and the others started; ValueError or OSError when it is gone."""
        for number, entry in ahead:
            if number not in self._known:
                self._known.add(number)
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
    waiting: Waiting = queue.SimpleQueue()
    orders = json.loads(sys.stdin.readline())
    output, sys.stdout = sys.stdout, sys.stderr  # nothing but answers goes out
    threading.Thread(target=_listen, args=(sys.stdin, waiting), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError), Judge(limits(orders["seconds"])) as judge:
        for one in _graded(judge, waiting, orders["seed"]):
            output.write(json.dumps(one) + "\n")
            output.flush()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end of the input interrupts a submission, not this


def _listen(stream: IO[str], waiting: Waiting) -> None:
    """Pass the submissions on; at their end, end what the main thread is doing."""
    for line in stream:
        number, *fields = json.loads(line)
        waiting.put((number, Entry(*fields)))
    waiting.put(None)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
