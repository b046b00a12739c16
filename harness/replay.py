"""Runs one call under pdb, in a process that owns the person's terminal: `pytest --pdb` of a kata."""

from __future__ import annotations

import os
import pdb
import sys
import types
from typing import Any

from harness import wire
from harness.forge import LEFT
from harness.prints import Prints
from harness.worker import Worker


class Debugger(pdb.Pdb):
    """pdb that knows whether it was left with `quit`."""

    left = False

    def do_quit(self, arg: str) -> Any:
        """End the replay, and the pytest run with it."""
        self.left = True
        return super().do_quit(arg)

    do_q = do_exit = do_quit


def main(argv: list[str]) -> None:
    """Run one call under pdb in this terminal: at the line that raised, or from the first line of the function."""
    path, name, function, frame = argv
    with open(path, "rb") as file:
        worker = Worker(path, file.read(), name, Prints(""))
    with open(frame, "rb") as file:
        data = file.read()
    debugger = Debugger()
    try:
        worker.execute()
        if function:
            worker.functions[function](*wire.unpack(bytearray(data)))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        debugger.reset()
        debugger.interaction(None, _theirs(error, worker.folder))
    else:
        debugger.runcall(worker.functions[function], *wire.unpack(bytearray(data)))
    sys.exit(LEFT if debugger.left else 0)


def _theirs(error: Exception, folder: str) -> types.TracebackType | None:
    """The traceback from the person's own frames on."""
    trace = error.__traceback__
    while trace and os.path.dirname(trace.tb_frame.f_code.co_filename) != folder and trace.tb_next:
        trace = trace.tb_next
    return trace
