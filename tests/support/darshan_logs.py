"""Logs in Darshan's format, byte by byte: of any version, byte order and compression that it documents."""
import bz2
import struct
import zlib

MAGIC = 6567223
POSIX, STDIO, DXT_POSIX = "POSIX", "STDIO", "DXT_POSIX"
# Where a module stands: before format 3.20, before 3.41, and in it.
NUMBERS = {POSIX: (1, 1, 1), STDIO: (7, 8, 9), DXT_POSIX: (8, 9, 10)}
NEW_IN_POSIX_4, TIMES_NEW_IN_POSIX_3 = (1, 2, 10, 11, 12), (3, 4)
# How a part is packed: the header's byte, and the function.
PACKINGS = {"zlib": (0, zlib.compress), "bzip2": (1, bz2.compress), "none": (2, lambda data: data)}


def counters_record(order, name, rank, counters, times):
    return struct.pack(f"{order}Qq{len(counters)}q{len(times)}d", name, rank, *counters, *times)


def posix_record(order, version, name, rank, counters, times, streams=(0, 0, 0, 0)):
    """Of version 4's counters, as an older version has them; streams: what version 1 counts apart, FOPENS and so on."""
    if version < 4:
        counters = [value for at, value in enumerate(counters) if at not in NEW_IN_POSIX_4]
    if version < 3:
        times = [time for at, time in enumerate(times) if at not in TIMES_NEW_IN_POSIX_3]
    if version < 2:
        counters[6:6] = streams
    return counters_record(order, name, rank, counters, times)


def segments_record(order, name, rank, host, writes, reads, threads=()):
    """Segments are (offset, bytes, begin, end); with a thread each from version 2 on."""
    record = struct.pack(f"{order}Qqq", name, rank, 0) + host.encode().ljust(64, b"\0")
    record += struct.pack(f"{order}qq", len(writes), len(reads))
    for at, segment in enumerate((*writes, *reads)):
        record += struct.pack(f"{order}qqdd", *segment) + (struct.pack(f"{order}Q", threads[at]) if threads else b"")
    return record


def darshan_log(modules, names, version="3.41", order="<", packing="zlib", job=(1000, 1_500_000_000, 1_500_000_010, 1, 42),
                command="program -x", mounts=(("ext4", "/"),), partial=(), metadata="lib_ver=3.5.0\n", streams=1):
    """modules: {name: (version, records)}; names: {id: path}. streams: a part is so many compressed ones, one behind the other."""
    newest, age = version == "3.41", (version >= "3.20") + (version >= "3.41")
    count = 64 if newest else 16
    number, compress = PACKINGS[packing]

    def pack(data):
        step = max(1, -(-len(data) // streams))
        return b"".join(compress(data[at:at + step]) for at in range(0, len(data), step))

    uid, begin, end, ranks, job_id = job
    times = (begin, 250_000_000, end, 750_000_000) if newest else (begin, end)
    text = command + "".join(f"\n{kind}\t{path}" for kind, path in mounts)
    parts = [pack(struct.pack(f"{order}{len(times) + 3}q", uid, *times, ranks, job_id)
                  + metadata.encode().ljust(1024, b"\0") + text.encode() + b"\0")]
    at = (1328 if newest else 360) + len(parts[0])
    places, versions, flags = [(0, 0)] * (count + 1), [0] * count, 0

    def add(place, data):
        nonlocal at
        parts.append(pack(data))
        places[place] = at, len(parts[-1])
        at += len(parts[-1])

    def named(path):
        return struct.pack(f"{order}I", len(path)) + path if version == "3.00" else path + b"\0"

    add(0, b"".join(struct.pack(f"{order}Q", name) + named(path.encode()) for name, path in names.items()))
    for name, (module_version, records) in modules.items():
        module = NUMBERS[name][age]
        versions[module] = module_version
        flags |= (name in partial) << module
        add(module + 1, b"".join(records))
    header = version.encode().ljust(8, b"\0") + struct.pack(f"{order}q", MAGIC) + bytes([number])
    header += bytes(7) + struct.pack(f"{order}Q", flags) if newest else bytes(3) + struct.pack(f"{order}I", flags)
    header += b"".join(struct.pack(f"{order}QQ", *place) for place in places) + struct.pack(f"{order}{count}I", *versions)
    return header + b"".join(parts)
