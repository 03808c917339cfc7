# resemble: FILE/.similar on the real paths leads to the view. Made by `resemble shell-init bash`.

# The commands that follow .similar, `cd` among them.
__resemble_commands=(ls cat head tail less cp diff xdg-open)

# Sets __resemble_path to the place in the view that an argument stands for.
__resemble_find() {
    case $1 in
        .similar | .similar/* | */.similar | */.similar/*) ;;
        *) return 1 ;;
    esac
    [[ ! -e $1 && ! -L $1 ]] || return 1
    # A name may end with a newline, which $(…) would take away.
    __resemble_path=$(command resemble shell-init --view "$1" 2>/dev/null && printf .) || return 1
    __resemble_path=${__resemble_path%$'\n'.}
}

# Runs a command (its first argument is what would run without us) with such arguments replaced.
__resemble_run() {
    local __resemble_path __resemble_arg
    local -a __resemble_args=()
    for __resemble_arg; do
        __resemble_find "$__resemble_arg" && __resemble_arg=$__resemble_path
        __resemble_args+=("$__resemble_arg")
    done
    "${__resemble_args[@]}"
}

# A function that the user has keeps its place behind ours.
for __resemble_name in "${__resemble_commands[@]}" cd; do
    if declare -F "$__resemble_name" >/dev/null &&
        [[ $(declare -f "$__resemble_name") != *__resemble_as* ]]; then
        eval "__resemble_own_$(declare -f "$__resemble_name")"
    fi
done
unset __resemble_name

# Runs what NAME is without us: __resemble_as NAME command|builtin ARGUMENTS
__resemble_as() {
    if declare -F "__resemble_own_$1" >/dev/null; then
        __resemble_run "__resemble_own_$1" "${@:3}"
    else
        __resemble_run "$2" "$1" "${@:3}"
    fi
}

for __resemble_name in "${__resemble_commands[@]}"; do
    eval "function $__resemble_name { __resemble_as $__resemble_name command \"\$@\"; }"
done
unset __resemble_name
function cd { __resemble_as cd builtin "$@"; }

# Completes what lies behind .similar; anything else is completed as before.
__resemble_complete() {
    local word=$2 typed=${COMP_WORDS[COMP_CWORD]} file __resemble_path name
    case $typed in
        \~/*) typed=$HOME${typed#\~} ;;
    esac
    COMPREPLY=()
    case $typed in
        */.similar/* | .similar/*)
            file=${typed%/*}
            __resemble_find "$file" || __resemble_path=$file
            while IFS= read -r -d '' name; do
                COMPREPLY+=("${word%/*}/${name##*/}")
            done < <(compgen -f -- "$__resemble_path/${typed##*/}" | tr '\n' '\0')
            compopt -o filenames 2>/dev/null
            return
            ;;
        */.s*)
            file=${typed%/*}
            if [[ -f $file && .similar == "${typed##*/}"* ]]; then
                COMPREPLY=("${word%/*}/.similar/")
                compopt -o nospace 2>/dev/null
                return
            fi
            ;;
    esac
    local before=${__resemble_completes[$1]-}
    if [[ -n $before ]] && declare -F "$before" >/dev/null; then
        "$before" "$@"
    elif [[ $1 != cd ]] && declare -F _longopt >/dev/null; then
        _longopt "$@"
    fi
}

declare -gA __resemble_completes
for __resemble_name in "${__resemble_commands[@]}" cd; do
    __resemble_before=$(complete -p "$__resemble_name" 2>/dev/null)
    [[ $__resemble_before =~ -F\ ([^ ]+) && ${BASH_REMATCH[1]} != __resemble_* ]] &&
        __resemble_completes[$__resemble_name]=${BASH_REMATCH[1]}
done
unset __resemble_name __resemble_before
complete -o bashdefault -o default -F __resemble_complete "${__resemble_commands[@]}"
complete -o dirnames -F __resemble_complete cd
