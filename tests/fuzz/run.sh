#!/usr/bin/env bash
# tests/fuzz/run.sh [--fast] SECONDS|Nx [TARGET...]: builds the targets with clang, runs each (or those
# named) so long, or N times, on one core, and prints what came of it; 0 seconds: the corpus alone. What
# it finds lies in build-fuzz/findings, what is worth keeping for the next run in build-fuzz/corpus.
# --fast: more executions a second, without the address sanitizer; run 0 seconds without it afterwards.
# tests/fuzz/run.sh --memory: what was kept, through our JPEG decoder under clang's memory sanitizer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source cmake/setup.sh

# build_fuzz FOLDER KIND
build_fuzz() {
  install_packages "${packages[@]}" clang libclang-rt-dev libjpeg-dev
  build "$1" fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DSTOKER_FUZZ="$2" \
    -DSTOKER_BUILD_TESTS=OFF -DSTOKER_CUDA=OFF
}

if [ "${1:-}" = --memory ]; then
  build_fuzz build-fuzz-memory memory
  for target in exif jpeg jpeg_header; do
    echo "$target"
    mkdir -p build-fuzz/corpus/$target
    find tests/fuzz/corpus/$target build-fuzz/corpus/$target -type f -print0 |
      xargs -0 build-fuzz-memory/fuzz/${target}_fuzz
  done
  exit
fi

folder=build-fuzz kind=ON
if [ "${1:-}" = --fast ]; then
  folder=build-fuzz-fast kind=fast
  shift
fi
[[ ${1:-} =~ ^[0-9]+x?$ ]] || stop "expected: tests/fuzz/run.sh [--fast] SECONDS|Nx [TARGET...], or --memory"
case $1 in
  0) limit=-runs=0 ;;
  *x) limit=-runs=${1%x} ;;
  *) limit=-max_total_time=$1 ;;
esac
shift
targets=("$@")
[ ${#targets[@]} != 0 ] || mapfile -t targets < <(ls tests/fuzz/corpus)
build_fuzz $folder $kind

export ASAN_OPTIONS=malloc_context_size=1:quarantine_size_mb=16
status=0
printf '%-14s %12s %8s %10s %7s  %s\n' target executions seconds per_second corpus finding
for target in "${targets[@]}"; do
  corpus=build-fuzz/corpus/$target findings=build-fuzz/findings
  mkdir -p "$corpus" "$findings"
  log=$folder/$target.log
  started=$SECONDS
  finding=none
  if ! "$folder/fuzz/${target}_fuzz" "$limit" -max_len=2048 -timeout=10 -entropic=0 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" "$corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    finding="see $log" status=1
  fi
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  took=$((SECONDS - started))
  printf '%-14s %12s %8s %10s %7s  %s\n' "$target" "${executions:-0}" $took \
    $((${executions:-0} / (took > 0 ? took : 1))) "$(find "$corpus" -type f | wc -l)" "$finding"
done
exit $status
