#!/bin/sh
# Slurm's HealthCheckProgram: drain this node with the reason, or give it back when our own reason no longer holds.
# slurm.conf: HealthCheckProgram=/etc/slurm/slurm-health-check.sh  HealthCheckInterval=300  HealthCheckNodeState=IDLE
# Expectations, where there are any: /etc/convalesce/expect.toml
set -u
: "${CONVALESCE:=convalesce}" "${EXPECT:=/etc/convalesce/expect.toml}" "${NODE:=${SLURMD_NODENAME:-$(hostname -s)}}"
[ -r "$EXPECT" ] && set -- --expect "$EXPECT"
reason=$("$CONVALESCE" check --form slurm --quiet --time-limit 50 "$@")
if [ $? -eq 1 ]; then
    scontrol update NodeName="$NODE" State=DRAIN Reason="$reason"
elif scontrol show node "$NODE" | grep -q 'Reason=convalesce:'; then
    scontrol update NodeName="$NODE" State=RESUME
fi
