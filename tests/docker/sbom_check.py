#!/usr/bin/env python3
"""sbom_check.py ROOT VERSION: the bill of materials in an image's file system names what is in it."""
import json
import pathlib
import subprocess
import sys

root, version = pathlib.Path(sys.argv[1]), sys.argv[2]
document = json.loads((root / "usr/share/sbom/stoker.spdx.json").read_text())
packages = {(p["name"], p["versionInfo"]) for p in document["packages"]}
identities = [p["SPDXID"] for p in document["packages"]]

installed = subprocess.run(
    ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f=${Package} ${Version}\\n"],
    check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
assert len(installed) > 50, f"only {len(installed)} packages in {root}"
missing = [line for line in installed if tuple(line.split()) not in packages]
assert not missing, f"not in the bill of materials: {missing}"
assert ("stoker", version) in packages
assert len(identities) == len(set(identities)), "two entries have one SPDXID"

# A folder below nvidia/ or torch/ comes from a wheel, and each wheel has a checksum.
wheels = {p["name"] for p in document["packages"] if p.get("checksums")}
assert "torch" in wheels and "nvidia-cuda-runtime" in wheels, wheels
has_cuda = (root / "opt/libtorch/torch/lib/libtorch_cuda.so").exists()
assert ("nvidia-cublas" in wheels) == has_cuda, (has_cuda, wheels)
print(f"bill of materials: {len(installed)} Debian packages and {len(wheels)} wheels, all named")
