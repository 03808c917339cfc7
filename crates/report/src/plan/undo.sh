
# Notes that a step is about to be undone; $old is what its file is now.
begin_undo() {
    a=${from%/*}/.resemble-plan.$$.$number
    note "undo$tab$what$tab$from$tab$id$tab$to$tab$was$tab$a$tab$old"
    linked=
}

# Notes that a step is undone.
undone() {
    if [ "$what" = trash ]; then
        info=${goal%/*}
        rm -f -- "${info%/*}/info/${goal##*/}.trashinfo"
    fi
    identity "$name"
    case $what:$seen in
    folder:* | vacate:*) ;;
    *:"regular file "*)
        [ -z "$linked" ] || became "$back_now"
        became "$old"
        back=$name back_id=$id back_was=$was back_now=${seen#regular file } ;;
    esac
    note "undid$tab$what$tab$from$tab$id$tab$to$tab$was$tab${seen:--}$tab-"
}

# Gives $2 to the file that came back last, if that was another name of the same file, and what
# would come back now ($1) has its bytes.
link_back() {
    [ "$id" = "$back_id" ] && same_inode "$was" "$back_was" && is_still "$back" "$back_now" &&
        ! have_same '%d %i' "$1" "$back" && cmp -s -- "$1" "$back" &&
        ln -P -T -- "$back" "$2" 2>/dev/null && linked=yes
}

# Puts a file back where it was.
undo_move() {
    is_it "$goal" "$new" ||
        { skip 'it is gone from its new place or has changed there'; return 1; }
    ! is_taken "$name" || { skip 'its old name is taken'; return 1; }
    old=${seen#regular file }
    [ -d "${name%/*}/" ] || make_folders "${from%/*}"
    decode "$from"
    is_plain "${goal%/*}" && is_plain "${name%/*}" ||
        { skip 'a folder of its path is a link now, or in a view'; return 1; }
    begin_undo
    trouble='it could not be moved back'
    if link_back "$goal" "$name"; then
        sync -- "${name%/*}/" && rm -f -- "$goal"
    else
        put "$goal" "$name"
    fi || { skip "$trouble"; return 1; }
}

# Replaces the symbolic link by a copy of the file that stays.
undo_symlink() {
    identity "$name"
    [ "$seen" = "$new" ] && [ "$(readlink -n -- "$name"; printf .)" = "$goal." ] ||
        { skip 'the link is gone or has changed'; return 1; }
    mtime=${extra##* } extra=${extra% *} atime=${extra##* } extra=${extra% *}
    mode=${extra##* } extra=${extra% *} gid=${extra##* } extra=${extra% *}
    uid=${extra##* } keep_id=${extra% *}
    is_still "$goal" "$keep_id" && is_plain "${name%/*}" ||
        { skip 'the file that stays is gone or has changed'; return 1; }
    old=$was
    begin_undo
    tmp=${name%/*}/.resemble-plan.$$.$number
    if ! is_taken "$tmp" && link_back "$goal" "$tmp" && mv -f -T -- "$tmp" "$name"; then
        tmp=
    elif ! is_taken "$tmp" && cp -T --reflink=auto -- "$goal" "$tmp" 2>/dev/null &&
        cmp -s -- "$goal" "$tmp" &&
        { [ "$(stat -c '%u %g' -- "$tmp")" = "$uid $gid" ] || chown -- "$uid:$gid" "$tmp"; } &&
        chmod -- "$mode" "$tmp" && touch -a -d "@$atime" -- "$tmp" &&
        touch -m -d "@$mtime" -- "$tmp" && sync -- "$tmp" &&
        [ "$(stat -c '%u %g %a %.9Y' -- "$tmp")" = "$uid $gid $mode $mtime" ] &&
        mv -f -T -- "$tmp" "$name"; then
        tmp=
    else
        skip 'the copy could not be made again'
        return 1
    fi
}

# Removes a copy, if what it was made of is still there.
undo_copy() {
    is_it "$goal" "$new" || { skip 'the copy is gone or has changed'; return 1; }
    is_still "$name" "$id" && cmp -s -- "$name" "$goal" ||
        { skip 'what it was copied from is gone or has changed'; return 1; }
    identity "$name"
    old=${seen#regular file }
    begin_undo
    rm -f -- "$goal"
}

undo_one() {
    decode "$to"; goal=$name
    decode "$from"
    case $new in
    'regular file '*) new=${new#regular file } ;;
    'directory '*) new=${new#directory } new="folder ${new% * *}" ;;
    esac
    case $what in
    trash | move | rename) undo_move || return 1 ;;
    symlink) undo_symlink || return 1 ;;
    copy) undo_copy || return 1 ;;
    folder) rmdir -- "$name" 2>/dev/null ;;
    vacate)
        [ -d "$name" ] || {
            mkdir -m "${extra##* }" -- "$name" 2>/dev/null ||
                { skip 'the folder could not be made again'; return 1; }
            a=${extra% *}
            chown -- "${a% *}:${a#* }" "$name" 2>/dev/null
        } ;;
    *)
        skip "what was done ($what) cannot be undone"
        return 1 ;;
    esac
    undone
    case $what in folder | vacate) return 0 ;; esac
    done=$((done + 1))
    printf 'undone: %s\n' "$from"
}

undo_all() {
    [ -s "$log" ] || fail "nothing to undo: there is no $0.log"
    # The steps that are done and not undone, the last one first.
    # The file that came back last in an earlier run may have had the name that is next.
    IFS=$tab read -r a what from back_id to back_was back_now extra <<END
$(grep -a "^undid$tab" "$log" | tail -n 1)
END
    decode "$from"
    back=$name back_now=${back_now#regular file }
    live=$(awk -F '\t' '
        { key = $2 FS $3 FS $4 FS $5 }
        $1 == "did" { at[key] = NR; line[NR] = $0 }
        $1 == "undid" { delete line[at[key]] }
        END { for (n = NR; n > 0; n--) if (n in line) print line[n] }' "$log")
    while IFS=$tab read -r a what from id to was new extra; do
        [ -n "$a" ] && is_ours || continue
        number=$((number + 1)) spelled=$from
        undo_one || :
    done <<END
$live
END
    if [ "$skipped" -eq 0 ]; then
        printf 'all undone: %s\n' "$done"
        exit 0
    fi
    printf '%s undone, %s skipped\n' "$done" "$skipped" >&2
    exit 1
}

[ "$act" = no ] || settle
[ ! -s "$log" ] || resumed=yes
[ "$act" != undo ] || undo_all
