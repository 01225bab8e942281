"""Rules about the driver's device nodes: closed to this user, refused by a control group, missing, or leading elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from core.common.i18n import _, translate_fact
from core.common.shell import quote
from core.common.text import join_names
from core.model.facts import DeviceNode, Driver, ExpectedNode, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.remedies import UseSystemTool
from core.rules.driver.facts import driver_answers, driver_works
from core.rules.wording import ERROR, make_finding, manual_fix, observation

DEVICE_GROUPS = ("video", "render")
"""Device groups to which a person may be added; any other is the administrator's decision."""


def lost_devices(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel refuses access to the GPU's device nodes although their mode allows everybody: a container or job has no right to them."""
    refused = [n for n in driver.nodes or () if refusal(n) == "EPERM" and re.search(r"[67]$", n.mode)]
    if not refused or driver_works(driver):
        return
    container = seen.machine.container
    steps = (
        (
            _("Restart the container: {container} restart NAME, or create it again.", container=container)
            if container in ("docker", "podman")
            else _("Restart the container where it is defined."),
            _("Containers lose their devices when systemd on the host reloads its units (systemctl daemon-reload)."),
            _(
                "To prevent that, pass the GPU with CDI (--device nvidia.com/gpu=all), or name each device file "
                "with --device."
            ),
        )
        if container
        else (
            _("In a cluster job, request a GPU from the queue (Slurm: --gres=gpu:1)."),
            _("In a systemd service, allow the device files with DeviceAllow=."),
        )
    )
    yield make_finding(
        "driver.devices-lost",
        ERROR,
        _("This {container} container has lost access to the GPU's devices.", container=container)
        if container
        else _("The system does not let this program use the GPU's devices."),
        cause="container_lost_devices",
        why=_(
            "The mode of the device files lets everyone open them, but the kernel refuses all of them "
            "(EPERM): the control group of this container, job or service does not list them. File "
            "permissions do not matter here."
        ),
        evidence=[*_nodes(refused), *driver_answers(driver)],
        fix=manual_fix(_("Give this container or job the GPU's devices"), *steps),
    )


def closed_nodes(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The GPU's device nodes are closed to this user."""
    shut = [n for n in driver.nodes or () if n.opened is False and refusal(n)]
    if not shut or driver_works(driver):
        return
    groups = sorted({n.group for n in shut if n.group and n.group != "root"})
    join = (
        _("sudo usermod -aG {groups} $USER, then sign out and back in.", groups=quote(",".join(groups)))
        if groups
        else ""
    )
    yield make_finding(
        "driver.node-permission",
        ERROR,
        _("This user has no permission to open the GPU's device files."),
        cause="device_node_permission",
        why=_("The driver is loaded, but this user has no access to the files through which programs reach it."),
        evidence=[*_nodes(shut), *driver_answers(driver)],
        fix=manual_fix(
            _("Give this user access to the device files"),
            join,
            "" if join else _("Ask the administrator for access: the owner and mode of the files are shown above."),
            restart="session" if join else "",
        ),
        remedy=UseSystemTool(kind="device-group", subject=seen.machine.user, value=groups[0])
        if len(groups) == 1 and groups[0] in DEVICE_GROUPS and seen.machine.user and not seen.machine.container
        else None,
    )


def wrong_nodes(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A device node of the driver is missing, is no device, or refers to another device than the loaded module's."""
    if driver_works(driver) or seen.machine.wsl or not driver.expected_nodes or driver.nodes is None:
        return
    wrong = list(unfit_nodes(driver))
    missing = [row for row in wrong if row.node is None]
    nothing = not any(n.path.startswith("/dev/nvidia") for n in driver.nodes)
    if not wrong or (nothing and seen.machine.container):
        return  # Without any node, it is a container without the GPU.
    yield make_finding(
        "driver.node-wrong",
        ERROR,
        _("A device file of the GPU is missing: {paths}.", paths=join_names(row.wanted.path for row in missing))
        if len(missing) == len(wrong)
        else _(
            "A device file of the GPU does not lead to the driver: {paths}.",
            paths=join_names(row.wanted.path for row in wrong),
        ),
        cause="device_node_wrong",
        why=_(
            "Programs reach the driver through these files. The loaded kernel module assigns their device numbers. A file without these numbers, or with others, leads nowhere or to another device."
        ),
        evidence=[*(row.evidence() for row in wrong), *driver_answers(driver)],
        fix=make_again(seen, wrong),
    )


def make_again(seen: Snapshot, wrong: list[UnfitNode]) -> Fix:
    """Return how the driver gets device files again in the place of these."""
    steps = [_("sudo rm -f {path}", path=quote(row.wanted.path)) for row in wrong if row.node is not None]
    if seen.machine.container:
        steps = [
            _("Start the container again with --gpus all, or with CDI: --device nvidia.com/gpu=all."),
            _("Mount no single device files by hand."),
        ]
    else:
        steps += ["sudo nvidia-modprobe -c 0 -u", _("If that is refused, restart the computer.")]
    return manual_fix(_("Let the driver create its device files"), *steps)


class UnfitNode(NamedTuple):
    """A node that the driver expects, and what is there instead."""

    wanted: ExpectedNode
    node: DeviceNode | None

    def evidence(self) -> Evidence:
        """Return the actual and the expected node."""
        numbers = f"{self.wanted.major}:{self.wanted.minor}"
        if self.node is None:
            words = _("not there; the driver serves it as {numbers}", numbers=numbers)
        elif self.node.major is None:
            words = _("{problem}; the driver serves it as {numbers}", problem=_node_state(self.node), numbers=numbers)
        else:
            there = f"{self.node.major}:{self.node.minor}"
            words = _("is {there}; the driver serves it as {numbers}", there=there, numbers=numbers)
        return observation(self.wanted.path, words, "/proc/devices")


def _node_state(node: DeviceNode) -> str:
    return translate_fact(node.problem) or _("unknown")


def unfit_nodes(driver: Driver) -> Iterator[UnfitNode]:
    """Yield each expected node that is missing, no device, or another device.

    A node whose numbers were not recorded (older reports) is not among them.
    """
    there = {n.path: n for n in driver.nodes or ()}
    for wanted in driver.expected_nodes or ():
        node = there.get(wanted.path)
        plain = (
            node is not None and node.major is None and node.opened is None and bool(node.problem) and node.mode != ""
        )
        other = node is not None and node.major is not None and (node.major, node.minor) != (wanted.major, wanted.minor)
        if node is None or plain or other:
            yield UnfitNode(wanted, node)


def _nodes(nodes: list[DeviceNode]) -> list[Evidence]:
    return [observation(n.path, node_words(n), "/dev") for n in nodes]


def node_words(node: DeviceNode) -> str:
    """Return mode, owner and group of a node, and why it could not be opened."""
    return f"{node.mode} {node.owner}:{node.group} {translate_fact(node.problem)}".strip()


def refusal(node: DeviceNode) -> str:
    """Return how the kernel refused a node: EACCES by its mode or access list, EPERM by a control group; else nothing."""
    return node.errno if node.opened is False and node.errno in ("EACCES", "EPERM") else ""
