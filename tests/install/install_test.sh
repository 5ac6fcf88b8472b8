#!/usr/bin/env bash
# install_test.sh CMAKE BUILD_FOLDER: installs into an empty folder, builds the consumer project
# against that tree alone, and trains with its plug-ins, one of each kind, by the installed program.
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
  -DTUTORIAL="$here/../plugins" -DCMAKE_BUILD_TYPE=Release
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

# The decoder that comes as a plug-in is installed as well.
decoders=$("$stoker" list decoder --plugin "$work"/tree/lib*/stoker/stoker_opencv.so)
[[ $decoders == *opencv* ]] || fail "no decoder 'opencv' in: $decoders"

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
