#!/usr/bin/env python3
"""What `stoker run` costs a program: a call, and the whole of it.

run_cost.py [--calls N] [--rounds N]        ns a pread, with and without, of 1 and 4 threads, of one file and of a file each; a process of /bin/true
run_cost.py --images FOLDER [--rounds N]    wall time of a program that decodes a folder's JPEG files by PIL, once
run_cost.py --command 'WORDS' [--rounds N]  wall time of any command

With and without are interleaved, round by round; the least and the median of the rounds are printed. The counters alone
are loaded in `counted`; `run` is the whole command, its start, its watching and its log included.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
STOKER = os.path.abspath(os.environ.get("STOKER") or SOURCE / "build/bin/stoker")

CALLS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static const char* folder;
static long calls;
static int files;
static atomic_int began;
static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
static void* work(void* out) {
  char buffer[64], path[4096];
  snprintf(path, sizeof path, "%s/data%d", folder, atomic_fetch_add(&began, 1) % files);
  const int fd = open(path, O_RDONLY);
  const double cpu = now(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 0; i < calls; ++i) {
    if (pread(fd, buffer, sizeof buffer, (i * 64) % 8192) != sizeof buffer) abort();
  }
  *(double*)out = (now(CLOCK_THREAD_CPUTIME_ID) - cpu) / calls;
  close(fd);
  return NULL;
}
int main(int argc, char** argv) {
  folder = argv[1];
  calls = atol(argv[2]);
  const int threads = atoi(argv[3]);
  files = atoi(argv[5]);
  pthread_t ids[64];
  double ns[64], sum = 0;
  const double begin = now(CLOCK_MONOTONIC);
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, &ns[i]);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  const double wall = (now(CLOCK_MONOTONIC) - begin) / calls;
  for (int i = 0; i < threads; ++i) sum += ns[i];
  FILE* out = fopen(argv[4], "w");
  fprintf(out, "[%.2f, %.2f]", sum / threads, wall);
  fclose(out);
  return 0;
}
"""

DECODE = """
import sys, pathlib
from PIL import Image
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.jpg")):
    with open(path, "rb") as file:
        Image.open(file).convert("RGB").resize((224, 224))
"""


def run(command, counted, folder):
    log = ["run", "--log", folder / "log.darshan", "--"] if counted else []
    whole = [STOKER, *log, *command] if counted else command
    begin = time.monotonic()
    subprocess.run(list(map(str, whole)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return time.monotonic() - begin


def row(name, unit, without, counted):
    least = min(counted) - min(without)
    median = statistics.median(counted) - statistics.median(without)
    print(f"{name:28} {min(without):9.2f} {statistics.median(without):9.2f} {min(counted):9.2f} "
          f"{statistics.median(counted):9.2f} {least:9.2f} {median:9.2f} {100 * least / min(without):8.1f} "
          f"{100 * median / statistics.median(without):8.1f}  {unit}", flush=True)


def calls(folder, count, rounds):
    program, source = folder / "calls", folder / "calls.c"
    source.write_text(CALLS)
    subprocess.run([shutil.which("cc") or "gcc", "-O2", "-pthread", source, "-o", program], check=True)
    for number in range(4):
        (folder / f"data{number}").write_bytes(bytes(16384))
    for threads, files in ((1, 1), (4, 4), (4, 1)):
        ns = {False: ([], []), True: ([], [])}
        for _ in range(rounds):
            for counted in (False, True):
                run([program, folder, count, threads, folder / "out", files], counted, folder)
                for kind, value in zip(ns[counted], json.loads((folder / "out").read_text())):
                    kind.append(value)
        what = f"{threads} thread(s), {files} file(s)"
        row(f"{what}, CPU", "ns a call", ns[False][0], ns[True][0])
        row(f"{what}, wall", "ns a call", ns[False][1], ns[True][1])


def whole(name, command, folder, rounds):
    seconds = {False: [], True: []}
    run(command, False, folder)
    for _ in range(rounds):
        for counted in (False, True):
            seconds[counted].append(1e3 * run(command, counted, folder))
    row(name, "ms", seconds[False], seconds[True])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--calls", type=int, default=10_000_000)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--images")
    arguments.add_argument("--command")
    asked = arguments.parse_args()
    print(f"{'':28} {'without':>19} {'with':>19} {'difference':>19} {'%':>17}")
    print(f"{'':28} {'least':>9} {'median':>9} {'least':>9} {'median':>9} {'least':>9} {'median':>9} {'least':>8} {'median':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if asked.images:
            whole("images", [sys.executable, "-c", DECODE, asked.images], folder, asked.rounds)
        elif asked.command:
            whole("command", shlex.split(asked.command), folder, asked.rounds)
        else:
            calls(folder, asked.calls, asked.rounds)
            whole("/bin/true", ["/bin/true"], folder, 4 * asked.rounds)


main()
