"""What a save costs a loop of steps: for dcp_lost_time, checkpoint_peers and staging_memory."""
import time

NOW = time.perf_counter


def group(steps, step_ms, update, save=None, after=False, waits=False):
    """(stall, seconds beside the waiting) of some steps in which the processor waits, each with an update of the state.
    save() gives what waits until the state may change, and what waits for the files; it is called in the first step,
    right before its update or right after it, or (waits) before the waiting."""
    busy, stall, copied, written = 0, 0, None, None

    def stalled(call):
        nonlocal stall
        begin = NOW()
        result = call()
        stall += NOW() - begin
        return result
    for number in range(steps):
        begin = NOW()
        if save and number == 0 and waits:
            copied, written = stalled(save)
        busy += NOW() - begin
        time.sleep(step_ms / 1e3)
        begin = NOW()
        if save and number == 0 and not after and not waits:
            copied, written = stalled(save)
        if copied:
            stalled(copied)
            copied = None
        update()
        if save and number == 0 and after:
            copied, written = stalled(save)
        busy += NOW() - begin
    if written:
        copied and stalled(copied)
        written()
    return stall, busy


def figures(number, *arguments, save, **more):
    """Of a save: a group with it and one without, in turns."""
    took = {bool(one): group(*arguments, one, **more) for one in ((None, save) if number % 2 else (save, None))}
    return {"stall, ms": 1e3 * took[True][0], "lost per save, ms": 1e3 * (took[True][1] - took[False][1])}
