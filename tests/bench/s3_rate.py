"""Objects a second through the tiers http and s3, beside curl (nginx) or rclone (the others) on the same
server, one after the other.

s3_rate.py [--server nginx|swift|moto] [--small N] [--large N] [--rounds N] [--connections N]

N small objects of 4 KB and N large ones of 32 MiB. Ours is `stoker bench read`, which reads every object once and keeps
none; curl writes to /dev/null, rclone (Debian's package) to /dev/shm. Prints the median and the best of the rounds.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from object_servers import moto, nginx, swift
from stoker import configuration, flow, needed, posix, stoker

SMALL, LARGE = 4 << 10, 32 << 20


def make(root, count, size):
    """Files that look like a data set of two classes."""
    for number in range(count):
        path = root / f"class{number % 2}" / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))


class Server:
    """Where the objects are, and how each program gets at them: each returns its seconds."""

    def __init__(self, stack, kind, folder, given):
        self.folder, self.connections, self.environment = folder, given.connections, {}
        self.root = folder / "data"
        if kind == "nginx":
            self.url = stack.enter_context(nginx(self.root)).rstrip("/")
            self.tier = {"type": "http", "url": self.url, "listing": "json"}
            return
        bucket = stack.enter_context({"moto": moto, "swift": swift}[kind]())
        self.tier = bucket.tier()
        self.remote = f":s3,provider=Other,env_auth=true,endpoint='{bucket.endpoint}':{bucket.name}"
        self.environment = bucket.environment

    def config(self, tier):
        file = self.folder / "rate.yaml"
        file.write_text(configuration({"data": flow(**tier)}, dataset="{type: image_folder, storage: data, split: "
                                      f"{{train_per_class: {len(list(self.root.rglob('*.jpg'))) // 2}, test_per_class: 0}}}}"))
        return file

    def put(self):
        config = self.config({"type": "cached", "fill": "ahead", "limit": "1TiB", "inner": posix(self.root),
                              "in": flow(**self.tier)})
        begin = time.monotonic()
        stoker("dataset", "stage", config, cwd=self.folder, env=self.environment)
        return time.monotonic() - begin

    def ours(self):
        config = self.config(self.tier | {"in_flight": self.connections})
        done = stoker("bench", "read", config, f"--threads={self.connections}", "--page-cache=as_is", "--repetitions=2",
                      "--json", cwd=self.folder, env=self.environment)
        return json.loads(done.stdout)["results"][0]["repetitions"][0]["seconds"]

    def curl(self):
        urls = self.folder / "urls"
        urls.write_text("".join(f'url = "{self.url}/{path.relative_to(self.root)}"\noutput = /dev/null\n'
                                for path in self.root.rglob("*.jpg")))
        return seconds("curl", "-s", "-f", "--no-progress-meter", "--parallel", "--parallel-max", self.connections, "-K", urls, stderr=subprocess.DEVNULL)

    def rclone(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as target:
            return seconds(needed("rclone", package="rclone"), "copy", self.remote, target, "--transfers", self.connections,
                           "--no-check-dest", "--config", "/dev/null", "--quiet", env={name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"} |
                           self.environment)


def seconds(*words, **options):
    begin = time.monotonic()
    subprocess.run(list(map(str, words)), check=True, **options)
    return time.monotonic() - begin


def measure(kind, count, size, given):
    with tempfile.TemporaryDirectory(prefix="stoker-rate-") as place, contextlib.ExitStack() as stack:
        folder = pathlib.Path(place)
        make(folder / "data", count, size)
        server = Server(stack, kind, folder, given)
        ways = {"ours": server.ours} | ({"curl": server.curl} if kind == "nginx" else {"rclone": server.rclone})
        if kind != "nginx":
            took = server.put()
            print(f"{kind}, {count} x {size:,} bytes, put by ours: {count / took:,.0f}/s, {count * size / took / 1e6:,.0f} MB/s")
        took = {name: [] for name in ways}
        for _ in range(given.rounds):
            for name, way in ways.items():
                took[name].append(way())
        for name, all_s in took.items():
            middle, best = statistics.median(all_s), min(all_s)
            print(f"{kind}, {count} x {size:,} bytes, {name:>6}: median {count / middle:,.0f}/s, {count * size / middle / 1e6:,.0f} "
                  f"MB/s; best {count / best:,.0f}/s, {count * size / best / 1e6:,.0f} MB/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=("nginx", "moto", "swift"), default="nginx")
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    given = parser.parse_args()
    for count, size in ((given.small, SMALL), (given.large, LARGE)):
        if count > 0:
            measure(given.server, count, size, given)


if __name__ == "__main__":
    main()
