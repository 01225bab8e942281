#!/bin/sh
# Build the wheel and the Linux packages of this checkout: installer/build_linux.sh [FOLDER], dist by default.
#
# Everything is made from the files that git tracks, in a new environment of the locked, hashed requirements, and from
# the wheel: nothing of the checkout's own state gets in. PYTHON names another interpreter. Two runs of one commit
# give the same bytes. CONVALESCE_SIGN names a program that is called with each artefact: see docs/installing.md.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
python=${PYTHON:-python3}

for tool in strip dpkg-deb rpmbuild desktop-file-validate appstreamcli; do
    command -v $tool >/dev/null || {
        echo "$tool is needed: apt-get install binutils dpkg rpm desktop-file-utils appstream" >&2
        exit 2
    }
done

# a release speaks every language in full; a trial build may run ahead of its translators
[ -z "${CONVALESCE_RELEASE:-}" ] || "$python" -m installer.generate.missing --release

umask 022
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)
LC_ALL=C.UTF-8 TZ=UTC PYTHONHASHSEED=0 PIP_DISABLE_PIP_VERSION_CHECK=1
export SOURCE_DATE_EPOCH LC_ALL TZ PYTHONHASHSEED PIP_DISABLE_PIP_VERSION_CHECK
unset PYTHONPATH PYTHONHOME LD_LIBRARY_PATH

work=$(mktemp -d "${TMPDIR:-/tmp}/convalesce-build.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
mkdir "$work/source"
git ls-files -z | tar -c --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "$work/source"
find "$work/source" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

"$python" -m venv "$work/env"
pip() { "$work/env/bin/python" -m pip --quiet "$@"; }
pip install --require-hashes -r "$work/source/requirements/build.txt"
pip wheel --no-deps --no-build-isolation --wheel-dir "$work/wheel" "$work/source"
pip install --no-deps "$work"/wheel/*.whl

(cd "$work" && env/bin/python -m PyInstaller --noconfirm --log-level WARN --workpath work --distpath frozen \
    source/installer/convalesce.spec)
cp "$work"/wheel/*.whl "$out"
(cd "$work/source" && "$work/env/bin/python" -m installer.linux.package "$work/frozen/convalesce" "$out")

cd "$out"
if [ -n "${CONVALESCE_SIGN:-}" ]; then
    for artefact in *.whl *.tar.xz *.deb *.rpm; do
        "$CONVALESCE_SIGN" "$artefact"
    done
fi
sha256sum -- *.whl *.tar.xz *.deb *.rpm *.cdx.json >SHA256SUMS
ls -l "$out"
