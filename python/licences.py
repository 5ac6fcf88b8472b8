#!/usr/bin/env python3
"""licences.py WHEEL FOLDER: adds to a wheel what the libraries in it are licensed under.

auditwheel has put copies of Debian's libraries into the wheel's *.libs: the copyright file of each one's package is
added to the wheel's licenses, and all files of FOLDER (what is linked statically, what is only headers). Prints the
libraries by package. The wheel stays where it is.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def package(library):
    """Of Debian, that holds the library which auditwheel has renamed: libfmt-1a2b3c4d.so.9.1.0."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    return run("dpkg", "--search", f"*/{name}").split(":")[0]


def main():
    wheel, static = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", work, str(wheel))
        [folder] = pathlib.Path(work).iterdir()
        [licences] = [info / "licenses" for info in folder.glob("*.dist-info")]
        licences.mkdir(exist_ok=True)
        sources = {path.name: path for path in static.iterdir()}
        for library in sorted(folder.glob("*.libs/*")):
            name = package(library.name)
            sources[name] = pathlib.Path("/usr/share/doc") / name / "copyright"
            print(f"{wheel.name}: {library.name} ({library.stat().st_size} bytes, {name})")
        for name, source in sources.items():
            (licences / name).write_bytes(source.read_bytes())
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", str(wheel.parent), str(folder))


if __name__ == "__main__":
    main()
