#!/usr/bin/env python3
"""Writes the image's bill of materials (SPDX 2.3, JSON) to standard output.

sbom.py [--revision R] CMAKELISTS DPKG_STATUS REQUIREMENTS...

From dpkg's database of the runtime image and from the hash-checked requirements whose files are in
it. The same input gives the same bytes; the time of creation is SOURCE_DATE_EPOCH.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re


def package(name, version, purl, **more):
    identity = re.sub(r"[^A-Za-z0-9.-]", "-", f"{purl.split('/')[0][4:]}-{name}-{version}")
    return {"SPDXID": f"SPDXRef-{identity}", "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}]} | more


def debian_packages(status):
    for paragraph in status.read_text().split("\n\n"):
        field = dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.MULTILINE))
        if field.get("Status", "").endswith(" installed"):
            name, version, arch = field["Package"], field["Version"], field["Architecture"]
            source = field.get("Source", name)
            yield package(name, version,
                          f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={arch}&distro=debian-12",
                          supplier=f"Organization: {field['Maintainer'].split(' <')[0]}",
                          sourceInfo=f"built from the Debian source package {source}")


def wheels(requirements):
    for line in requirements.read_text().splitlines():
        if match := re.match(r"([\w-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$", line):
            name, version, digest = match.groups()
            yield package(name, version, f"pkg:pypi/{name}@{version}",
                          checksums=[{"algorithm": "SHA256", "checksumValue": digest}],
                          sourceInfo="shared libraries of the wheel with this checksum, "
                                     "as far as the program needs them")


def document(version, revision, parts):
    program = package("stoker", version, f"pkg:generic/stoker@{version}?vcs_revision={revision}",
                      licenseDeclared="Apache-2.0")
    digest = hashlib.sha256(json.dumps([program, parts]).encode()).hexdigest()
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or 0),
                                             datetime.timezone.utc)
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", program["SPDXID"])]
    relations += [(program["SPDXID"], "DEPENDS_ON", part["SPDXID"]) for part in parts]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"stoker-{version}", "documentNamespace": f"urn:sha256:{digest}",
            "creationInfo": {"created": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
                             "creators": ["Tool: stoker-docker-sbom"]},
            "packages": [program, *parts],
            "relationships": [{"spdxElementId": a, "relationshipType": kind,
                               "relatedSpdxElement": b} for a, kind, b in relations]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--revision", default="unknown")
    parser.add_argument("cmakelists", type=pathlib.Path)
    parser.add_argument("status", type=pathlib.Path)
    parser.add_argument("requirements", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    version = re.search(r"project\(stoker VERSION ([\d.]+)", arguments.cmakelists.read_text()).group(1)
    parts = list(debian_packages(arguments.status))
    for requirements in arguments.requirements:
        parts += wheels(requirements)
    print(json.dumps(document(version, arguments.revision, parts), indent=1))


if __name__ == "__main__":
    main()
