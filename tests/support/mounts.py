"""What is mounted here, and whether anything can be."""
import os
import pathlib
import subprocess


def why_no_mount():
    """Why nothing can be mounted here; empty: it can."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "no /dev/fuse that may be used"
    if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
        return "this container may not mount"
    return ""


def mounted(path):
    return any(line.split()[4] == str(path) for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
