#!/bin/sh
# Slurm's HealthCheckProgram: drain this node with the reason, or give it back when our own reason no longer holds.
# A check that cannot be made (it took too long, the policy cannot be read) does neither.
# slurm.conf: HealthCheckProgram=/etc/slurm/slurm-health-check.sh  HealthCheckInterval=300  HealthCheckNodeState=IDLE
# Expectations, where there are any: /etc/convalesce/expect.toml
set -u
: "${CONVALESCE:=convalesce}" "${EXPECT:=/etc/convalesce/expect.toml}" "${NODE:=${SLURMD_NODENAME:-$(hostname -s)}}"
[ -r "$EXPECT" ] && set -- --expect "$EXPECT"
reason=$("$CONVALESCE" check --time-limit 50 "$@")
case $? in
0)
    if scontrol show node "$NODE" | grep -q 'Reason=convalesce:'; then
        scontrol update NodeName="$NODE" State=RESUME
    fi
    ;;
1) scontrol update NodeName="$NODE" State=DRAIN Reason="convalesce: $reason" ;;
esac
