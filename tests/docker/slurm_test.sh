#!/usr/bin/env bash
# slurm_test.sh PROGRAM|ROOT: docker/slurm's scripts on a real Slurm of one node, as root, with the program or with
# the one in an image's file system, in a chroot. Needs Debian's slurmctld, slurmd, slurm-client and munge; starts
# daemons of its own and ends them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
project=$PWD
tree=$1
work=$(mktemp -d)
export SLURM_CONF=$work/slurm.conf
host=$(hostname -s)

say() { echo "slurm_test.sh: $*" >&2; }

fail() {
  say "FAILED: $*"
  tail -n 40 "$work"/*.log "$work"/job/*.log >&2 || say "some logs were not written"
  exit 1
}

finish() {
  local mounted
  if squeue -h >/dev/null 2>&1; then scancel --full --signal=KILL --user=root; fi
  local end=$((SECONDS + 10))
  while squeue -h 2>/dev/null | grep -q . && ((SECONDS < end)); do sleep 0.2; done
  cat "$work"/*.pid 2>/dev/null | while read -r pid; do
    kill "$pid" 2>/dev/null || continue
    while kill -0 "$pid" 2>/dev/null && ((SECONDS < end + 20)); do sleep 0.2; done
  done
  for mounted in "$tree/proc" "$tree$work"; do
    if [ -d "$tree" ] && mountpoint -q "$mounted"; then umount "$mounted"; fi
  done
  rm -rf "$work"
}
trap finish EXIT

start_slurm() {
  mkdir -p "$work"/{state,spool,job}
  dd if=/dev/urandom of="$work/munge.key" bs=1 count=1024 status=none
  chmod 400 "$work/munge.key"
  chmod 755 "$work"
  munged --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munged.pid" \
    --log-file="$work/munged.log" --seed-file="$work/munge.seed"
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobRequeue=1
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
  slurmctld -c && slurmd
  local end=$((SECONDS + 120))
  until sinfo -h -o %t 2>/dev/null | grep -q idle; do
    ((SECONDS < end)) || fail "no idle node: $(sinfo)"
    sleep 0.5
  done
}

make_program() {
  if [ -f "$tree" ]; then
    realpath "$tree"
    return
  fi
  mkdir -p "$tree$work"
  mount --bind "$work" "$tree$work"
  mount --bind /proc "$tree/proc" # the dynamic linker asks it where the program lies
  printf '#!/bin/sh\nexec chroot %s sh -c '\''cd /opt/stoker && exec stoker "$@"'\'' stoker "$@"\n' "$tree" \
    >"$work/program"
  chmod +x "$work/program"
  echo "$work/program"
}

state() { scontrol show job "$1" | sed -n "s/.*\b$2=\([^ ]*\).*/\1/p" | head -n 1; }

wait_for() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "$what not within its time"
    sleep 0.5
  done
}

trained() { # ROWS
  [ "$(tail -qn +2 "$work"/job/runs/latest/steps.csv 2>/dev/null | wc -l)" -ge "$1" ]
}

restarted() { [ "$(state "$1" Restarts)" -ge 1 ]; }
finished() { [ "$(state "$1" JobState)" = COMPLETED ]; }
resumed() { grep -qi resum "$work"/job/stoker-*.log; }

fresh_job() {
  rm -rf "$work/job" && mkdir "$work/job"
  ln -s "$project/configs" "$project/datasets" "$work/job/"
}

# A job is signalled as at the end of its time, saves, is queued again, goes on and completes.
preempted() { # SCRIPT TASKS
  fresh_job
  local id
  id=$(cd "$work/job" && sbatch --parsable --ntasks="$2" --cpus-per-task=1 "$1" configs/quickstart.yaml \
    "model={type: linear}" training.max_steps=400 metrics.every_steps=1 evaluation.enabled=false "distributed={}")
  wait_for 600 "seven steps" trained 7
  scancel --signal=TERM --batch "$id"
  wait_for 300 "the second start" restarted "$id"
  # Slurm lets a job that was put back wait for two minutes.
  wait_for 900 "the end" finished "$id"
  resumed || fail "$1: the second start did not resume"
  grep -q "rank 0 of $2 (Slurm" "$work"/job/stoker-*.log || [ "$2" = 1 ] || fail "$1: these were no $2 ranks"
  say "$(basename "$1"), $2 tasks: signalled once, saved, requeued, resumed, completed"
}

# A step of two ranks under way; its number becomes $step, and its srun's process $!.
begin_ranks() { # SRUN'S OPTIONS...
  fresh_job
  (cd "$work/job" && exec srun -n 2 --job-name=ranks "$@" "$STOKER" train configs/quickstart.yaml run.dir="$work/job/runs" \
    "model={type: linear}" evaluation.enabled=false metrics.every_steps=1 training.epochs=1000000 \
    "distributed={}") >"$work/job/srun.log" 2>&1 &
  wait_for 120 "seven steps of two ranks" trained 7
  step=$(squeue -h --steps -o %i --name=ranks | grep '\.0$')
}

ended_with() { # CODE WHAT: srun did
  local code=0
  wait "$!" || code=$?
  [ "$code" = "$1" ] || {
    cat "$work/job/srun.log" >&2
    fail "$2: exit code $code, not $1"
  }
  say "$2: exit code $code"
}

rank_of_step() { # RANK: its process
  local pid
  for pid in $(scontrol listpids "${step%.*}" "$host" | awk -v s="${step#*.}" '$3 == s { print $1 }'); do
    if tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "SLURM_PROCID=$1" &&
      [ "$(cat "/proc/$pid/comm")" = stoker ]; then echo "$pid"; fi
  done
}

# srun starts ranks, and its exit code is the highest of theirs.
ranks() {
  begin_ranks
  scancel --signal=TERM "$step"
  ended_with 75 "srun -n 2, and SIGTERM to the step"
  for option in 0 1; do
    begin_ranks --kill-on-bad-exit=$option
    kill -KILL "$(rank_of_step 1)"
    ended_with 137 "srun -n 2 --kill-on-bad-exit=$option, and a rank killed"
    grep -q "rank 0 of 2: rank 1 .* is gone" "$work/job/srun.log" || say "rank 0 did not say why it ended"
  done
}

start_slurm
STOKER=$(make_program)
export STOKER STOKER_SLURM=$project/docker/slurm
ranks
preempted "$project/docker/slurm/bare.sbatch" 1
preempted "$project/docker/slurm/bare.sbatch" 2

# Pyxis is not in Debian: its options are taken out, the rest of the script is what is shipped.
sed -e 's/--container-[a-z]*="[^"]*"//g; s/--container-[a-z]*=[^ ]*//g; s/--container-readonly//g' \
  -e "s| stoker train | $STOKER train |; s|/runs|$work/job/runs|g" "$project/docker/slurm/pyxis.sbatch" >"$work/pyxis.sbatch"
preempted "$work/pyxis.sbatch" 2
