#!/bin/sh
# Slurm's Prolog: a node on which the check fails is drained by Slurm, and the job is queued again.
# slurm.conf: Prolog=/etc/slurm/slurm-prolog.sh. Expectations, where there are any: /etc/convalesce/expect.toml
: "${CONVALESCE:=convalesce}" "${EXPECT:=/etc/convalesce/expect.toml}"
[ -r "$EXPECT" ] && set -- --expect "$EXPECT"
exec "$CONVALESCE" check --form slurm --quiet --time-limit 20 --only driver,environment "$@"
