"""Settings of a service that keep something from its program: named where they matter, and nowhere else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Confinement,
    Distribution,
    FrameworkBuild,
    Frameworks,
    Snapshot,
    Start,
    Variable,
)
from core.model.steps import Severity
from core.rules.confinement import confined_services
from tests.machines import PREFIX, python, wheel_machine

UNIT = "/etc/systemd/system/serve.service"
SETTINGS = {
    "devices": ("PrivateDevices=yes", "/dev/nvidiactl", ""),
    "code": ("MemoryDenyWriteExecute=yes", "", ""),
    "memory": ("LimitAS=4G", "", ""),
    "place": ("ProtectHome=yes", "/home", "/home/ada/env/bin/python"),
    "user": ("User=www-data", "/root", "/root/env/bin/python"),
}


def machine(
    kind: str,
    *,
    cuda: str = "12.4",
    distributions: tuple[str, ...] = (),
    gpu: bool = True,
    size: int | None = None,
    **env: str,
) -> Snapshot:
    setting, path, needed = SETTINGS[kind]
    one = Confinement(kind=kind, setting=setting, file=UNIT, line=4, path=path, needed=needed, size=size)
    variables = tuple(Variable(name=n, value=v) for n, v in env.items())
    start = Start(id=f"service:{UNIT}", kind="service", at=UNIT, prefix=PREFIX, confined=(one,), variables=variables)
    build = FrameworkBuild(prefix=PREFIX, distribution="torch", version="2.6.0", cuda=cuda)
    seen = wheel_machine()
    assert seen.driver is not None
    without = replace(seen.driver, gpus=(), pci=(), nvml=None, cuda_unhidden=None, cuda_clean=None, cuda_bare=None)
    its = tuple(Distribution(name=n, version="1.0") for n in ("torch", *distributions))
    return replace(
        seen,
        pythons=(replace(python(), distributions=its),),
        frameworks=Frameworks(builds=(build,)),
        starts=(start,),
        driver=seen.driver if gpu else without,
    )


@pytest.mark.parametrize(
    ("seen", "severity", "words"),
    [
        (machine("devices"), Severity.WARNING, "keeps its program from /dev/nvidiactl"),
        (machine("devices", gpu=False), None, ""),
        (machine("devices", cuda=""), None, ""),  # a build for processors alone
        (machine("devices", CUDA_VISIBLE_DEVICES=""), None, ""),  # it is not to use the GPU
        (machine("code"), None, ""),  # PyTorch runs so
        (machine("code", distributions=("jaxlib",)), Severity.ERROR, "jaxlib compiles code into memory"),
        (machine("memory"), Severity.WARNING, "LimitAS=4G leaves too little"),
        (machine("memory", gpu=False), None, ""),
        (machine("memory", size=4 << 30, gpu=False), Severity.ERROR, "LimitAS=4G leaves too little"),
        (machine("place"), Severity.ERROR, "ProtectHome=yes hides /home"),
        (machine("place", gpu=False), Severity.ERROR, "/home/ada/env/bin/python"),
        (machine("user"), Severity.ERROR, "User=www-data: this account may not enter /root"),
        (machine("user", cuda=""), None, ""),
    ],
)
def test_a_setting_counts_where_the_program_needs_what_it_keeps(seen: Snapshot, severity: Severity | None, words: str):
    found = list(confined_services(seen))
    assert [(f.severity, f.cause) for f in found] == ([] if severity is None else [(severity, "service_confined")])
    for one in found:
        assert words in one.title
        assert one.title.startswith("Only in the service serve.service")
        assert any(e.source == f"{UNIT}:4" for e in one.evidence)
        assert one.fix is not None
        assert one.ways == (f"service:{UNIT}",)
