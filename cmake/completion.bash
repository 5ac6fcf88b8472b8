# bash completion for stoker. Kinds and types of components, which plug-ins add to, are asked of the program.
# From here: tests/run app/commands/completion_test --update
_stoker_commands() {
  case "$*" in
    "") echo "train launch check checkpoint environment darshan report compare timelogger trace doctor describe healthcheck list" ;;
    "checkpoint") echo "list verify" ;;
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
    "darshan") echo "--help --files --output --trace --json --records --json" ;;
    "report") echo "--help --output --json" ;;
    "compare") echo "--help --a --b --metric --threshold --json" ;;
    "timelogger") echo "--help --nodes --timeline --max-bad --json" ;;
    "trace") echo "--help --json" ;;
    "doctor") echo "--help --verify --rounds --seconds --steps --dir --json" ;;
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
