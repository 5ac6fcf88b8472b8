"""What strace saw of files, call by call, and Darshan's counters of it: its rules written down a second time."""
import collections
import dataclasses
import os
import re

# One file for each thread, so that no call is in two lines.
OPTIONS = ("-ff", "-qq", "--seccomp-bpf", "-s", "0", "-ttt", "-y", "-e",
           "trace=?open,openat,?creat,read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2,lseek,mmap,fsync,"
           "fdatasync,?stat,?lstat,fstat,?newfstatat,statx,close")
LINE = re.compile(r"(\d+\.\d+) (\w+)\((.*)\) += (\d+|0x[0-9a-f]+)(?:<(.*)>)?(?: \(.*\))?$")
OF_DESCRIPTOR = re.compile(r"\d+<(.*?)>(?:, |$)")
KINDS = {"read": "read", "pread64": "read", "readv": "read", "preadv": "read", "preadv2": "read", "write": "write",
         "pwrite64": "write", "writev": "write", "pwritev": "write", "pwritev2": "write", "open": "open", "openat": "open",
         "creat": "open", "lseek": "seek", "fsync": "sync", "fdatasync": "sync of data", "close": "close"}
BOUNDS = [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30]
BUCKETS = ["0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"]


@dataclasses.dataclass
class Call:
    at: float
    kind: str
    path: str
    result: int
    offset: int | None = None  # None: where the descriptor stands


def call_of(line):
    """None: it failed, or is of no file with a name."""
    found = LINE.match(line)
    if not found:
        return None
    at, name, arguments, result, opened = found.groups()
    result = int(result, 0)
    if name.endswith("stat") or name in ("statx", "newfstatat"):
        if "S_IFREG" not in arguments:
            return None
        directory = re.match(r"(?:\d+|AT_FDCWD)<(.*?)>, ", arguments)
        named = re.search(r'"([^"]*)"', arguments)
        if not (named and named[1]) and not directory:
            return None  # a file that has no name any more
        path = named[1] if named and named[1] else directory[1]
        return Call(float(at), "stat", os.path.join(directory[1] if directory else "/", path), result)
    if name == "mmap":
        mapped = re.search(r", \d+<(/[^>]*)>, \S+$", arguments)
        return Call(float(at), "map", mapped[1], result) if mapped else None
    if name not in KINDS:
        return None
    path = opened if KINDS[name] == "open" else (OF_DESCRIPTOR.match(arguments) or [None, None])[1]
    if path is None or not path.startswith("/"):
        return None
    last = arguments.rsplit(", ", 1)[-1]
    return Call(float(at), KINDS[name], path, result, int(last) if name.startswith(("pread", "pwrite")) else None)


def calls_by_file(folder):
    """{path: its calls in the order of time} of all threads' files in a folder."""
    files = collections.defaultdict(list)
    for trace in folder.iterdir():
        for line in trace.read_text(errors="surrogateescape").splitlines():
            if call := call_of(line):
                files[call.path].append(call)
    for calls in files.values():
        calls.sort(key=lambda call: call.at)
    return files


def common(values, name, value_name):
    shown = sorted(((count, value) for value, count in values.items() if value != 0), reverse=True)[:4] + 4 * [(0, 0)]
    return {f"POSIX_{name}{i + 1}_{part}": shown[i][which] for i in range(4) for part, which in ((value_name, 1), ("COUNT", 0))}


def posix_counters(calls, alignment):
    """Darshan's counters of a file that is used by one thread at a time, but for modes, times and addresses."""
    count = collections.Counter()
    values, strides, offset, last, moved, most = collections.Counter(), collections.Counter(), 0, {}, None, collections.Counter()
    names = {"seek": "SEEKS", "sync": "FSYNCS", "sync of data": "FDSYNCS", "stat": "STATS", "map": "MMAPS", "open": "OPENS"}
    for call in calls:
        count[names.get(call.kind)] += 1
        if call.kind == "seek":
            offset = call.result
        elif call.kind in ("open", "close"):
            offset, last = (0 if call.kind == "open" else offset), {"read": 0, "write": 0}
        elif call.kind in ("read", "write"):
            at = offset if call.offset is None else call.offset
            verb, done, before = call.kind.upper(), "READ" if call.kind == "read" else "WRITTEN", last[call.kind]
            count[f"{verb}S"] += 1
            count[f"BYTES_{done}"] += call.result
            count[f"SEQ_{verb}S"] += at > before
            count[f"CONSEC_{verb}S"] += at == before + 1
            strides[at - before - 1 if at > before and before != 0 else 0] += 1
            values[call.result] += 1
            count[f"SIZE_{verb}_{BUCKETS[sum(call.result > bound for bound in BOUNDS)]}"] += 1
            count["FILE_NOT_ALIGNED"] += at % alignment != 0
            count["RW_SWITCHES"] += moved not in (None, call.kind)
            offset, moved = at + call.result, call.kind
            last[call.kind] = offset - 1
            most[f"MAX_BYTE_{done}"] = max(most[f"MAX_BYTE_{done}"], offset - 1)
    zero = ["OPENS", "SEEKS", "STATS", "MMAPS", "FSYNCS", "FDSYNCS", "RW_SWITCHES", "FILE_NOT_ALIGNED", "BYTES_READ", "BYTES_WRITTEN",
            "MAX_BYTE_READ", "MAX_BYTE_WRITTEN"]
    zero += [f"{part}{verb}S" for part in ("", "SEQ_", "CONSEC_") for verb in ("READ", "WRITE")]
    zero += [f"SIZE_{verb}_{bucket}" for verb in ("READ", "WRITE") for bucket in BUCKETS]
    return ({f"POSIX_{name}": (count | most)[name] for name in zero} | common(values, "ACCESS", "ACCESS")
            | common(strides, "STRIDE", "STRIDE"))
