#!/usr/bin/env bash
# launch.sh COMMAND...: runs the command for a batch script, lets stoker know when the job must end, and
# puts the job back into the queue where stoker asks for it (exit code 75).
#
# Slurm signals this shell only (#SBATCH --signal=B:TERM@120). It hands the signal on to the program
# itself, once: stoker takes a SIGTERM that comes again, a second later or more, as "now", and wrappers
# either swallow the first or pass it on besides Slurm.
#
# With more than one task srun starts a rank on each. A rank that is lost ends the others itself, and a
# rank that has saved its state and ended must not end those that still do: --kill-on-bad-exit=0.
set -uo pipefail

if [ "${SLURM_NTASKS:-1}" -gt 1 ] && [ "$1" != srun ]; then
  set -- srun --kill-on-bad-exit=0 "$@"
fi
# srun takes it from the job no more, since Slurm 22.05.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}

"$@" &
child=$!

# shellcheck disable=SC2317  # called by the trap
# Process ids of all that the command has started, itself included.
family() {
  local pid
  for pid in "$@"; do
    echo "$pid"
    # shellcheck disable=SC2046  # a list
    family $(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
  done
}

# shellcheck disable=SC2317  # called by the trap
stop() {
  local pid
  for pid in $(family "$child"); do
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = stoker ]; then
      echo "launch.sh: the time is up: SIGTERM to stoker ($pid)" >&2
      kill -TERM "$pid"
      return
    fi
  done
  # Under srun the program is slurmd's child: Slurm signals the steps, and not this shell.
  echo "launch.sh: the time is up: SIGTERM to the steps of job $SLURM_JOB_ID" >&2
  scancel --signal=TERM "$SLURM_JOB_ID"
}
trap stop TERM

# A trap ends the first wait; the second is for the result.
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do
  wait "$child"
  code=$?
done

if [ "$code" = 75 ]; then
  echo "launch.sh: stopped with its state saved: requeue" >&2
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
