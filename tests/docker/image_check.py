#!/usr/bin/env python3
"""image_check.py VERSION cpu|gpu: what docker/README.md promises of an image; what `podman image
inspect` says of it on standard input."""
import json
import sys

version, kind = sys.argv[1:]
image, = json.load(sys.stdin)
config = image["Config"]
labels = config["Labels"]
environment = dict(line.split("=", 1) for line in config["Env"])

assert config["User"] == "10001:10001", config["User"]
assert config["Entrypoint"] == ["stoker"], config["Entrypoint"]
assert config["StopSignal"] in ("SIGTERM", "15"), config["StopSignal"]
assert list(config["Volumes"]) == ["/runs"], config["Volumes"]
assert config["WorkingDir"] == "/opt/stoker", config["WorkingDir"]
assert image["Healthcheck"]["Test"] == ["CMD", "stoker", "healthcheck"], image["Healthcheck"]
assert labels["org.opencontainers.image.version"] == version, labels
assert labels["org.opencontainers.image.licenses"] == "Apache-2.0", labels
assert labels["org.opencontainers.image.revision"] != "unknown", labels
if kind == "gpu":
    assert environment["NVIDIA_VISIBLE_DEVICES"] == "all", environment
    assert environment["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility", environment
else:
    assert "NVIDIA_VISIBLE_DEVICES" not in environment, environment
print(f"{kind} image: user, entry point, stop signal, volume, health check and labels are right")
