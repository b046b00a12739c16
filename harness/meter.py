"""What one call does inside the worker: its memory and its lines. The text of this file is appended to a submission.

So the kit never imports it, it stands alone, and it defines one name. Its numbers are of the person's own lines.
"""


class KataMeter:
    """Runs one call of a function of the file `path`, whose own lines end at `last`.

    Without `watch`: the peak of what was allocated on top of what was there before the call, in all and by line, and
    how often each line ran. With `watch`, which itself keeps arrays alive: the largest array that a variable held, the
    line that first had something of float64, and the numbers of the arguments whose memory the answer shares.
    """

    import sys
    import tracemalloc

    import numpy

    def __init__(self, path: str, last: int, watch: bool) -> None:
        self.path, self.last, self.watch = path, last, watch
        self.counts: dict[int, int] = {}
        self.peaks: dict[int, int] = {}
        self.line = self.level = self.start = self.peak = self.wide = 0
        self.largest: list[object] = ["", [], 0, 0]

    def run(self, function: str, args: tuple[object, ...]) -> dict[str, object]:
        """What was measured, as plain values."""
        call = globals()[function]
        self.tracemalloc.start()
        self.level = self.start = self.tracemalloc.get_traced_memory()[0]
        self.sys.settrace(self.trace)
        try:
            answer = call(*args)
        finally:
            self.sys.settrace(None)
            self.settle(0)
            self.tracemalloc.stop()
        array = self.numpy.ndarray
        arrays = {n: value for n, value in enumerate(args) if isinstance(value, array) and isinstance(answer, array)}
        return {
            "peak": self.peak - self.start,
            "peaks": [[line, rise] for line, rise in sorted(self.peaks.items())],
            "counts": [[line, count] for line, count in sorted(self.counts.items())],
            "largest": self.largest,
            "wide": self.wide,
            "shares": [n for n, value in arrays.items() if self.numpy.may_share_memory(answer, value)],
        }

    def trace(self, frame, event, value):  # type: ignore[no-untyped-def]  # as sys.settrace calls it
        """Follow the lines of the person's file, and no others."""
        if not self.own(frame):
            return None
        if event == "line":
            self.counts[frame.f_lineno] = self.counts.get(frame.f_lineno, 0) + 1
        if self.watch:
            self.look(frame, value if event == "return" else None)
        back = frame.f_back if event == "return" else frame
        if self.own(back):
            self.settle(back.f_lineno)
        return self.trace

    def own(self, frame) -> bool:  # type: ignore[no-untyped-def]
        """Whether a frame is of the person's code."""
        code = frame.f_code
        return bool(code.co_filename == self.path and code.co_firstlineno <= self.last)

    def settle(self, line: int) -> None:
        """Put what was allocated since the last event down to the line that ran."""
        level, peak = self.tracemalloc.get_traced_memory()
        if self.line:
            self.peaks[self.line] = max(self.peaks.get(self.line, 0), peak - self.level)
            self.peak = max(self.peak, peak)
        self.tracemalloc.reset_peak()
        self.line, self.level = line, level

    def look(self, frame, value) -> None:  # type: ignore[no-untyped-def]
        """Look through what the variables of a frame hold, and what it returns."""
        for name, held in [*frame.f_locals.items(), ("", value)]:
            if not isinstance(held, self.numpy.ndarray | self.numpy.generic):
                continue
            if held.dtype == self.numpy.float64 and not self.wide:
                self.wide = self.line
            if name and type(held) is self.numpy.ndarray and held.flags.owndata and held.nbytes > self.largest[2]:  # type: ignore[operator]
                self.largest = [name, list(held.shape), held.nbytes, self.line]


def kata_meter(path: str, last: int, watch: bool, function: str, *args: object) -> dict[str, object]:
    """Measure one call."""
    return KataMeter(path, last, watch).run(function, args)
