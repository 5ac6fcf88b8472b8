#!/usr/bin/env bash
# install_test.sh CMAKE BUILD_FOLDER: installs into an empty folder, builds the consumer project
# against that tree alone, and trains with its plug-ins, one of each kind, by the installed program. Its components
# are found by their names.
set -euo pipefail
cmake=$1 build=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

"$cmake" --install "$build" --prefix "$work/tree" >"$work/log" || fail "install" "$(cat "$work/log")"
"$cmake" -G Ninja -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/tree" \
  -DTUTORIAL="$here/../plugins" -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON
"$cmake" --build "$work/consumer"

stoker=$work/tree/bin/stoker
plugins=$work/consumer/lib/stoker
mkdir "$work/sets" "$work/runs"
PLUGINS=$plugins IMAGES=$here/../../datasets/caltech101-mini SETS=$work/sets RUNS=$work/runs \
  "$stoker" train "$here/consumer/each_kind.yaml" >"$work/log" 2>&1 || fail "training" "$(cat "$work/log")"
run=$(echo "$work"/runs/each_kind*)
grep -q '"status": "completed"' "$run/summary.json" || fail "not completed" "$(cat "$run/summary.json")"
last=$(cat "$run/last_report.txt")
[[ $last =~ ^step\ [1-9][0-9]*\ loss\ [0-9.]+$ ]] || fail "the sink's file says '$last'"
[ -s "$work/sets/each_kind.weights" ] || fail "no weights in $(ls "$work/sets")"

grep -q '"right_answers"' "$run/summary.json" || fail "no measure of the plug-in in $(cat "$run/summary.json")"
# The thirteenth kind is a format to write.
PLUGINS=$plugins IMAGES=$here/../../datasets/caltech101-mini SETS=$work/sets RUNS=$work/runs \
  "$stoker" dataset convert "$here/consumer/each_kind.yaml" "$work/keys" --format key_list --no-verify \
  >"$work/log" 2>&1 || fail "convert" "$(cat "$work/log")"
grep -q '^0 .*/.*jpg$' "$work"/keys/*.keys || fail "no keys in $(ls "$work/keys")"

# The quick start is found by its name, with the images that were installed, in whichever folder it is called.
(cd "$work/runs" && "$stoker" check quickstart) >"$work/log" 2>&1 || fail "quickstart" "$(cat "$work/log")"

# What comes in plug-ins is found by its name alone; where one is gone, a line says so.
for swap in decoder.type=opencv "storage.more={type: s3, bucket: b, endpoint: 'http://127.0.0.1:1'}" \
  "dataset={type: lmdb, storage: data}"; do
  "$stoker" check "$here/../../configs/quickstart.yaml" "$swap" >"$work/log" 2>&1 || fail "$swap" "$(cat "$work/log")"
done
[[ $("$stoker" list decoder) == *"stoker_opencv.so: decoder opencv"* ]] || fail "$("$stoker" list decoder)"
rm "$work"/tree/lib*/stoker/stoker_opencv.so
said=$("$stoker" check "$here/../../configs/quickstart.yaml" decoder.type=opencv 2>&1) && fail "no error without the plug-in"
[[ $said == *"stoker_opencv.so, which is not there"* && $said == *"hint: build the target stoker_opencv"* && $(wc -l <<<"$said") = 2 ]] || fail "it says '$said'"

# Shell completion, as bash finds it.
# shellcheck source=/dev/null
source "$work/tree/share/bash-completion/completions/stoker"
COMP_WORDS=("$stoker" describe sto) COMP_CWORD=2
_stoker
[ "${COMPREPLY[*]}" = storage ] || fail "completion of 'describe sto' is '${COMPREPLY[*]}'"
COMP_WORDS=("$stoker" describe storage pos) COMP_CWORD=3
_stoker
[ "${COMPREPLY[*]}" = posix ] || fail "completion of 'describe storage pos' is '${COMPREPLY[*]}'"
COMP_WORDS=("$stoker" bench loader --ep) COMP_CWORD=3
_stoker
[ "${COMPREPLY[*]}" = --epochs ] || fail "completion of 'bench loader --ep' is '${COMPREPLY[*]}'"
