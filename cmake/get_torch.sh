#!/usr/bin/env bash
# get_torch.sh DIR: puts the pinned LibTorch into DIR (torch/include, torch/lib, nvidia/*/lib).
#
# From the wheels of torch.txt and, where a GPU driver is present or STOKER_TORCH_CUDA=1, those of
# torch-cuda.txt, checked by pip against the hashes there. Nothing is installed. Says nothing when
# all is there. May be interrupted at any time and run by several builds at once: a set is unpacked
# beside DIR, and its mark is written after everything else.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$1
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

# Headers and shared libraries of every downloaded wheel; not the Python half of torch.
unpack() {
  python3 - "$work" <<'PYTHON'
import pathlib, re, sys, zipfile
work = pathlib.Path(sys.argv[1])
wanted = re.compile(r"torch/include/|(torch|nvidia/[^/]+)/lib/[^/]+\.so|[^/]+\.dist-info/.*(?i:license)")
unwanted = re.compile(r"libtorch_python|libshm")
for wheel in (work / "wheels").glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if wanted.match(n) and not unwanted.search(n)]
        archive.extractall(work / "tree", names)
    wheel.unlink()
PYTHON
}

# Adds the set of wheels called $1, of about $2, unless its mark says that it is there.
add() {
  local mark
  mark=$target/.$1-$(sha256sum "$here/$1" | cut -c1-16)
  [ -e "$mark" ] && return
  echo "LibTorch: downloading the wheels of $1 ($2) into $target" >&2
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

has_driver() { ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; }

mkdir -p "$(dirname "$target")"
exec 9>"$target.lock"
flock 9
add torch.txt "520 MB"
if [ -n "${STOKER_TORCH_CUDA:-}" ] || has_driver; then add torch-cuda.txt "2 GB"; fi
