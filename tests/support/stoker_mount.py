"""Whether file systems can be mounted here; and a tier that `stoker mount` serves, for tests of the Python package."""
import contextlib
import os
import pathlib
import subprocess
import time

from engine import PATIENCE_S, PROGRAM


def why_no_mount():
    """Why nothing can be mounted here; empty: it can."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "no /dev/fuse that may be used"
    if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
        return "this container may not mount"
    return ""


def mounted(path):
    return any(line.split()[4] == str(path) for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


@contextlib.contextmanager
def mounted_slowly(test, data, folder):
    """The files of `data` as a file system of which every read takes ten seconds; skips the test where none can be mounted."""
    if why := why_no_mount():
        test.skipTest(why)
    place = folder.resolve() / "at"
    place.mkdir()
    config = folder / "mount.yaml"
    config.write_text(f"storage: {{slow: {{type: emulated, read_mb_per_s: 1000, write_mb_per_s: 1000, "
                      f"read_latency_ms: 10000, inner: {{type: posix, root: {data}}}}}}}\n")
    with subprocess.Popen([PROGRAM, "mount", config, "slow", place, "--mode", "direct"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + PATIENCE_S
            while not mounted(place):
                test.assertIsNone(process.poll(), "stoker mount has ended by itself")
                test.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            yield place
        finally:
            process.terminate()
            process.communicate()
            if mounted(place):
                subprocess.run(["umount", "-l", place], check=False)
