_stoker() { :; }
complete -o default -F _stoker stoker
