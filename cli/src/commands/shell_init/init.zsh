# resemble: FILE/.similar on the real paths leads to the view. Made by `resemble shell-init zsh`.

# The commands that follow .similar, `cd` among them.
typeset -ga __resemble_commands=(ls cat head tail less cp diff xdg-open)

# Sets REPLY to the place in the view that an argument stands for.
function __resemble_find {
    case $1 in
        (.similar|.similar/*|*/.similar|*/.similar/*) ;;
        (*) return 1 ;;
    esac
    [[ ! -e $1 && ! -L $1 ]] || return 1
    # A name may end with a newline, which $(…) would take away.
    REPLY=$(command resemble shell-init --view "$1" 2>/dev/null && printf .) || return 1
    REPLY=${REPLY%$'\n'.}
}

# Runs a command with such arguments replaced.
function __resemble_run {
    local REPLY arg
    local -a args
    for arg in "$@"; do
        __resemble_find "$arg" && arg=$REPLY
        args+=("$arg")
    done
    "${args[@]}"
}

# A function that the user has keeps its place behind ours.
() {
    local name
    for name in $__resemble_commands cd; do
        if (( $+functions[$name] )) && [[ $functions[$name] != *__resemble_as* ]]; then
            functions[__resemble_own_$name]=$functions[$name]
        fi
    done
}

# Runs what NAME is without us: __resemble_as NAME command|builtin ARGUMENTS
function __resemble_as {
    if (( $+functions[__resemble_own_$1] )); then
        __resemble_run __resemble_own_$1 "${@:3}"
    else
        __resemble_run $2 $1 "${@:3}"
    fi
}

() {
    local name
    for name in $__resemble_commands; do
        functions[$name]="__resemble_as $name command \"\$@\""
    done
}
function cd { __resemble_as cd builtin "$@" }

# Completes what lies behind .similar; anything else is completed as before.
function __resemble_complete {
    local typed=${(Q)PREFIX} file REPLY before
    typed=${typed/#\~\//$HOME/}
    case $typed in
        (*/.similar/*|.similar/*)
            file=${typed%/*}
            __resemble_find "$file" || REPLY=$file
            local -a names
            names=($REPLY/*(DN:t))
            compset -P '*/'
            compadd -f -a names
            return
            ;;
        (*/.s*)
            file=${typed%/*}
            if [[ -f $file && .similar == ${typed:t}* ]]; then
                compset -P '*/'
                compadd -S / .similar
                return
            fi
            ;;
    esac
    before=$__resemble_completes[$service]
    if [[ -n $before ]]; then
        $before "$@"
    else
        _files
    fi
}

if (( $+functions[compdef] )); then
    typeset -gA __resemble_completes
    () {
        local name
        for name in $__resemble_commands cd; do
            [[ $_comps[$name] == __resemble_complete ]] || __resemble_completes[$name]=$_comps[$name]
        done
    }
    compdef __resemble_complete $__resemble_commands cd
fi
