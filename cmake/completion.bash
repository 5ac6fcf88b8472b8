# bash completion for stoker. Kinds and types are asked of the program itself.
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
    "") choices="train check list describe dataset bench" ;;
    dataset) [ "$places" = 1 ] && choices="fetch inspect synth" ;;
    bench) [ "$places" = 1 ] && choices="loader decode" ;;
    list | describe)
      [ "$places" = 1 ] && choices=$("$program" list 2>/dev/null | cut -d' ' -f1)
      [ "${words[0]}/$places" = describe/2 ] &&
        choices=$("$program" list "${words[1]}" 2>/dev/null | cut -d' ' -f2- | tr -d ',')
      ;;
  esac
  if [[ $current == -* ]]; then
    case ${words[0]-} in
      dataset | bench) choices=$(_stoker_options "$program" "${words[@]:0:2}") ;;
      *) choices=$(_stoker_options "$program" "${words[@]:0:1}") ;;
    esac
  fi
  # Nothing to choose from: file names, by -o default.
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}
complete -o default -F _stoker stoker
