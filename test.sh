#!/usr/bin/env bash
# ./test.sh [CTEST ARGUMENT...]: installs what is missing, builds stoker and runs its tests; the last lines name what was
# skipped. With no argument: the tests that every change has to pass. STOKER_LONG=1: all tests, those with the label `long` as
# well, and what takes long is done more often. STOKER_UNIT_TESTS=OFF: those alone that drive the program, so that no others are
# compiled. SANITIZE=address|thread ./test.sh: in a build folder of its own, those tests of io/ that do not run LibTorch's
# kernels (LibTorch is not instrumented); `thread`: those that have threads; `address` with STOKER_LONG=1: those of app/ as well.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cmake/setup.sh"

wrapper=()
case ${SANITIZE:-} in
  "") folder=build ;;
  address) folder=build-asan ;;
  thread)
    folder=build-tsan
    # GCC 12's ThreadSanitizer does not start where addresses are randomised over 32 bits.
    if setarch -R true 2>/dev/null; then wrapper=(setarch -R); fi
    ;;
  *)
    say "SANITIZE=$SANITIZE: expected address or thread"
    exit 2
    ;;
esac
options=(-DSTOKER_BUILD_TESTS=ON -DSTOKER_SANITIZE="${SANITIZE:-}")
[ -n "${SANITIZE:-}" ] || options+=(-DSTOKER_UNIT_TESTS="${STOKER_UNIT_TESTS:-ON}" -DSTOKER_PYTHON=ON -DPython_EXECUTABLE="$python_environment/bin/python3")
[ -z "${SANITIZE:-}" ] || options+=(-DCMAKE_BUILD_TYPE=Debug -DSTOKER_SANITIZE_APP="${STOKER_LONG:+ON}")

fetch_libtorch_meanwhile
install_for_tests
build "$folder" all "${options[@]}"
# Tests kill processes, which then leave files behind.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf --one-file-system "$TMPDIR"' EXIT
selection=("$@")
[ $# != 0 ] || [ -n "${STOKER_LONG:-}" ] || selection=(-LE long)
status=0
# One more than cores: some wait for a disk or a clock.
"${wrapper[@]}" ctest --test-dir "$root/$folder" --output-on-failure -j $(($(nproc) + 1)) "${selection[@]}" || status=$?
python3 "$root/tests/skipped.py" "$root/$folder/Testing/Temporary/LastTest.log" >&2
exit $status
