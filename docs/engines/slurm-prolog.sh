#!/bin/sh
# Slurm's Prolog: a node on which the check finds a fault is drained by Slurm, and the job is queued again. A check that cannot be
# made (not installed, a policy that cannot be read) stops no job.
# slurm.conf: Prolog=/etc/slurm/slurm-prolog.sh. Expectations, where there are any: /etc/convalesce/expect.toml
: "${CONVALESCE:=convalesce}" "${EXPECT:=/etc/convalesce/expect.toml}"
[ -r "$EXPECT" ] && set -- --expect "$EXPECT"
"$CONVALESCE" check --form slurm --time-limit 20 --only driver,environment "$@"
[ $? -ne 1 ]
