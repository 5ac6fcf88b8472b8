#!/usr/bin/env bash
# get_wheels.sh DIR LIST...: unpacks the pinned wheels of each LIST (a file here, such as torch.txt)
# into DIR, without their Python half: DIR/torch/lib, DIR/nvidia/cu13/lib, ...
#
# pip checks them against the hashes in the lists. Nothing is installed. Says nothing when all is
# there. May be interrupted at any time and run by several builds at once: a list is unpacked beside
# DIR, and its mark is written after everything else.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$1
shift
work=$target.partial

# The same files whichever Python runs this, so that one hash each is enough.
download() {
  local platforms=() version
  for version in 2_28 2_27 2_25 2_24 2_18 2_17 2014 2_12 2010 1; do
    case $version in
      *_*) platforms+=(--platform "manylinux_${version}_x86_64") ;;
      *) platforms+=(--platform "manylinux${version}_x86_64") ;;
    esac
  done
  local quiet=(--quiet)
  [ -t 2 ] && quiet=()  # pip's progress bar
  python3 -m pip download "${quiet[@]}" --disable-pip-version-check --no-deps --require-hashes \
    --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
    "${platforms[@]}" --dest "$work/wheels" --requirement "$1" >&2
}

# Of the compiler's wheels and nvJPEG's everything, of pyarrow's what libparquet needs, of all others headers of torch
# and NCCL and shared libraries. A compiler's folder gets the names that a CUDA toolkit has.
unpack() {
  python3 - "$work" <<'PYTHON'
import pathlib, re, sys, zipfile
work = pathlib.Path(sys.argv[1])
compiler = re.compile(r"nvidia_(cuda_nvcc|cuda_crt|cuda_cccl|cuda_runtime|nvvm|nvjpeg)-")
wanted = re.compile(r"(torch|nvidia/nccl|pyarrow)/include/|(torch|nvidia/[^/]+)/lib/[^/]+\.so|pyarrow/lib(arrow|parquet)\.so"
                    r"|[^/]+\.dist-info/.*(?i:license)")
unwanted = re.compile(r"libtorch_python|libshm")
for wheel in (work / "wheels").glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist()
                 if (compiler.match(wheel.name) or wanted.match(n)) and not unwanted.search(n)]
        archive.extractall(work / "tree", names)
    wheel.unlink()
toolkit = work / "tree/nvidia/cu13"
if (toolkit / "nvvm").exists():
    for program in [*toolkit.glob("bin/*"), *toolkit.glob("nvvm/bin/*")]:
        program.chmod(0o755)
    (toolkit / "lib64").symlink_to("lib")
    (toolkit / "lib/libcudart.so").symlink_to("libcudart.so.13")
PYTHON
}

# Adds a list of wheels, unless its mark says that it is there.
add() {
  local mark
  mark=$target/.$1-$(sha256sum "$here/$1" | cut -c1-16)
  [ -e "$mark" ] && return
  echo "downloading the wheels of $1 ($(sed -n 's/^# Size: //p' "$here/$1")) into $target" >&2
  rm -rf "$work"
  mkdir -p "$work/tree"
  download "$here/$1"
  unpack
  mkdir -p "$target"
  cp --recursive --link --force "$work/tree/." "$target/"  # hard links: nothing is copied
  sync --file-system "$target"
  touch "$mark"
  rm -rf "$work"
}

mkdir -p "$(dirname "$target")"
exec 9>"$target.lock"
flock 9
for list in "$@"; do add "$list"; done
