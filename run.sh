#!/usr/bin/env bash
# ./run.sh [ARGUMENT...]: installs what is missing, builds stoker and runs it with the arguments;
# without any, trains AlexNet on the images that ship with the project (configs/quickstart.yaml). The
# first time, that builds what the training needs; a call with arguments builds the rest: tools such as
# `report`, and the plug-ins that are loaded when their type is used.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cmake/setup.sh"

fetch_libtorch_meanwhile
if [ $# = 0 ] && [ ! -e "$root/build/lib/stoker/stoker_report.so" ]; then
  install_packages "${program_packages[@]}"
  build build stoker_train -DSTOKER_BUILD_TESTS=OFF
else
  install_packages "${packages[@]}"
  build build stoker_all -DSTOKER_PARQUET="${STOKER_PARQUET:-ON}"
fi
if [ $# = 0 ]; then
  cd "$root"
  set -- train configs/quickstart.yaml
fi
exec "$root/build/bin/stoker" "$@"
