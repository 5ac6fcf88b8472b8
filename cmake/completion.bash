# bash completion for stoker. Kinds and types of components, which plug-ins add to, are asked of the program.
# From here: tests/run app/commands/completion_test --update
_stoker_commands() {
  case "$*" in
    "") echo "train launch check checkpoint environment bench headspace dataset darshan report compare timelogger trace doctor sweep simulate advise mount describe healthcheck list" ;;
    "checkpoint") echo "list verify" ;;
    "bench") echo "read loader decode storage lmdb checkpoint train" ;;
    "dataset") echo "fetch inspect synth convert stage" ;;
  esac
}
_stoker_options() {
  case "$*" in
    "") echo "--help --version" ;;
    "train") echo "--help --json --quiet" ;;
    "launch") echo "--help --json --ranks --quiet" ;;
    "check") echo "--help --json" ;;
    "checkpoint") echo "--help" ;;
    "checkpoint list") echo "--help --json" ;;
    "checkpoint verify") echo "--help --json --all" ;;
    "environment") echo "--help --json" ;;
    "bench") echo "--help" ;;
    "bench read") echo "--help --json --stages --threads --pipeline --loader --batch --batches --repetitions --page-cache" ;;
    "bench loader") echo "--help --json --epochs --ceiling-samples --scaling --dump --quick" ;;
    "bench decode") echo "--help --json --versus --samples --rounds" ;;
    "bench storage") echo "--help --block-size --transfer-size --threads --pattern --op --fsync --file-per-thread --shared --file- --objects --cold --seconds --directory --rounds --fit --json" ;;
    "bench lmdb") echo "--help --json --ranks --readers --rounds --steps --page-cache --drop-caches" ;;
    "bench checkpoint") echo "--help --json --rounds --loop --step-ms --every --loader --loop" ;;
    "bench train") echo "--help --json --threads --workers --steps --warm-up --rounds --bare --at-most" ;;
    "headspace") echo "--help --json --epochs --steps" ;;
    "dataset") echo "--help" ;;
    "dataset fetch") echo "--help --to --archive --url --json" ;;
    "dataset inspect") echo "--help --json --samples" ;;
    "dataset synth") echo "--help --samples --classes --kind --size --per-file --test-files --per-test-file --median-bytes --sigma --seed --json" ;;
    "dataset convert") echo "--help --format --tier --shard-size --pixels --shuffle --no-verify --json" ;;
    "dataset stage") echo "--help --json --dry-run" ;;
    "darshan") echo "--help --files --output --trace --json --records --json" ;;
    "report") echo "--help --output --json" ;;
    "compare") echo "--help --a --b --metric --threshold --json" ;;
    "timelogger") echo "--help --nodes --timeline --max-bad --json" ;;
    "trace") echo "--help --json" ;;
    "doctor") echo "--help --verify --rounds --seconds --steps --dir --json" ;;
    "sweep") echo "--help --set --directory --restart --report-only --check --json" ;;
    "simulate") echo "--help --run --machine --what-if --inputs --json" ;;
    "advise") echo "--help --capacity --max-file --fast --slow-fit --fast-fit --profile --output --auto --json" ;;
    "mount") echo "--help --mode --read-ahead --allow-other --threads --json" ;;
    "describe") echo "--help --plugin --json" ;;
    "healthcheck") echo "--help --json" ;;
    "list") echo "--help --figures --plugin --json" ;;
  esac
}
# To here.
_stoker() {
  local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} path=() arguments=() word choices
  choices=$(_stoker_commands)
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ ${#arguments[@]} = 0 ] && [[ " $choices " == *" $word "* ]]; then
      path+=("$word")
      choices=$(_stoker_commands "${path[@]}")
    elif [[ $word != -* ]]; then
      arguments+=("$word")
    fi
  done
  case "${path[*]}/${#arguments[@]}" in
    list/0 | describe/0) choices=$("$program" list 2>/dev/null | grep -o '^[a-z]*') ;;
    describe/1) choices=$("$program" list "${arguments[0]}" 2>/dev/null | grep '^[a-z]' | cut -d' ' -f2- | tr -d ',') ;;
  esac
  if [[ $current == -* ]]; then choices=$(_stoker_options "${path[@]}"); fi
  # Nothing to choose from: file names, by -o default.
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}
complete -o default -F _stoker stoker
