"""A tier that `stoker mount` serves, for tests of the Python package."""
import contextlib
import os
import subprocess
import time

from engine import PATIENCE_S, PROGRAM


def is_mounted(place):
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return any(line.split()[4] == str(place) for line in mounts)


@contextlib.contextmanager
def mounted_slowly(test, data, folder):
    """The files of `data` as a file system of which every read takes ten seconds; skips the test where none can be mounted."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        test.skipTest("no /dev/fuse that may be used")
    place = folder.resolve() / "at"
    place.mkdir()
    config = folder / "mount.yaml"
    config.write_text(f"storage: {{slow: {{type: emulated, read_mb_per_s: 1000, write_mb_per_s: 1000, "
                      f"read_latency_ms: 10000, inner: {{type: posix, root: {data}}}}}}}\n")
    with subprocess.Popen([PROGRAM, "mount", config, "slow", place, "--mode", "direct"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + PATIENCE_S
            while not is_mounted(place):
                if process.poll() is not None:
                    test.skipTest(f"nothing can be mounted here: {process.stderr.read()}")
                test.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            yield place
        finally:
            process.terminate()
            process.communicate()
            if is_mounted(place):
                subprocess.run(["umount", "-l", place], check=False)
