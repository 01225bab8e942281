#!/usr/bin/env bash
# Builds Setup.exe and the portable zip into build/windows (or the folder named): on Windows in Git's bash with a Python
# from python.org and NSIS installed, on Debian or Ubuntu with a Windows Python under wine.
#
# CONVALESCE_SIGN names a program that is called with each file to sign, and signs it in place.
set -eu
cd "$(dirname "$0")/.."
if [ -d .venv/Scripts ]; then python=.venv/Scripts/python.exe; else python=.venv/bin/python; fi
# a release speaks every language in full; a trial build may run ahead of its translators
[ -z "${CONVALESCE_RELEASE:-}" ] || "$python" -m installer.generate.missing --release
exec "$python" -m installer.windows.build "$@"
