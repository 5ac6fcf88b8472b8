"""Objects a second through the tiers http and s3, beside curl (nginx) or rclone (the others) on the same server.

--small objects of 4 KB and --large ones of 32 MiB. Ours is `stoker bench read`, which reads every object once and keeps
none; curl writes to /dev/null, rclone (Debian's package) to /dev/shm. For docs/results.md and
io/storage/object/README.md.
"""
import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

from object_servers import moto, nginx, swift
from stoker import configuration, flow, needed, posix

ROUNDS = 5
OPTIONS = {"server": {"nginx": 0, "moto": 0, "swift": 0}, "small": 10_000, "large": 100, "connections": 16}


def write(lab, tier, count):
    (lab.folder / "rate.yaml").write_text(configuration(
        {"data": flow(**tier)},
        dataset=f"{{type: image_folder, storage: data, split: {{train_per_class: {count // 2}, test_per_class: 0}}}}"))


def compare(lab, stack, root, count, size):
    connections, environment, server = lab.given.connections, {}, lab.given.server
    if server == "nginx":
        url = stack.enter_context(nginx(root)).rstrip("/")
        tier = {"type": "http", "url": url, "listing": "json"}
    else:
        bucket = stack.enter_context({"moto": moto, "swift": swift}[server]())
        tier, environment = bucket.tier(), bucket.environment
        remote = f":s3,provider=Other,env_auth=true,endpoint='{bucket.endpoint}':{bucket.name}"
    figures = lambda seconds: {"objects/s": count / seconds, "MB/s": 1e-6 * count * size / seconds}

    def timed_run(*words, **more):
        begin = time.monotonic()
        subprocess.run(list(map(str, words)), check=True, stderr=subprocess.DEVNULL, **more)
        return figures(time.monotonic() - begin)

    def put():
        write(lab, {"type": "cached", "fill": "ahead", "limit": "1TiB", "inner": posix(root), "in": flow(**tier)},
              count)
        begin = time.monotonic()
        lab.stoker("dataset", "stage", "rate.yaml", env=environment)
        return figures(time.monotonic() - begin)

    def ours():
        write(lab, tier | {"in_flight": connections}, count)
        return figures(lab.json("bench", "read", "rate.yaml", f"--threads={connections}", "--page-cache=as_is",
                                "--repetitions=2", env=environment)["results"][0]["repetitions"][0]["seconds"])

    def curl():
        (lab.folder / "urls").write_text("".join(f'url = "{url}/{path.relative_to(root)}"\noutput = /dev/null\n'
                                                 for path in root.rglob("*.jpg")))
        return timed_run("curl", "-s", "-f", "--no-progress-meter", "--parallel", "--parallel-max", connections, "-K",
                         lab.folder / "urls")

    def rclone():
        own = {name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"} | environment
        with tempfile.TemporaryDirectory(dir="/dev/shm") as target:
            return timed_run(needed("rclone", package="rclone"), "copy", remote, target, "--transfers", connections,
                             "--no-check-dest", "--config", "/dev/null", "--quiet", env=own)

    what = f"{server}, {count:,} x {size:,} bytes"
    if server != "nginx":
        lab.measure(f"{what}, put", {"ours": put}, rounds=1)
    other = curl if server == "nginx" else rclone
    lab.measure(what, {other.__name__: other, "ours": ours}, reference=other.__name__)


def run(lab):
    for name, count, size in (("small", lab.given.small, 4 << 10), ("large", lab.given.large, 32 << 20)):
        if count and lab.chosen([name]):
            with contextlib.ExitStack() as stack:
                root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=lab.folder)))
                for number in range(count):  # a data set of two classes
                    path = root / f"class{number % 2}" / f"{number:06}.jpg"
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(os.urandom(size))
                root.chmod(0o755)
                lab.folder.chmod(0o755)
                compare(lab, stack, root, count, size)
