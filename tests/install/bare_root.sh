#!/usr/bin/env bash
# bare_root.sh bookworm|trixie [FOLDER [COMMAND...]]: the README's two commands, as a newcomer has them. Makes the
# smallest Debian root that has apt, with git, in FOLDER, or where that is empty in one that is removed at the end;
# clones what is committed here into the home of its root, where no other user may look; runs ./run.sh and ./test.sh
# there, or the commands that are given, each one word ("SANITIZE=address ./test.sh -R io"). Prints the time of each,
# when the training began, warnings of the compiler and what the tests skipped; 0 where all passed. As root; needs
# mmdebstrap, 10 GB and some 20 minutes.
#
# The mirror, proxies, certificates and settings of pip are those of this machine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$here/cmake/setup.sh"
release=${1:-}
case $release in
  bookworm | trixie) ;;
  *)
    sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

if [ -n "${2:-}" ]; then folder=$2; else
  folder=$(mktemp -d)
  trap 'rm -rf --one-file-system "$folder"' EXIT
fi
root=$folder/root
mkdir -p "$root"

# shellcheck disable=SC2317  # both are called through step
make_root() {
  local mirror
  # shellcheck disable=SC2016  # apt's own words
  mirror=$(apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' |
    sed -n 's/^Debian //p' | head -n 1)
  apt-config dump | sed -n '/^Acquire::https\?::proxy/Ip' >"$folder/proxy"
  mmdebstrap --variant=apt --aptopt="$folder/proxy" --include=git,ca-certificates "$release" "$root" "$mirror"
  cp "$folder/proxy" "$root/etc/apt/apt.conf.d/90proxy"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/"; fi
  cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
  chroot "$root" update-ca-certificates
  git clone --no-hardlinks "$here" "$root/root/stoker"
}

# Mounts and processes live in namespaces of their own and end with the command.
# shellcheck disable=SC2317
inside() {
  local settings
  mapfile -t settings < <(env | grep -iE '^(PIP_[A-Z_]*|(https?|no)_proxy)=')
  # shellcheck disable=SC2016  # $0 and $@ are those of the inner shell
  unshare --mount --pid --fork --kill-child bash -ec '
    mount -t proc proc "$0/proc"
    mount --rbind /sys "$0/sys"
    mount --rbind /dev "$0/dev"
    exec chroot "$0" "$@"' "$root" env -i --chdir=/root/stoker HOME=/root LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" "$@"
}

# Whoever ends this wants to know how far it was.
log=
trap 'if [ -n "$log" ]; then tail -n 200 "$log"; echo "== $release: ended by a signal in that"; fi; exit 143' TERM

result=0
# step NAME COMMAND...: its time on the clock and on all cores; of its output, the last lines. Not in a condition,
# where set -e would not hold for the command either.
step() {
  local started=$SECONDS spent outcome=passed
  log=$folder/${1//\//_}.log
  spent=$(core_seconds $$)
  "${@:2}" >"$log" 2>&1 </dev/null &
  if ! wait $!; then
    outcome=FAILED
    result=1
  fi
  if [ $outcome = passed ]; then tail -n 12 "$log"; else
    # What each test that failed had printed, and the end.
    sed -n '/\*\*\*/,/^ *Start /p' "$log" | tail -n 500
    tail -n 100 "$log"
  fi
  spent=$(($(core_seconds $$) - spent))
  echo "== $release, $(nproc) cores: $1 $outcome after $((SECONDS - started)) s," \
    "$spent s of CPU, $(sed -n '/warning: /p' "$log" | wc -l) warnings"
}

step root make_root
[ $result = 0 ] || exit $result
commands=("${@:3}")
[ ${#commands[@]} != 0 ] || commands=(./run.sh ./test.sh)
for command in "${commands[@]}"; do
  began=$(date +%s)
  step "$command" inside bash -c "$command"
  # A run begins with its configuration.
  if [ "$command" = ./run.sh ] && [ $result = 0 ]; then
    echo "== the training began after $(($(stat -c %Y "$root/root/stoker/runs/latest/config.yaml") - began)) s"
  fi
done
exit $result
