# resemble: FILE/.similar on the real paths leads to the view. Made by `resemble shell-init fish`.

# The commands that follow .similar, `cd` among them.
set --global __resemble_commands ls cat head tail less cp diff xdg-open

# Prints the place in the view that an argument stands for.
function __resemble_find --argument-names arg
    string match --quiet --regex '(^|/)\.similar(/|$)' -- $arg; or return 1
    test -e $arg; and return 1
    test -L $arg; and return 1
    command resemble shell-init --view $arg 2>/dev/null
end

# Prints the arguments, each ended by NUL, with such ones replaced.
function __resemble_args
    for arg in $argv
        set --local place (__resemble_find $arg | string collect)
        and test -n "$place"
        and set arg $place
        printf '%s\0' $arg
    end
end

# A function that the user or fish has keeps its place behind ours.
for name in $__resemble_commands cd
    if functions --query $name; and not functions $name | string match --quiet '*__resemble_args*'
        functions --query __resemble_own_$name; and functions --erase __resemble_own_$name
        functions --copy $name __resemble_own_$name
    end
end
functions --query __resemble_own_cd; or function __resemble_own_cd
    builtin cd $argv
end

for name in $__resemble_commands
    functions --query __resemble_own_$name; or function __resemble_own_$name --inherit-variable name
        command $name $argv
    end
    function $name --wraps $name --inherit-variable name \
            --description 'As ever; FILE/.similar leads to the view'
        __resemble_own_$name (__resemble_args $argv | string split0)
    end
end

function cd --wraps cd --description 'Change the directory; FILE/.similar leads to the view'
    __resemble_own_cd (__resemble_args $argv | string split0)
end

# Completes what lies behind .similar.
function __resemble_complete
    set --local typed (commandline --current-token --cut-at-cursor)
    set --local plain (string replace --regex '^~/' "$HOME/" -- $typed | string unescape)
    set --local dir (string replace --regex '/[^/]*$' '' -- $typed)
    set --local file (string replace --regex '/[^/]*$' '' -- $plain)
    if string match --quiet --regex '(^|/)\.similar/' -- $plain
        set --local place (__resemble_find $file); or set place $file
        for name in (command ls -A $place 2>/dev/null)
            printf '%s/%s\n' $dir $name
        end
    else if string match --quiet '*/.s*' -- $plain; and test -f $file
        printf '%s/.similar/\n' $dir
    end
end

for name in $__resemble_commands cd
    complete --command $name --no-files --keep-order \
        --condition 'string match --quiet "*/.s*" -- (commandline --current-token --cut-at-cursor)' \
        --arguments '(__resemble_complete)'
end
