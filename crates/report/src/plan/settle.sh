# Whether a line of the log is about a step of this plan.
is_ours() {
    case $what in folder | vacate) return 0 ;; esac
    grep -a -q -F -- "'$from' '$id'" "$self"
}

# Whether $2 is a file of its own with the bytes of $1.
is_copied() {
    is_plain "${2%/*}" || return 1
    identity "$2"
    case $seen in "regular file "*) ;; *) return 1 ;; esac
    ! have_same '%d %i' "$1" "$2" && cmp -s -- "$1" "$2"
}

# Finds out whether the step that was under way when the last run ended was done, or undone.
settle() {
    [ -s "$log" ] || return 0
    if [ -n "$(tail -c 1 -- "$log")" ]; then
        # The last line was cut short.
        new=$(mktemp -- "$log.XXXXXXXX") &&
            head -n "$(wc -l <"$log")" -- "$log" >"$new" && mv -f -- "$new" "$log" ||
            fail "$0.log cannot be written"
    fi
    last=$(grep -a -v "^is$tab" "$log" | tail -n 1)
    case $last in "do$tab"* | "undo$tab"*) ;; *) return 0 ;; esac
    IFS=$tab read -r a what from id to was temporary extra twin <<END
$last
END
    void="void$tab$what$tab$from$tab$id$tab$to$tab$was"
    is_ours || { note "$void"; return 0; }
    case $temporary in "${from%/*}/.resemble-plan."* | "${to%/*}/.resemble-plan."*)
        decode "$temporary"
        case ${temporary##*/} in
        .resemble-plan.*.*) ! is_plain "${name%/*}" || rm -f -- "$name" ;;
        esac ;;
    esac
    decode "$to"; goal=$name keep=$name keep_id= keep_now=$extra
    decode "$from"
    [ "$a" != undo ] || { old=$extra; settle_undo || note "$void"; return 0; }
    [ "$what" != hardlink ] || keep_became
    case $was in
    directory\ *) whole="${was% * *} " ;;
    *) whole="regular file $was" ;;
    esac
    identity "$name"
    case $seen in
    "$whole"*)
        # It is where it was, but of a copy, or of a move by a copy, the copy may be complete.
        case $what in copy | move) is_copied "$name" "$goal" ;; *) false ;; esac ||
            { note "$void"; return 0; }
        [ "$what" = copy ] || rm -f -- "$name" ;;
    esac
    # What stands there now may be something else.
    case $what in
    symlink) [ -L "$name" ] ;;
    hardlink) identity "$name"; same_inode "${seen#regular file }" "$keep_now" ;;
    reflink) identity "$name"; ! same_inode "${seen#regular file }" "$was" ;;
    remove | trash) ! is_taken "$name" ;;
    *) is_taken "$goal" ;;
    esac || { note "$void"; return 0; }
    case $what in
    trash)
        if a=$("$resemble" trash --where "$was" -- "$name" </dev/null); then
            to=$a
            decode "$to"; goal=$name
        else
            printf 'interrupted: %s: look for it in the trash\n' "$from" >&2
        fi ;;
    symlink | hardlink | reflink | remove) goal=$name ;;
    esac
    identity "$goal"
    case $what in hardlink | reflink) seen= ;; esac
    key="$what$tab$from$tab$id$tab$to$tab$was$tab${seen:--}$tab$extra"
    handed_on "$was" "$twin"
    note "did$tab$key"
}

# A step that was being undone. The file in the new place goes only after its copy has its old name.
settle_undo() {
    case $what in
    symlink) [ ! -L "$name" ] && cmp -s -- "$name" "$goal" ;;
    copy) ! is_taken "$goal" ;;
    *)
        identity "$goal"
        [ "$seen" != "regular file $old" ] || ! is_copied "$goal" "$name" || rm -f -- "$goal"
        is_taken "$name" && ! is_taken "$goal" ;;
    esac && undone
}

