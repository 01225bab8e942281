"""What packages leave to Windows itself: Microsoft's C++ runtime, parts of its editions, and how each is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.common.i18n import N_, _
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.model.facts import Snapshot
from core.model.findings import Fix
from core.rules.guides import numbered_steps
from core.rules.snapshot_queries import installed_programs
from core.rules.wording import manual_fix

MSVC_RUNTIME = late_pattern(
    r"(vcruntime140|msvcp140|concrt140|vcomp140|vccorlib140|mfc140u?)(?!\w*d\.dll)\w*\.dll", re.IGNORECASE
)
"""Microsoft's C++ runtime of Visual Studio 2015 and later, which one installer brings."""

PYTHONS_DLL = late_pattern(r"(?i)python\d+t?\.dll")
STABLE_DLL = "python3.dll"
"""What modules of the stable ABI are linked against, instead of one release's DLL."""
DEBUG_RUNTIME = late_pattern(r"(?i)(vcruntime140(_1)?d|msvcp140\w*d|ucrtbased|concrt140d|python\d+_d)\.dll")
"""The C++ runtime of debug builds, which only Visual Studio installs and nobody may pass on."""

OLDER_RUNTIMES = {"90": "2008", "100": "2010", "110": "2012", "120": "2013"}
"""Number in the name of an older C++ runtime (msvcr120.dll) -> its year."""
OLDER_RUNTIME = late_pattern(r"(?i)(?:msvc[rp]|mfc|vcomp)(90|100|110|120)u?\.dll")

PARTS: tuple[tuple[str, str, str], ...] = (
    (r"mf|mfplat|mfreadwrite|mfcore|evr|wmvcore", N_("Install Windows' media features"),
     N_("An N edition of Windows: Settings, System, Optional features, Add a feature, Media Feature Pack. Windows Server: Install-WindowsFeature Server-Media-Foundation. Then restart.")),
    (r"libomp140\.x86_64|libomp140", N_("Use a release that brings this library"),
     N_("Only Visual Studio has it (Build Tools, C++, LLVM's OpenMP), and the release left it out. Install a newer or an older release of {who}, or Microsoft's Build Tools with C++.")),
    (r"nvtoolsext64_1", N_("Install NVIDIA's Tools Extension"),
     N_("CUDA's installer up to 11.8 brings it: select NVTX there. Newer releases of {who} do not need it.")),
    (r"msmpi", N_("Install Microsoft MPI"), N_("Microsoft's page of MS-MPI has msmpisetup.exe.")),
    (r"opengl32|glu32", N_("Install Windows' graphics parts"), N_("A container or Nano Server has none: use the image windows, or servercore with these files.")),
)  # fmt: skip
"""Pattern of a DLL's stem -> title and advice."""


KEPT_BACK = (225, 226, 1260, 4551)
"""Numbers by which Windows refuses a file that is whole: ERROR_VIRUS_INFECTED, ERROR_VIRUS_DELETED, ERROR_ACCESS_DISABLED_BY_POLICY,
ERROR_SYSTEM_INTEGRITY_POLICY_VIOLATION (Microsoft, "System Error Codes")."""
IN_THE_CLOUD = (358, 362, 363, 364, 367, 369, 388, 389, 395, 397)
"""ERROR_CLOUD_FILE_...: the file is a placeholder, and its content could not be fetched (winerror.h)."""


def let_go(path: str, number: int) -> Fix:
    """Return what to do where a virus scanner, a policy or a sync client keeps a file back."""
    if number in IN_THE_CLOUD:
        return manual_fix(
            _("Keep the file on this device"),
            _('In the Explorer, select "Always keep on this device" for the folder of {path}, or move the environment out of the synchronised folders.', path=path),
            restart="program",
        )  # fmt: skip
    return manual_fix(
        _("Let Windows load the file"),
        _("Windows Security, Protection history (a virus scanner) or App & browser control (Smart App Control) names the file; an administrator's policy, the event log \"CodeIntegrity\"."),
        _("Allow {path} there, then reinstall its package if the file is gone.", path=path),
        restart="program",
    )  # fmt: skip


def larger_page_file() -> Fix:
    """Return how Windows gets a larger page file."""
    return manual_fix(
        _("Let Windows manage the page file"),
        _(
            "Settings, System, About, Advanced system settings, Performance, Advanced, Virtual memory: let Windows manage the "
            "size, and restart. Fewer workers (num_workers) need less."
        ),
        restart="computer",
    )


def install_redistributable(seen: Snapshot) -> Fix:
    """Return how to get Microsoft's C++ runtime: to repair it where Windows lists it as installed."""
    listed = installed_programs(seen, _("Redistributable (x64)"))
    again = (_("Windows lists it as installed: in Settings, Apps, select it, then Modify, Repair."),) if listed else ()
    return manual_fix(
        _("Repair Microsoft's Visual C++ Redistributable (x64)")
        if listed
        else _("Install Microsoft's Visual C++ Redistributable (x64)"),
        *again,
        *numbered_steps("cpp-runtime", seen),
        _(
            'Get it from Microsoft\'s page "Microsoft Visual C++ Redistributable latest supported downloads": '
            "the X64 file, vc_redist.x64.exe."
        ),
        restart="program",
    )


def install_part(name: str, owners: Iterable[str], seen: Snapshot) -> Fix:
    """Return how Windows gets a DLL that a package leaves to it."""
    if MSVC_RUNTIME.fullmatch(name):
        return install_redistributable(seen)
    who, stem = join_names(owners), name.lower().removesuffix(".dll")
    if old := OLDER_RUNTIME.fullmatch(name):
        year = OLDER_RUNTIMES[old[1]]
        title = _("Install Microsoft's Visual C++ {year} Redistributable (x64)", year=year)
        return manual_fix(title, _("It is on Microsoft's page of the Visual C++ Redistributables."), restart="program")
    for pattern, title, advice in PARTS:
        if re.fullmatch(pattern, stem):
            return manual_fix(_(title), _(advice, who=who), restart="program")
    return manual_fix(
        _("Install a package that includes {name}", name=name),
        _("Neither {who} nor Windows includes {name}: the website of {who} says which program or package to install.", who=who, name=name),
        _("Python does not search PATH for it: it must lie beside the module, beside python.exe, or in a folder given to os.add_dll_directory."),
        restart="program",
    )  # fmt: skip


def readable_again(paths: str, seen: Snapshot) -> Fix:
    """Return how the owner of files lets others read them."""
    title = _("Let this user read the file")
    if seen.machine.system == "windows":
        return manual_fix(
            title, _('Its owner or an administrator does: icacls "{paths}" /grant *S-1-5-32-545:RX', paths=paths)
        )
    return manual_fix(title, _("Its owner does: chmod a+r {paths}; each folder above it needs a+x.", paths=paths))
