#!/usr/bin/env bash
# tests/fuzz/run.sh [--memory] SECONDS [TARGET...]: builds the targets with clang, runs each (or those
# named) so long on one core, and prints what came of it. 0 seconds: the corpus alone. What it finds
# lies in build-fuzz/findings, what is worth keeping for the next run in build-fuzz/corpus.
# --memory: the JPEG targets with clang's memory sanitizer, our decoder without libjpeg-turbo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source cmake/setup.sh

folder=build-fuzz fuzz=ON
if [ "${1:-}" = --memory ]; then
  folder=build-fuzz-memory fuzz=memory
  shift
fi
[[ ${1:-} =~ ^[0-9]+$ ]] || stop "expected: tests/fuzz/run.sh [--memory] SECONDS [TARGET...]"
seconds=$1
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  if [ $fuzz = memory ]; then
    targets=(jpeg jpeg_header exif)
  else
    mapfile -t targets < <(ls tests/fuzz/corpus)
  fi
fi

install_packages clang libclang-rt-dev
build $folder fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DSTOKER_FUZZ=$fuzz \
  -DSTOKER_BUILD_TESTS=OFF -DSTOKER_CUDA=OFF

export ASAN_OPTIONS=malloc_context_size=1:quarantine_size_mb=16
status=0
printf '%-14s %12s %8s %10s %7s  %s\n' target executions seconds per_second corpus finding
for target in "${targets[@]}"; do
  corpus=$folder/corpus/$target findings=$folder/findings
  mkdir -p "$corpus" "$findings"
  log=$folder/$target.log
  started=$SECONDS
  limit=(-max_total_time="$seconds")
  [ "$seconds" != 0 ] || limit=(-runs=0)
  finding=none
  if ! "$folder/fuzz/${target}_fuzz" "${limit[@]}" -max_len=2048 -timeout=10 -entropic=0 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" "$corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    finding="see $log" status=1
  fi
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  took=$((SECONDS - started))
  printf '%-14s %12s %8s %10s %7s  %s\n' "$target" "${executions:-0}" $took \
    $((${executions:-0} / (took > 0 ? took : 1))) "$(find "$corpus" -type f | wc -l)" "$finding"
done
exit $status
