#!/usr/bin/env bash
# ./run.sh [ARGUMENT...]: installs what is missing, builds stoker and runs it with the arguments;
# without any, trains AlexNet on the images that ship with the project (configs/quickstart.yaml).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cmake/setup.sh"

build build stoker_all
if [ $# = 0 ]; then
  cd "$root"
  set -- train configs/quickstart.yaml
fi
exec "$root/build/bin/stoker" "$@"
