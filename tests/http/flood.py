#!/usr/bin/env python3
"""Sends malformed, oversized and slow HTTP requests, then asks whether the server still answers.

http_flood.py ADDRESS [--requests 10000] [--parallel 64] [--seed 1] [--within 10]

ADDRESS is 127.0.0.1:9464 or [::1]:9464. Prints one line of JSON. Exit code 0: /healthz answered
during and after the flood; 1: it did not.
"""
import argparse
import collections
import concurrent.futures
import json
import random
import socket
import struct
import sys
import time

GOOD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATHS = [b"/", b"/metrics", b"/healthz", b"/api/status", b"/none", b"/%zz", b"/../../etc/passwd"]


def garbage(rng):
    return rng.randbytes(rng.randrange(1, 4000)) + rng.choice([b"", b"\r\n\r\n"])


def half(rng):
    return GOOD[:rng.randrange(1, len(GOOD) - 1)]


def long_line(rng):
    return b"GET /" + b"a" * rng.randrange(9000, 200000) + b" HTTP/1.1\r\n\r\n"


def many_headers(rng):
    lines = b"".join(b"X-%d: y\r\n" % i for i in range(rng.randrange(100, 5000)))
    return b"GET / HTTP/1.1\r\n" + lines + b"\r\n"


def body(rng):
    size = rng.randrange(1, 100000)
    head = b"POST %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (rng.choice(PATHS), size)
    return head + b"x" * size


def chunked(rng):
    return b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\nx" % rng.getrandbits(64)


def odd_header(rng):
    header = rng.choice([b"Range: bytes=" + b"0-0," * 1500, b"Range: bytes=99999999999999999999-",
                         b"Accept-Encoding: br, gzip", b"Expect: 100-continue", b"X: \0\xff",
                         b"Content-Length: -1", b"Content-Length: 99999999999999999999"])
    return b"GET %s HTTP/1.1\r\n%s\r\n\r\n" % (rng.choice(PATHS), header)


def method(rng):
    word = rng.choice([b"POST", b"DELETE", b"PRI", b"get", b"", b"GET" * 50])
    return word + b" %s HTTP/%d.1\r\n\r\n" % (rng.choice(PATHS), rng.randrange(4))


def pipeline(rng):
    return GOOD * rng.randrange(2, 200)


REQUESTS = [garbage, half, long_line, many_headers, body, chunked, odd_header, method, pipeline]
# How a client behaves, and how often: the slow ones take a second and more each.
MANNERS = {"read": 50, "close": 25, "reset": 15, "idle": 6, "drip": 3, "deaf": 1}


def talk(address, number, seed):
    """One request. The server may refuse, close or answer: all are right; returns what was done."""
    rng = random.Random(seed * 1000003 + number)
    request = rng.choice(REQUESTS)(rng)
    manner = rng.choices(list(MANNERS), MANNERS.values())[0]
    try:
        with socket.create_connection(address, timeout=10) as client:
            if manner == "drip":
                for byte in GOOD[:10]:
                    client.sendall(bytes([byte]))
                    time.sleep(0.2)
                return manner
            client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" if manner == "deaf" else request)
            if manner == "read":
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            elif manner == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif manner in ("idle", "deaf"):
                time.sleep(1)
    except socket.timeout:
        return manner + " timed out"
    except OSError:  # refused, reset or closed while we sent
        pass
    return manner


def healthy(address, within):
    """Seconds until /healthz is answered, by whatever status; None: not in time."""
    start = time.monotonic()
    while time.monotonic() - start < within:
        try:
            with socket.create_connection(address, timeout=within) as client:
                client.sendall(GOOD)
                reply = b""
                while block := client.recv(65536):
                    reply += block
            if reply.startswith(b"HTTP/1.1 ") and b"\r\n\r\n" in reply:
                return time.monotonic() - start
        except OSError:
            pass
        time.sleep(0.05)
    return None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("address")
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("--parallel", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float, default=10, help="seconds for /healthz")
    given = parser.parse_args()
    host, _, port = given.address.rpartition(":")
    return given, (host.strip("[]"), int(port))


def main():
    given, address = arguments()
    if healthy(address, given.within) is None:
        print(f"{given.address} does not answer before the flood", file=sys.stderr)
        return 1
    start = time.monotonic()
    manners, during = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(given.parallel) as pool:
        waiting = [pool.submit(talk, address, i, given.seed) for i in range(given.requests)]
        while not all(each.done() for each in waiting):
            during.append(healthy(address, given.within))
            time.sleep(0.2)
        manners.update(each.result() for each in waiting)
    flood_s = time.monotonic() - start
    after = healthy(address, given.within)
    answered = [each for each in during if each is not None]
    print(json.dumps({
        "requests": given.requests, "seconds": round(flood_s, 1), "manners": dict(manners),
        "healthz_asked_during": len(during),
        "healthz_unanswered_during": len(during) - len(answered),
        "healthz_slowest_during_s": round(max(answered), 3) if answered else None,
        "healthz_after_s": None if after is None else round(after, 3)}))
    return 0 if after is not None and len(answered) == len(during) else 1


if __name__ == "__main__":
    sys.exit(main())
