"""When the device computed: by the program's own intervals, and by LibTorch's profiler (CUPTI on a GPU)."""
import json

COPIES = ("Memcpy HtoD", "Memcpy DtoH")  # run beside the steps, on engines of their own


def interval(event, shift_us):
    begin = event["ts"] + shift_us
    return begin, begin + event["dur"]


def covered(intervals, window):
    """Length of their union within the window."""
    total, until = 0.0, window[0]
    for begin, end in sorted(intervals):
        begin, end = max(begin, until), min(end, window[1])
        if end > begin:
            total += end - begin
            until = end
    return total


def of_profiler(path, gpu):
    """Work on the device, in us since 1970: what ran on the stream of the steps, which is the default one and has the
    least number. Without a GPU: LibTorch's operators, on the trainer's thread."""
    trace = json.loads(path.read_text(encoding="utf-8"))
    shift_us = trace["baseTimeNanoseconds"] / 1000
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    if not gpu:
        return [interval(e, shift_us) for e in events if e.get("cat") == "cpu_op" and e["pid"] == e["tid"]]
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    steps = min((e["args"]["stream"] for e in work), default=None)
    return [interval(e, shift_us) for e in work if e["args"]["stream"] == steps and not e["name"].startswith(COPIES)]


def of_program(run):
    """(steps, their parts in which the device waited for the host) by trace.json, which counts from the program's start."""
    trace = json.loads((run.directory / "trace.json").read_text(encoding="utf-8"))
    return [[interval(e, 1e6 * run.summary["started_unix_s"]) for e in trace
             if e.get("cat") == "device" and e["name"] == name] for name in ("step", "starved")]


def idle_between_steps(run, window):
    """By the program; the window in seconds since 1970."""
    window = tuple(1e6 * at for at in window)
    return 1 - covered(of_program(run)[0], window) / (window[1] - window[0])


def idle_shares(run, gpu):
    """(by the program, by the profiler, the program's between steps alone), over the windows that were profiled: each
    from its first to its last work."""
    (steps, starved), length, busy = of_program(run), 0.0, [0.0, 0.0, 0.0]
    for path in sorted(run.directory.glob("profile-*.json")):
        theirs = of_profiler(path, gpu)
        if not theirs:
            continue
        window = min(begin for begin, _ in theirs), max(end for _, end in theirs)
        length += window[1] - window[0]
        busy[0] += covered(steps, window) - covered(starved, window)
        busy[1] += covered(theirs, window)
        busy[2] += covered(steps, window)
    return tuple(1 - b / length for b in busy) if length else None
