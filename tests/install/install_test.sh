#!/usr/bin/env bash
# install_test.sh CMAKE BUILD_FOLDER: installs into an empty folder, builds the consumer project
# against that tree alone, and loads its plug-ins with the installed program.
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
storages=$("$stoker" list storage --plugin "$plugins/reversed.so")
[[ $storages == *reversed* ]] || fail "no storage 'reversed' in: $storages"
models=$("$stoker" list model --plugin "$plugins/channel_means.so")
[[ $models == *channel_means* ]] || fail "no model 'channel_means' in: $models"

# The decoder that comes as a plug-in is installed as well.
decoders=$("$stoker" list decoder --plugin "$work"/tree/lib*/stoker/stoker_opencv.so)
[[ $decoders == *opencv* ]] || fail "no decoder 'opencv' in: $decoders"

# Shell completion, as bash finds it.
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
