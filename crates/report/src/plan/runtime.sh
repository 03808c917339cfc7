LC_ALL=C
export LC_ALL
unset POSIXLY_CORRECT CDPATH
set -u
usage() {
    printf 'usage: sh %s [--do-it | --undo]%s\n' "$0" "${wants_at:+ --at DIR}" >&2
    exit 2
}
fail() {
    printf '%s\n' "$1" >&2
    exit 2
}
act=no at=
while [ $# -gt 0 ]; do
    case $act:$1 in
    no:--do-it) act=do ;;
    no:--undo) act=undo ;;
    *:--at) [ -n "$wants_at" ] && [ $# -gt 1 ] && [ -z "$at" ] || usage; at=$2; shift ;;
    *) usage ;;
    esac
    shift
done
case $(stat -c '%F %.9Y' -- / 2>/dev/null) in
'directory '*.?????????) ;;
*) fail 'this plan needs the stat of GNU coreutils' ;;
esac
tab=$(printf '\t.') tab=${tab%.} nl=$(printf '\n.') nl=${nl%.}
if [ -n "$wants_at" ]; then
    [ -n "$at" ] && at=$(cd -P -- "$at" 2>/dev/null && pwd -P && printf .) || usage
    at=${at%?.}
fi
number=0 done=0 before=0 skipped=0 tmp= memo_old= memo_new= also= devices=' '
sums= loss= resumed= linked= no_copy= facts='%F %d %i %s %.9Z'
case $0 in /*) self=$0 ;; *) self=./$0 ;; esac
log=$self.log
[ -f "$0" ] || fail 'run this plan from its file: its log lies beside it'
if [ -L "$log" ] || { [ -e "$log" ] && [ ! -f "$log" ]; }; then
    fail "$0.log is not a regular file"
fi
if [ -e "$log" ] && [ ! -O "$log" ]; then
    fail "$0.log belongs to another user"
fi
resemble=${RESEMBLE:-resemble}
if [ "$kind" = trash ] && [ "$act" = do ]; then
    command -v "$resemble" >/dev/null || fail 'this plan needs the program resemble'
fi
if [ -n "$wants_digest" ] && [ "$act" != undo ]; then
    "$resemble" digest -- "$self" >/dev/null 2>&1 ||
        fail 'this plan needs the program resemble, which digests files'
fi
# Two plans may each keep what the other one takes away, so they take turns, whoever runs them.
if [ "$act" != no ]; then
    command -v flock >/dev/null || fail 'this plan needs the program flock (util-linux)'
    [ -r / ] || fail 'the root directory cannot be opened, on which plans take turns'
    exec 9</
    flock -n 9 || {
        printf 'another plan is under way: waiting for its end\n' >&2
        flock 9 || fail 'the root directory cannot be locked, on which plans take turns'
    }
    # Since coreutils 9.3, `mv` can be kept from copying where the kernel refuses to rename.
    ! mv --no-copy --version >/dev/null 2>&1 || no_copy=--no-copy
fi
trap '[ -z "$tmp" ] || rm -f -- "$tmp"' EXIT
trap 'exit 130' HUP INT TERM

# Names are spelled for printf. In a plan for a catalogue `@/` is the directory of --at.
decode() {
    name=$1
    case $1 in *\\*) name=$(printf '%b.' "$1") name=${name%.} ;; esac
    case $name in @) name=$at ;; @/*) name=$at/${name#@/} ;; esac
}

# What a name is: type, device, inode, size, time of last status change. Links are not followed.
identity() {
    seen=$(stat -c "$facts" -- "$1" 2>/dev/null) || seen=
    known_type
}

known_type() {
    case $seen in
    'regular empty file '*) seen="regular file ${seen#regular empty file }" ;;
    esac
}

# The same of the file that stays and of the copy, in one process if both are there.
identities() {
    if both=$(stat -c "$facts" -- "$keep" "$copy" 2>/dev/null); then
        seen=${both#*"$nl"}; known_type; seen_copy=$seen
        seen=${both%%"$nl"*}; known_type
    else
        identity "$copy"; seen_copy=$seen
        identity "$keep"
    fi
}

# Whether two files are there and have the same of what stat calls $1.
have_same() {
    both=$(stat -c "$1" -- "$2" "$3" 2>/dev/null) && [ "${both%%"$nl"*}" = "${both#*"$nl"}" ]
}

# Appends to the log, after what `became` has gathered. Without a log nothing is done: the log is on
# the disk before a step acts, and so is all that the steps before have done.
#   do, kind, name, identity in the plan, target, identity, temporary name, details, another name
#   undo, kind, name, identity in the plan, target, identity, temporary name, identity before
#   did | void | undid, kind, name, identity in the plan, target, identity, new one, details
#   is, identity, what a step has made of it
note() {
    printf '%s%s\n' "$also" "$1" >>"$log" || fail "$0.log cannot be written"
    also=
    case $1 in do* | und*) sync -- "$log" || fail "$0.log cannot be written" ;; esac
}

# What steps of this plan have made of an identity.
current() {
    now=$1
    [ -s "$log" ] || return 0
    now=$(awk -F '\t' -v id="$1" '$1 == "is" && $2 == id { id = $3 } END { print id }' "$log")
}

# The file that was $1 is now what $seen says; the next note has it.
became() {
    [ "$seen" = "regular file $1" ] || {
        memo_old=$1 memo_new=${seen#regular file }
        also="${also}is$tab$1$tab$memo_new$nl"
    }
}

# The same after a step. A file that still has another name ($2) is now what that name shows: the
# steps that follow look for it there.
handed_on() {
    if [ "${2:--}" != - ]; then
        made=$seen
        decode "$2"
        identity "$name"
        case $seen in "regular file ${1% *} "*) ;; *) seen=$made ;; esac
    fi
    case $seen in "regular file "*) became "$1" ;; esac
}

# Whether the regular file $1 is still what the plan found ($2), or what its own steps made of that.
is_still() {
    identity "$1"
    is_as_found "$2"
}

# The same of what was $seen.
is_as_found() {
    case $1 in size\ *)
        case $seen in "regular file "*" "*" ${1#size } "*) return 0 ;; esac
        return 1 ;;
    esac
    [ "$seen" != "regular file $1" ] || return 0
    [ "$1" != "$memo_old" ] || [ "$seen" != "regular file $memo_new" ] || return 0
    current "$1"
    [ "$now" != "$1" ] && [ "$seen" = "regular file $now" ]
}

# Whether no part of a folder's path has become a link, and it is not in a view of resemble.
is_plain() {
    is_real "$1" && device=$(stat -c %d -- "${1:-/}") && is_outside "$device" "$1"
}

is_real() {
    [ "$(cd -P -- "${1:-/}" 2>/dev/null && pwd -P && printf .)" = "${1:-/}$nl." ]
}

# The same of two folders. No path that is printed has a // in it.
are_real() {
    [ "$(cd -P -- "${1:-/}" 2>/dev/null && pwd -P && printf // &&
        cd -P -- "${2:-/}" 2>/dev/null && pwd -P && printf .)" = "${1:-/}$nl//${2:-/}$nl." ]
}

# Whether a device is not that of a view of resemble, which shows each file twice.
is_outside() {
    device=$1
    shift
    case $devices in *" $device "*) return 0 ;; esac
    case $(df --output=fstype -- "${1:-/}" 2>/dev/null) in *fuse.resemble*) return 1 ;; esac
    devices="$devices$device "
}

is_taken() {
    [ -e "$1" ] || [ -L "$1" ]
}

# Whether an earlier run did a step, by the log: $1 is its kind, name and identity.
is_done() {
    [ -n "$resumed" ] || return 1
    last=$(grep -a -F -- "did$tab$1$tab" "$log" | tail -n 1)
    case $last in "did$tab"*) ;; *) return 1 ;; esac
    done=$((done + 1)) before=$((before + 1))
}

skip() {
    skipped=$((skipped + 1))
    [ -z "$tmp" ] || rm -f -- "$tmp"
    tmp=
    printf 'skipped: %s: %s\n' "$spelled" "$1" >&2
}

# A step that was begun and could not be done.
give_up() {
    skip "$1"
    [ "$kind" != hardlink ] || keep_became
    note "void$tab$key"
}

# Making or removing a link of the file that stays changes its time, and nothing else of it.
keep_became() {
    identity "$keep"
    case $seen in "regular file ${keep_now% *} "*) became "$keep_now" ;; esac
    keep_now=${seen#regular file } memo_old=$keep_id
}

# Whether a step of this plan moves away what has a name, or a folder of its path.
is_freed() {
    rest=$1
    while [ -n "$rest" ]; do
        ! grep -a -q -F -e "rename '$rest' " -e "vacate '$rest'" -- "$self" || return 0
        rest=${rest%/*}
    done
    return 1
}

# Makes a folder and those above it, and notes each. A dry run only looks whether it could.
make_folders() {
    decode "$1"
    [ ! -d "${name:-/}" ] || { is_plain "$name" && [ -w "${name:-/}" ]; return; }
    ! is_taken "$name" || { [ "$act" = no ] && is_freed "$1"; return; }
    make_folders "${1%/*}" || return 1
    [ "$act" != no ] || return 0
    decode "$1"
    mkdir -- "$name" 2>/dev/null || return 1
    note "did${tab}folder$tab$1$tab-$tab-$tab-$tab-$tab-"
}

# Copies a file: to a temporary name, synced, compared, then named. Overwrites nothing. With `all`,
# `cp` ignores that extended attributes could not be kept; with `all,xattr` ($3) it fails.
copy_to() {
    tmp=${2%/*}/.resemble-plan.$$.$number
    ! is_taken "$tmp" || { tmp=; return 1; }
    cp -T --preserve="$3" -- "$1" "$tmp" 2>/dev/null || return 1
    sync -- "$tmp" && cmp -s -- "$1" "$tmp" || return 1
    place "$tmp" "$2" || return 1
    tmp=
    sync -- "${2%/*}/"
}

# Whether a file can be renamed into a folder. From one mount to another the kernel renames nothing,
# even if both are of the same file system: `mv` would copy to the final name, and compare nothing.
is_one_mount() {
    have_same %d "$1" "$2" && both=$(df --output=target -- "$1" "$2" 2>/dev/null) || return 1
    both=${both#*"$nl"}
    [ "${both%%"$nl"*}" = "${both#*"$nl"}" ]
}

# Renames without overwriting, within one mount.
place() {
    ! is_taken "$2" && mv $no_copy -n -T -- "$1" "$2" 2>/dev/null && ! is_taken "$1"
}

# Moves a file without overwriting; across mounts the copy is safe before the original goes.
put() {
    ! is_taken "$2" || return 1
    if is_one_mount "$1" "${2%/*}/"; then
        place "$1" "$2"
    else
        identity "$1"
        origin=$seen
        # The original goes, so what the copy lacks would be lost.
        copy_to "$1" "$2" all,xattr || {
            trouble='it could not be copied, or not with its extended attributes'
            return 1
        }
        identity "$1"
        [ "$seen" = "$origin" ] && rm -f -- "$1" && ! is_taken "$1"
    fi
}

is_unchanged() {
    if [ ! -d "$folder/" ] || [ ! -d "${keep%/*}/" ]; then
        skip 'its folder, or that of the file that stays, is gone'
    elif ! are_real "$folder" "${keep%/*}"; then
        skip 'a folder of its path is a link now'
    elif [ ! -w "$folder/" ]; then
        skip 'its folder cannot be written'
    elif identities; ! is_as_found "$keep_id"; then
        skip 'the file that stays is gone or has changed'
    elif keep_now=${seen#regular file } seen=$seen_copy; ! is_as_found "$copy_id"; then
        skip 'it is gone or has changed'
    elif copy_now=${seen#regular file } && same_inode "$keep_now" "$copy_now"; then
        skip 'it is the file that stays'
    elif ! is_outside "${keep_now%% *}" "${keep%/*}" ||
        ! is_outside "${copy_now%% *}" "$folder"; then
        skip 'it or the file that stays is in a view of resemble'
    else
        return 0
    fi
    return 1
}

# Whether two identities are of one inode.
same_inode() {
    rest1=${1#* } rest2=${2#* }
    [ "${1%% *} ${rest1%% *}" = "${2%% *} ${rest2%% *}" ]
}

# Whether the bytes of both files are equal, or of near copies those that the plan was made for.
have_bytes() {
    if [ -z "$sums" ]; then
        cmp -s -- "$keep" "$copy" || {
            skip 'its bytes are not those of the file that stays'
            return 1
        }
    else
        case $("$resemble" digest -- "$keep" "$copy" </dev/null 2>/dev/null) in
        "${sums% *}  "*"$nl${sums#* }  "*) ;;
        *) skip 'it or the file that stays has other bytes'; return 1 ;;
        esac
    fi
}

# supersede KEEP KEEP_ID COPY COPY_ID KEEP_DIGEST COPY_DIGEST LOSS [TARGET [TWIN]]: a near copy.
supersede() {
    sums="$5 $6" loss=$7
    step "$1" "$2" "$3" "$4" "${8-}" "${9-}"
    sums= loss=
}

# step KEEP KEEP_ID COPY COPY_ID [TARGET [TWIN]]: TWIN is another name of the same file.
step() {
    number=$((number + 1))
    spelled=$3 keep_id=$2 copy_id=$4 target=${5:--} twin=${6-}
    ! is_done "$kind$tab$3$tab$4" || return 0
    decode "$1"; keep=$name; decode "$3"; copy=$name folder=${copy%/*}
    is_unchanged && have_bytes || return 0
    if [ "$kind" = move ]; then
        decode "$target"; goal=$name
        ! is_taken "$goal" || { skip "$target is there already"; return 0; }
        make_folders "${target%/*}" ||
            { skip 'its new folder cannot be made or written'; return 0; }
        decode "$3"
    fi
    words "$3" "$1"
    if [ "$act" = no ]; then
        done=$((done + 1))
        printf 'would %s\n' "$would"
        return 0
    fi
    extra=-
    case $kind in
    move)
        is_plain "${goal%/*}" || { skip 'its new folder is a link now, or in a view'; return 0; } ;;
    hardlink) target=$1 extra=$keep_now ;;
    symlink) target=$1 extra="$keep_now $(stat -c '%u %g %a %.9X %.9Y' -- "$copy")" ;;
    esac
    key="$kind$tab$3$tab$4$tab$target$tab$copy_now"
    tmp_spelled=${3%/*}/.resemble-plan.$$.$number
    [ "$kind" != move ] || tmp_spelled=${target%/*}/.resemble-plan.$$.$number
    note "do$tab$key$tab$tmp_spelled$tab$extra$tab${twin:--}"
    "do_$kind" || { give_up "$trouble"; return 0; }
    done=$((done + 1))
    key="$kind$tab$3$tab$4$tab$target$tab$copy_now$tab${seen:--}$tab$extra"
    [ "$kind" != hardlink ] || { made=$seen; keep_became; seen=$made; }
    handed_on "$copy_now" "$twin"
    note "did$tab$key"
    printf '%s\n' "$did"
}

# A last look: comparing may have taken long.
are_still() {
    trouble='it or the file that stays has changed'
    identities
    is_as_found "$keep_id" && seen=$seen_copy && is_as_found "$copy_id"
}

# Replaces the copy by "$tmp".
replace() {
    are_still || return 1
    trouble='it could not be replaced'
    mv -f -T -- "$tmp" "$copy" 2>/dev/null || return 1
    tmp= seen=
}

# A symbolic link; it gets the times of what it replaces.
do_symlink() {
    trouble='the symbolic link could not be made'
    decode "$tmp_spelled"; tmp=$name
    ln -s -T -- "$keep" "$tmp" 2>/dev/null || { tmp=; return 1; }
    touch -h -r "$copy" -- "$tmp" && replace && identity "$copy"
}

# A hard link has one owner, one group and one mode: they must be the same already.
do_hardlink() {
    trouble='the hard link could not be made'
    decode "$tmp_spelled"; tmp=$name
    have_same '%u %g %a' "$keep" "$copy" &&
        ! is_taken "$tmp" || { tmp=; return 1; }
    ln -P -T -- "$keep" "$tmp" 2>/dev/null || { tmp=; return 1; }
    keep_became
    replace
}

# A clone with owner, mode, times and attributes of what it replaces.
do_reflink() {
    trouble='the clone could not be made'
    decode "$tmp_spelled"; tmp=$name
    ! is_taken "$tmp" || { tmp=; return 1; }
    cp -T --reflink=always -- "$keep" "$tmp" 2>/dev/null || return 1
    cp -T --attributes-only --preserve=all -- "$copy" "$tmp" 2>/dev/null || return 1
    have_same '%u %g %a %.9Y' "$copy" "$tmp" || return 1
    replace
}

do_remove() {
    are_still || return 1
    trouble='it could not be removed'
    rm -f -- "$copy" 2>/dev/null && ! is_taken "$copy" && seen=
}

do_move() {
    are_still || return 1
    trouble='it could not be moved'
    put "$copy" "$goal" && identity "$goal"
}

do_trash() {
    are_still || return 1
    trouble='it could not be moved to the trash'
    target=$("$resemble" trash -- "$copy" </dev/null) && ! is_taken "$copy" || return 1
    decode "$target"
    identity "$name"
    trouble='it is gone, and not where the program says; look for it in the trash'
    same_inode "${seen#regular file }" "$copy_now" || return 1
    did="$did: $target"
}

# What a step is called before and after it is done.
words() {
    case $kind in
    symlink) a="by a symbolic link to $2" ;;
    hardlink) a="by a hard link to $2" ;;
    reflink) a="by a clone of $2" ;;
    trash) would="move $1 to the trash; $2 stays" did="moved $1 to the trash" ;;
    remove) would="remove $1; $2 stays" did="removed $1; $2 stays" ;;
    move) would="move $1 to $target; $2 stays" did="moved $1 to $target" ;;
    esac
    [ -z "$loss" ] || would="$would; $(printf '%b' "$loss")"
    case $kind in symlink | hardlink | reflink) would="replace $1 $a" did="replaced $1 $a" ;; esac
}

# copy FROM FROM_ID TARGET
copy() {
    number=$((number + 1))
    spelled=$1
    ! is_done "copy$tab$1$tab$2" || return 0
    decode "$1"; from=$name
    decode "$3"; goal=$name
    is_plain "${from%/*}" || { skip 'a folder of its path is a link now, or in a view'; return 0; }
    is_still "$from" "$2" || { skip 'it is gone or has changed'; return 0; }
    from_now=${seen#regular file }
    [ -r "$from" ] || { skip 'it cannot be read'; return 0; }
    ! is_taken "$goal" || { skip "$3 is there already"; return 0; }
    make_folders "${3%/*}" || { skip 'its new folder cannot be made or written'; return 0; }
    if [ "$act" = no ]; then
        done=$((done + 1))
        printf 'would copy %s to %s\n' "$1" "$3"
        return 0
    fi
    is_plain "${goal%/*}" || { skip 'its new folder is a link now, or in a view'; return 0; }
    key="copy$tab$1$tab$2$tab$3$tab$from_now"
    note "do$tab$key$tab${3%/*}/.resemble-plan.$$.$number$tab-"
    if ! copy_to "$from" "$goal" all; then
        give_up 'it could not be copied'
        return 0
    fi
    identity "$goal"
    done=$((done + 1))
    note "did$tab$key$tab${seen:--}$tab-"
    printf 'copied %s to %s\n' "$1" "$3"
}

# What is there is a file of this identity ($2), or the folder of this device and inode.
is_it() {
    case $2 in
    'folder '*)
        identity "$1"
        case $seen in "directory ${2#folder } "*) return 0 ;; esac
        return 1 ;;
    esac
    is_still "$1" "$2"
}

# rename FROM ID TARGET [HOME]: HOME is where it was before a step moved it out of the way.
rename() {
    number=$((number + 1))
    spelled=$1
    ! is_done "rename$tab$1$tab$2$tab$3" || return 0
    decode "$1"; from=$name
    decode "$3"; goal=$name
    if [ "$act" = no ] && [ -n "${4-}" ]; then
        done=$((done + 1))
        return 0
    fi
    is_plain "${from%/*}" || { skip 'a folder of its path is a link now, or in a view'; return 0; }
    [ -w "${from%/*}/" ] || { skip 'its folder cannot be written'; return 0; }
    is_it "$from" "$2" || { skip 'it is gone or has changed'; return 0; }
    from_now=${seen#regular file }
    if [ "$act" = no ]; then
        if is_taken "$goal" && ! is_freed "$3" || ! make_folders "${3%/*}"; then
            skip "${5-$3} is taken, or its folder cannot be made or written"
            return 0
        fi
        done=$((done + 1))
        printf 'would rename %s to %s\n' "$1" "${5-$3}"
        return 0
    fi
    if is_taken "$goal" || ! make_folders "${3%/*}" || ! is_plain "${goal%/*}"; then
        skip "$3 is taken, or its folder cannot be made or written"
        # Nothing is left under a temporary name, if its own is free.
        [ -z "${4-}" ] || go_home "$1" "$2" "$4"
        return 0
    fi
    renamed "$1" "$2" "$3" || { give_up 'it could not be renamed'; return 0; }
    done=$((done + 1))
    printf 'renamed %s to %s\n' "$1" "$3"
}

renamed() {
    decode "$3"; goal=$name
    key="rename$tab$1$tab$2$tab$3$tab$from_now"
    note "do$tab$key$tab-$tab-"
    is_one_mount "$from" "${goal%/*}/" && place "$from" "$goal" || return 1
    identity "$goal"
    case $seen in "regular file "*) became "$from_now" ;; esac
    note "did$tab$key$tab${seen:--}$tab-"
}

go_home() {
    decode "$3"
    is_taken "$name" || ! make_folders "${3%/*}" || renamed "$1" "$2" "$3" ||
        note "void$tab$key"
}

# vacate FOLDER: removes a folder that steps have emptied.
vacate() {
    [ "$act" = do ] || return 0
    decode "$1"
    grep -a -q -F -- "${tab}rename$tab$1/" "$log" 2>/dev/null || return 0
    [ -d "$name" ] && [ ! -L "$name" ] && is_plain "${name%/*}" || return 0
    extra=$(stat -c '%u %g %a' -- "$name")
    rmdir -- "$name" 2>/dev/null || return 0
    note "did${tab}vacate$tab$1$tab-$tab-$tab-$tab-$tab$extra"
}

finish() {
    [ "$act" = no ] || [ ! -e "$log" ] || sync -- "$log"
    if [ "$act" = no ]; then
        printf '%s of %s steps can be done; nothing was changed: call with --do-it\n' \
            "$((done - before))" "$number"
        [ "$before" -eq 0 ] || printf '%s done already\n' "$before"
    elif [ "$done" -eq "$number" ] && [ "$before" -eq "$number" ]; then
        printf 'all done: %s of %s steps\n' "$done" "$number"
    else
        printf '%s of %s steps done\n' "$done" "$number"
    fi
    [ "$skipped" -eq 0 ] || { printf '%s skipped\n' "$skipped" >&2; exit 1; }
}
