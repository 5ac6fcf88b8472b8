#!/usr/bin/env bash
# pip_install.sh: what python/README.md tells a newcomer, for bare_root.sh: `pip install .` from a checkout into an
# environment of its own, then a first batch and the command.
set -euo pipefail
source cmake/setup.sh
install_packages g++ python3-dev python3-venv "${library_packages[@]}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
started=$SECONDS
times
"$work/venv/bin/pip" install --disable-pip-version-check .
times
echo "pip install . took $((SECONDS - started)) s; the lines before and after it are CPU time, of children second"
"$work/venv/bin/pip" install --quiet numpy
"$work/venv/bin/python" tests/install/installed_package.py
