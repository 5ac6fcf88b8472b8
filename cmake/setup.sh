# shellcheck shell=bash
# Shared set-up of run.sh, test.sh and .ci/run, to be sourced: packages, then the build. Says what it
# does when there is something to do, and nothing otherwise.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The same names in Debian 12 and Ubuntu 24.04.
packages=(
  g++ cmake ninja-build ccache git ca-certificates python3 python3-pip
  libfmt-dev libspdlog-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libcurl4-openssl-dev
  libarchive-dev libxxhash-dev libturbojpeg0-dev libopencv-core-dev libopencv-imgproc-dev
  libopencv-imgcodecs-dev libisal-dev liburing-dev libssl-dev
  prometheus-cpp-dev libjs-dygraphs libgtest-dev libgmock-dev python3-pil)

say() { echo "$(basename "$0"): $*" >&2; }

stop() {
  say "$@"
  exit 3
}

# Installs those of the named packages that are missing.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    stop "apt is not here. Install what these Debian packages hold, then build with cmake: $*"
  fi
  local missing log as_root=(env DEBIAN_FRONTEND=noninteractive)
  mapfile -t missing < <(comm -23 <(printf '%s\n' "$@" | sort) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
      sed -n 's/^installed //p' | sort))
  [ ${#missing[@]} != 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      stop "packages are missing; as root: apt-get install ${missing[*]}"
    as_root=(sudo "${as_root[@]}")
  fi
  say "installing with apt-get: ${missing[*]}"
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" \
    apt-get install -qq --yes --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    stop "apt-get failed (see above)"
  fi
  rm "$log"
}

# build FOLDER TARGET [CMAKE OPTION...]: LibTorch is found or fetched by CMake.
build() {
  local folder=$root/$1 target=$2
  shift 2
  install_packages "${packages[@]}"
  cmake -S "$root" -B "$folder" -G Ninja "$@" >/dev/null || stop "cmake failed (see above)"
  if ninja -C "$folder" -n "$target" | grep -q 'no work to do'; then return; fi
  say "building into $folder (the first time takes minutes)"
  cmake --build "$folder" --target "$target" >&2 || stop "the build failed (see above)"
}
