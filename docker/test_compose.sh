#!/usr/bin/env bash
# test_compose.sh WORK IMAGE: part `compose` of docker/test.sh. Starts a Docker Engine of its own, in a network
# namespace of its own, loads the image and one of Debian's Prometheus under the name in compose.yaml, and
# brings the stack up from the shipped files. Grafana's image cannot be made of Debian's packages: that
# service is left out. Then the two ranks of compose.ranks.yaml.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$1 image=$2
engine=$work/engine
export DOCKER_HOST=unix://$engine/docker.sock COMPOSE_PROJECT_NAME=stoker-test
compose=(docker-compose -f compose.yaml)
prometheus=$(sed -n 's/.*image: \(prom\/prometheus:.*\)/\1/p' compose.yaml)

say() { echo "docker/test_compose.sh: $*" >&2; }

stop_engine() {
  "${compose[@]}" down --volumes >/dev/null 2>&1 || true
  [ ! -e "$engine/pid" ] || kill "$(cat "$engine/pid")" || true
  while [ -e "$engine/pid" ]; do sleep 0.2; done
  umount "$engine/exec/netns/default" 2>/dev/null || true
  rm -rf "$engine"
}

start_engine() {
  mkdir -p "$engine"
  dockerd --data-root "$engine/data" --exec-root "$engine/exec" --pidfile "$engine/pid" \
    -H "$DOCKER_HOST" >"$work/engine.log" 2>&1 &
  local end=$((SECONDS + 30))
  until docker version >/dev/null 2>&1; do
    ((SECONDS < end)) || {
      tail -n 5 "$work/engine.log" >&2
      exit 1
    }
    sleep 0.2
  done
}

# Debian's Prometheus, with the entry point, user and folders of the official image.
make_prometheus() {
  podman build --quiet --network host --tag "localhost/$prometheus" - >/dev/null 2>&1 <<'DOCKERFILE'
FROM debian:bookworm-slim
RUN apt-get update -qq && apt-get install -qq --yes --no-install-recommends prometheus wget >/dev/null \
    && mkdir -p /prometheus && chown 65534:65534 /prometheus
USER 65534
ENTRYPOINT ["/usr/bin/prometheus"]
DOCKERFILE
}

load() { # from podman's storage into the engine
  podman save --quiet --format docker-archive "$1" | docker load --quiet >/dev/null
  docker tag "$1" "$2"
}

query() { # EXPRESSION: the first value, or nothing
  python3 - "$1" <<'PYTHON'
import json, sys, urllib.parse, urllib.request
address = "http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": sys.argv[1]})
with urllib.request.urlopen(address, timeout=10) as answer:
    found = json.load(answer)["data"]["result"]
print(found[0]["value"][1] if found else "")
PYTHON
}

expect() { # SECONDS EXPRESSION PATTERN: until the query's value matches
  local end=$((SECONDS + $1)) value
  until value=$(query "$2") && [[ $value =~ $3 ]]; do
    ((SECONDS < end)) || {
      say "FAILED: $2 is '$value'"
      "${compose[@]}" ps >&2
      "${compose[@]}" logs --tail 20 >&2
      exit 1
    }
    sleep 0.5
  done
  say "$2 = $value"
}

up() { # SERVICE...
  "${compose[@]}" up -d --no-build "$@" >"$work/up.log" 2>&1 || {
    cat "$work/up.log" >&2
    exit 1
  }
}

health() { docker inspect --format '{{.State.Health.Status}}' "$("${compose[@]}" ps -q "$1")"; }

says() { # SERVICE PATTERN: until its log does
  local end=$((SECONDS + 120))
  until "${compose[@]}" logs "$1" 2>/dev/null | grep -q "$2"; do
    ((SECONDS < end)) || {
      say "FAILED: $1 does not say '$2'"
      "${compose[@]}" logs --tail 20 >&2
      exit 1
    }
    sleep 1
  done
  say "$1: $("${compose[@]}" logs "$1" 2>/dev/null | grep -o "$2" | tail -n 1)"
}

stop_saves() { # SERVICE...: together, each with exit code 75
  local service code ids=()
  for service in "$@"; do ids+=("$("${compose[@]}" ps -q "$service")"); done
  "${compose[@]}" stop "$@" >/dev/null 2>&1
  for id in "${ids[@]}"; do
    code=$(docker inspect --format '{{.State.ExitCode}}' "$id")
    [ "$code" = 75 ] || { say "FAILED: stop gave exit code $code, expected 75" && exit 1; }
  done
  say "stop $*: exit code 75"
}

if [ -z "${STOKER_TEST_NAMESPACE:-}" ]; then
  make_prometheus
  exec env STOKER_TEST_NAMESPACE=1 unshare --net "$PWD/test_compose.sh" "$@"
fi
ip link set lo up
trap stop_engine EXIT
start_engine
load "localhost/$prometheus" "$prometheus"
load "$image" "${image#localhost/}"
up prometheus stoker
expect 60 'up{job="stoker"}' '^1$'
expect 60 'count({__name__=~"stoker_.*"})' '^[1-9]'
# Of the recording rules: the rules file is loaded and fits what is scraped.
expect 60 'count({__name__=~".*:.*"})' '^[1-9]'
end=$((SECONDS + 60))
until [ "$(health stoker)" = healthy ]; do
  ((SECONDS < end)) || { say "FAILED: stoker is $(health stoker)" && exit 1; }
  sleep 1
done
say "stoker is $(health stoker), prometheus is $(health prometheus)"
if ss -Hltn 'sport = :9464 or sport = :9090' | awk '{print $4}' | grep -v '^127\.0\.0\.1:'; then
  say "FAILED: published beyond the loopback interface (above)"
  exit 1
fi
stop_saves stoker
up stoker
says stoker 'resumed from.*'

"${compose[@]}" down >/dev/null 2>&1
compose=(docker-compose -f compose.ranks.yaml)
up rank-0 rank-1
says rank-0 ' step [1-9][0-9]*/.*'
stop_saves rank-0 rank-1
up rank-0 rank-1
says rank-0 'resumed from.*'
