#!/usr/bin/env bash
# acceptance.sh OUT [--stand-in] [--only PART...]: what the program promises of a GPU, measured on this machine's. README.md
# says what the parts are. In a bundle (bundle.sh) the program is the bundle's, with the LibTorch of python3; in a
# checkout it is that of build/, with its own. STOKER names another program, STOKER_LIBTORCH another LibTorch's folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
libraries='' program=$root/build/bin/stoker torch=${STOKER_LIBTORCH:-}
if [ -x "$root/bin/stoker" ]; then
  libraries=$root/lib:$root/lib/stoker program=$root/bin/stoker
  folder_of_torch='import importlib.util as util
torch = util.find_spec("torch")
print(torch.submodule_search_locations[0].rsplit("/", 1)[0] if torch else "")'
  torch=${torch:-$(python3 -c "$folder_of_torch")}
fi
export STOKER=${STOKER:-$program}
if [ ! -x "$STOKER" ]; then
  echo "acceptance.sh: there is no $STOKER: ./run.sh list builds it" >&2
  exit 2
fi
for folder in ${torch:+"$torch/torch/lib" "$torch"/nvidia/*/lib}; do
  if [ -d "$folder" ]; then libraries+=:$folder; fi
done
export STOKER_LIBRARIES=${libraries#:}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONPATH=$root/tests/experiments/peers exec python3 -B "$here/acceptance.py" "$@"
