#!/usr/bin/env bash
# make_wheels.sh FOLDER [PYTHON...]: builds the wheels `stoker` (one for each Python that is named: 3.12 serves all
# later ones) and `stoker-train` into FOLDER, for any Linux since 2021 (glibc 2.34, GCC 11's libstdc++).
# Prints what they hold. On Debian 12: what a newer one builds needs more.
set -euo pipefail
# shellcheck source=cmake/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
if [ $# = 0 ]; then
  sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed '$d' >&2
  exit 2
fi
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
pythons=("$@")
[ ${#pythons[@]} != 0 ] || pythons=(python3)

install_packages "${program_packages[@]}" python3-venv python3-dev
slim=$root/build/_deps/slim
"$root/python/slim_libraries.sh" "$slim"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Ours; of what is linked statically; of headers.
cp -r "$slim/licences" "$work/licences"
cp "$root/LICENSE" "$work/licences/stoker"
for name in libcli11-dev libspdlog-dev nlohmann-json3-dev libjs-dygraphs; do
  cp "/usr/share/doc/$name/copyright" "$work/licences/$name"
done

# wheel PYTHON SOURCE. OpenCV, HDF5 and Parquet bring more along than all else.
wheel() {
  local python=$1 source=$2 tools
  tools=$work/tools-$(basename "$python")
  if [ ! -e "$tools" ]; then
    "$python" -m venv "$tools"
    # Before 3.12 there is no stable ABI that CMake has to know of: Debian's will do.
    local cmake=()
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then cmake=(cmake); fi
    quietly "$tools/bin/pip" install --quiet "${wheel_packages[@]}" "${cmake[@]}"
  fi
  rm -rf "$work/built"
  # pip 23.0 of Debian 12 has no -C.
  CC=cc CXX=c++ CMAKE_PREFIX_PATH=$slim quietly "$tools/bin/pip" wheel "$source" --no-deps --no-build-isolation \
    --wheel-dir "$work/built" --config-settings cmake.define.opencv_core_LIBRARY=OFF \
    --config-settings cmake.define.hdf5_LIBRARY=OFF --config-settings cmake.define.STOKER_PORTABLE=ON \
    --config-settings cmake.define.STOKER_PARQUET=OFF
  PATH=$tools/bin:$PATH quietly "$tools/bin/auditwheel" repair --plat manylinux_2_34_x86_64 --wheel-dir "$work/repaired" \
    --exclude 'libtorch*.so' --exclude 'libc10*.so' "$work"/built/*.whl
  "$tools/bin/python" "$root/python/licences.py" "$work"/repaired/*.whl "$work/licences"
  mv "$work"/repaired/*.whl "$folder/"
}

for python in "${pythons[@]}"; do wheel "$python" "$root"; done
wheel "${pythons[0]}" "$root/python/train"
ls -l "$folder"
