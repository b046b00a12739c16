"""What one call does inside the worker: its memory and its lines. The text of this file is appended to a submission.

So it is never imported, stands alone, and defines one name. The numbers are those of the person's own lines.
"""


def kata_meter(path, last, watch, function, *args):  # type: ignore[no-untyped-def]  # noqa: C901
    """Run a call of a function of the file `path`, whose own lines end at `last`.

    Without `watch`: the peak of what was allocated on top of what was there before the call, in all and by line, and
    how often each line ran. With `watch`, which itself keeps arrays alive: the largest array that a variable held, the
    line that first had a float64 array or scalar, and the arguments whose memory the answer shares.
    """
    import sys
    import tracemalloc

    import numpy

    counts, peaks, seen = {}, {}, {"line": 0, "level": 0, "wide": 0, "largest": None}

    def settle(line):  # type: ignore[no-untyped-def]
        level, peak = tracemalloc.get_traced_memory()
        before = seen["line"]
        if before:
            peaks[before] = max(peaks.get(before, (0, 0)), (peak, peak - seen["level"]))
        tracemalloc.reset_peak()
        seen["line"], seen["level"] = line, level

    def look(frame, value):  # type: ignore[no-untyped-def]
        for name, held in [*frame.f_locals.items(), ("", value)]:
            if isinstance(held, numpy.ndarray | numpy.generic) and held.dtype == numpy.float64 and not seen["wide"]:
                seen["wide"] = seen["line"]
            if name and type(held) is numpy.ndarray and held.flags.owndata:
                if seen["largest"] is None or held.nbytes > seen["largest"][2]:
                    seen["largest"] = [name, list(held.shape), held.nbytes, seen["line"]]
        seen["line"] = frame.f_lineno

    def trace(frame, event, value):  # type: ignore[no-untyped-def]
        code = frame.f_code
        if code.co_filename != path or code.co_firstlineno > last:
            return None
        if event == "line":
            counts[frame.f_lineno] = counts.get(frame.f_lineno, 0) + 1
        back = frame.f_back if event == "return" else None
        if watch:
            look(frame, value if event == "return" else None)
        if not watch or back is not None:
            ours = back is not None and back.f_code.co_filename == path and back.f_code.co_firstlineno <= last
            settle(back.f_lineno if ours else frame.f_lineno)
        return trace

    run = globals()[function]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    sys.settrace(trace)
    try:
        answer = run(*args)
    finally:
        sys.settrace(None)
        settle(0)
        tracemalloc.stop()
    arrays = [value for value in args if type(value) is numpy.ndarray]
    shares = [n for n, value in enumerate(args) if value is not answer and any(value is a for a in arrays)]
    shares = [n for n in shares if isinstance(answer, numpy.ndarray) and numpy.may_share_memory(answer, args[n])]
    return {
        "peak": max([peak - before for peak, _ in peaks.values()], default=0),
        "peaks": [[line, rise] for line, (_, rise) in sorted(peaks.items())],
        "counts": [[line, count] for line, count in sorted(counts.items())],
        "largest": seen["largest"],
        "wide": seen["wide"],
        "shares": shares,
    }
