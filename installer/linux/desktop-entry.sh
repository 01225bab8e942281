#!/bin/sh
# Add Convalesce to the menu of this user's desktop, or take it out: desktop-entry.sh install|remove
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
share=${XDG_DATA_HOME:-$HOME/.local/share}
files="applications/convalesce.desktop icons/hicolor/scalable/apps/convalesce.svg metainfo/io.github.convalesce.Convalesce.metainfo.xml"

case ${1:-} in
install)
    for file in $files; do
        mkdir -p "$share/$(dirname "$file")"
        cp "$here/share/$file" "$share/$file"
    done
    # in an entry a quoted program may hold anything but these, which a backslash keeps; a percent sign is doubled
    program=$(printf '%s' "$here/convalesce" | sed -e 's/["`$\\]/\\\\&/g' -e 's/%/%%/g')
    replacement=$(printf '"%s"' "$program" | sed -e 's/[\\&|]/\\&/g')
    sed "s|@PROGRAM@|$replacement|" "$here/share/applications/convalesce.desktop" >"$share/applications/convalesce.desktop"
    ;;
remove)
    for file in $files; do
        rm -f "$share/$file"
        (cd "$share" 2>/dev/null && rmdir -p --ignore-fail-on-non-empty "$(dirname "$file")" 2>/dev/null) || true
    done
    ;;
*)
    echo "usage: desktop-entry.sh install|remove" >&2
    exit 2
    ;;
esac
