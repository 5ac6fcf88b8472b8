# bash completion for stoker. Commands, kinds and types are asked of the program itself.
_stoker_commands() {
  "$@" --help 2>/dev/null | sed -n '/^subcommands:/I,$s/^  \([a-z]\+\) .*/\1/p'
}

_stoker_options() {
  "$1" "${@:2}" --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,'
}

_stoker() {
  local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} words=() places=0 word choices=""
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || words+=("$word")
  done
  places=${#words[@]}
  case ${words[0]-} in
    "") choices=$(_stoker_commands "$program") ;;
    dataset | bench | checkpoint)
      [ "$places" = 1 ] && choices=$(_stoker_commands "$program" "${words[0]}")
      ;;
    list | describe)
      [ "$places" = 1 ] && choices=$("$program" list 2>/dev/null | cut -d' ' -f1)
      [ "${words[0]}/$places" = describe/2 ] &&
        choices=$("$program" list "${words[1]}" 2>/dev/null | cut -d' ' -f2- | tr -d ',')
      ;;
  esac
  if [[ $current == -* ]]; then
    case ${words[0]-} in
      dataset | bench | checkpoint) choices=$(_stoker_options "$program" "${words[@]:0:2}") ;;
      *) choices=$(_stoker_options "$program" "${words[@]:0:1}") ;;
    esac
  fi
  # Nothing to choose from: file names, by -o default.
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}
complete -o default -F _stoker stoker
