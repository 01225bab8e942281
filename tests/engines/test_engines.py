"""Each engine, started for real with the files of docs/engines, sees a sick machine and a healthy one.

Debian: slurmctld slurmd slurm-client munge prometheus prometheus-node-exporter nagios4-core; the readers of JUnit and SARIF,
and the schemas of Kubernetes and GitHub, come from the package index with uv.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "docs" / "engines"
REPORTS = {name: ROOT / f"tests/snapshots/h200/{name}.json" for name in ("cnn-deleted", "healthy")}
SICK, HEALTHY = REPORTS["cnn-deleted"], REPORTS["healthy"]
REASON = "cuDNN is incomplete: libcudnn_cnn.so.9 is missing."
LONGEST = 60.0
"""Seconds until an engine has noticed."""
GITHUB_SCHEMA = ("check-jsonschema", "--builtin-schema")
pytestmark = pytest.mark.engines


def tool(name: str) -> str:
    """Return where a program is, also where only root looks."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found, f"{name} is not installed; see this module's first lines"
    return found


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, check=False, **options)


class Machine:
    """A program that stands for an installed convalesce on a machine that a file names."""

    def __init__(self, folder: Path) -> None:
        self.which = folder / "which"
        self.program = folder / "convalesce"
        self.program.write_text(
            f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m core "$@" --report "$(cat "{self.which}")"\n'
        )
        self.program.chmod(0o755)
        self.becomes(SICK)

    def becomes(self, report: Path) -> None:
        self.which.write_text(str(report))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def until(condition: Callable[[], bool]) -> bool:
    """Ask until it is so, or the longest time is over."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.5)  # an engine has its own clock
    return condition()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


@contextmanager
def started(*command: str | Path, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*map(str, command)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


# --- Slurm -------------------------------------------------------------------------------------------------


def slurm_conf(folder: Path, node: str) -> str:
    lines = {
        "ClusterName": "one",
        "SlurmctldHost": f"{node}(127.0.0.1)",
        "SlurmUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/sock",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool",
        "SlurmctldPidFile": f"{folder}/ctld.pid",
        "SlurmdPidFile": f"{folder}/d.pid",
        "SlurmctldLogFile": f"{folder}/ctld.log",
        "SlurmdLogFile": f"{folder}/d.log",
        "SlurmctldPort": str(free_port()),
        "SlurmdPort": str(free_port()),
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "ReturnToService": "2",
        "Prolog": f"{folder}/prolog.sh",
        "HealthCheckProgram": f"{folder}/health.sh",
        "HealthCheckInterval": "2",
        "HealthCheckNodeState": "ANY",
    }
    rows = [f"{k}={v}" for k, v in lines.items()]
    rows += [f"NodeName={node} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN", f"PartitionName=all Nodes={node} Default=YES"]
    return "\n".join(rows) + "\n"


@contextmanager
def slurm(folder: Path, machine: Machine) -> Iterator[dict[str, str]]:
    """One node with its controller, in a folder of its own."""
    for name in ("state", "spool", "key"):
        (folder / name).mkdir(parents=True)
    key = folder / "key" / "munge"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    (folder / "slurm.conf").write_text(slurm_conf(folder, socket.gethostname().partition(".")[0]))
    env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "CONVALESCE": str(machine.program)}
    for name, script in (("health.sh", "slurm-health-check.sh"), ("prolog.sh", "slurm-prolog.sh")):
        words = f'#!/bin/sh\nexport SLURM_CONF="{folder}/slurm.conf" CONVALESCE="{machine.program}"\nexec "{FILES}/{script}"\n'
        (folder / name).write_text(words)
        (folder / name).chmod(0o755)
    munge = [f"--socket={folder}/sock", f"--key-file={key}", f"--pid-file={folder}/munge.pid"]
    munge += [f"--log-file={folder}/munge.log", f"--seed-file={folder}/seed"]
    with (
        started(tool("munged"), "--foreground", "--force", *munge),
        started(tool("slurmctld"), "-D", "-i", env=env),
        started(tool("slurmd"), "-D", env=env),
    ):
        yield env


def node_says(env: dict[str, str]) -> str:
    return run(tool("scontrol"), "show", "node", env=env).stdout


def test_slurm_drains_a_sick_node_and_takes_it_back(tmp_path: Path, machine: Machine) -> None:
    with slurm(tmp_path / "slurm", machine) as env:
        assert until(lambda: "DRAIN" in (told := node_says(env)) and f"Reason=convalesce: {REASON}" in told)
        machine.becomes(HEALTHY)
        assert until(lambda: "State=IDLE " in node_says(env)), node_says(env)


def test_slurms_prolog_lets_a_healthy_node_run_its_job(tmp_path: Path, machine: Machine) -> None:
    machine.becomes(HEALTHY)
    with slurm(tmp_path / "slurm", machine) as env:
        assert until(lambda: "State=IDLE " in node_says(env))
        done = run(tool("srun"), "-N1", "echo", "it ran", env=env)
        assert (done.returncode, done.stdout) == (0, "it ran\n"), done.stderr


# --- Prometheus --------------------------------------------------------------------------------------------


def test_node_exporter_serves_the_gauges(tmp_path: Path, machine: Machine) -> None:
    folder = tmp_path / "textfile"
    folder.mkdir()
    env = {**os.environ, "CONVALESCE": str(machine.program), "FOLDER": str(folder)}
    assert run(FILES / "prometheus-textfile.sh", env=env).returncode == 0
    checked = run(tool("promtool"), "check", "metrics", input=(folder / "convalesce.prom").read_text())
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stderr
    port = free_port()
    exporter = [tool("prometheus-node-exporter"), "--collector.disable-defaults", "--collector.textfile"]
    with started(*exporter, f"--collector.textfile.directory={folder}", f"--web.listen-address=127.0.0.1:{port}"):
        assert until(lambda: 'convalesce_state{state="critical"} 1' in page(port))
        assert "node_textfile_scrape_error 0" in page(port)


def page(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def test_promtool_takes_the_rules() -> None:
    done = run(tool("promtool"), "check", "rules", FILES / "prometheus-rules.yml")
    assert done.returncode == 0, done.stdout + done.stderr


# --- Nagios ------------------------------------------------------------------------------------------------

NAGIOS = """log_file={at}/log
object_cache_file={at}/objects.cache
precached_object_file={at}/objects.precache
status_file={at}/status.dat
temp_file={at}/temp
temp_path={at}
check_result_path={at}/results
lock_file={at}/lock
command_file={at}/command
state_retention_file={at}/retention.dat
query_socket={at}/query.qh
nagios_user=root
nagios_group=root
status_update_interval=2
interval_length=1
illegal_macro_output_chars=`~$&|'"<>
check_external_commands=0
execute_service_checks=1
execute_host_checks=1
service_inter_check_delay_method=n
host_inter_check_delay_method=n
cfg_file={at}/convalesce.cfg
cfg_file={at}/objects.cfg
"""
OBJECTS = """define command {
    command_name alive
    command_line /bin/true
}
define timeperiod {
    timeperiod_name always
    alias always
    monday 00:00-24:00
    tuesday 00:00-24:00
    wednesday 00:00-24:00
    thursday 00:00-24:00
    friday 00:00-24:00
    saturday 00:00-24:00
    sunday 00:00-24:00
}
define contact {
    contact_name nobody
    host_notifications_enabled 0
    service_notifications_enabled 0
    host_notification_period always
    service_notification_period always
    host_notification_commands alive
    service_notification_commands alive
}
define host {
    host_name here
    address 127.0.0.1
    check_command alive
    check_period always
    max_check_attempts 1
    contacts nobody
}
define service {
    host_name here
    service_description gpu
    check_command check_convalesce
    check_period always
    max_check_attempts 1
    check_interval 2
    retry_interval 1
    contacts nobody
}
"""


def test_nagios_shows_the_state_and_its_data(tmp_path: Path, machine: Machine) -> None:
    at = tmp_path / "nagios"
    (at / "results").mkdir(parents=True)
    (at / "nagios.cfg").write_text(NAGIOS.format(at=at))
    (at / "objects.cfg").write_text(OBJECTS)
    command = (FILES / "nagios.cfg").read_text().replace("convalesce check", f"{machine.program} check")
    (at / "convalesce.cfg").write_text(command)
    checked = run(tool("nagios4"), "-v", at / "nagios.cfg")
    assert checked.returncode == 0, checked.stdout

    def says(*words: str) -> bool:
        told = (at / "status.dat").read_text() if (at / "status.dat").exists() else ""
        return all(w in told.partition("servicestatus {")[2] for w in words)

    with started(tool("nagios4"), at / "nagios.cfg"):
        assert until(lambda: says("current_state=2", f"CONVALESCE CRITICAL - {REASON}", "performance_data=faults=1 "))
        machine.becomes(HEALTHY)
        assert until(lambda: says("current_state=0", "CONVALESCE OK - "))


# --- readers of files --------------------------------------------------------------------------------------


def reader(package: str, code: str, path: Path) -> str:
    """Run a few lines that use a package of the index, in an environment of uv's own."""
    done = run(sys.executable, "-m", "uv", "run", "--no-project", "--with", package, "python", "-c", code, path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("report", "counts"), [(SICK, (1, 0)), (HEALTHY, (0, 0))])
def test_a_reader_of_junit_counts_the_failures(
    report: Path, counts: tuple[int, int], tmp_path: Path, machine: Machine
) -> None:
    machine.becomes(report)
    out = tmp_path / "junit.xml"
    run(machine.program, "check", "--form", "junit", "--out", out)
    code = (
        "import sys, junitparser\n"
        "x = junitparser.JUnitXml.fromfile(sys.argv[1])\n"
        "cases = [c for s in ([x] if isinstance(x, junitparser.TestSuite) else x) for c in s]\n"
        "kinds = [type(r).__name__ for c in cases for r in c.result]\n"
        "print(kinds.count('Failure') >= 1, kinds.count('Error'))\n"
    )
    assert reader("junitparser", code, out).split() == [str(counts[0] >= 1), str(counts[1])]


@pytest.mark.parametrize(("report", "errors"), [(SICK, True), (HEALTHY, False)])
def test_a_reader_of_sarif_counts_the_errors(report: Path, errors: bool, tmp_path: Path, machine: Machine) -> None:
    machine.becomes(report)
    out = tmp_path / "convalesce.sarif"
    run(machine.program, "check", "--form", "sarif", "--out", out)
    code = (
        "import sys\nfrom sarif import loader\n"
        "print(sum(r['level'] == 'error' for r in loader.load_sarif_file(sys.argv[1]).get_results()))\n"
    )
    assert (int(reader("sarif-tools", code, out)) >= 1) is errors


def test_the_action_of_github_annotates(tmp_path: Path, machine: Machine) -> None:
    """Its shell step, as a runner starts it; the runner itself is not had here."""
    code = "import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))['runs']['steps'][0]['run'])"
    step = reader("pyyaml", code, FILES / "github-action.yml")
    env = {**os.environ, "PATH": f"{machine.program.parent}:{os.environ['PATH']}", "EXPECT": "", "PYTHON": ""}
    done = run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step, env=env, cwd=tmp_path)
    assert done.returncode == 1
    assert f"::error title=cudnn.sublibrary-missing::{REASON}" in done.stdout


@pytest.mark.parametrize(
    ("package", "words", "file"),
    [
        ("kubernetes-validate", ("kubernetes-validate", "--strict"), FILES / "daemonset.yaml"),
        ("check-jsonschema", (*GITHUB_SCHEMA, "vendor.github-actions"), FILES / "github-action.yml"),
        ("check-jsonschema", (*GITHUB_SCHEMA, "vendor.github-workflows"), ROOT / ".github/workflows/installers.yml"),
    ],
)
def test_a_file_holds_by_its_engines_published_schema(package: str, words: tuple[str, ...], file: Path) -> None:
    """The packages bring the schemas of Kubernetes' API and of GitHub's actions and workflows."""
    done = run(sys.executable, "-m", "uv", "run", "--no-project", "--with", package, *words, file)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", sorted(FILES.glob("intune-*.ps1")), ids=lambda f: f.stem)
def test_intunes_scripts_are_powershell(file: Path) -> None:
    """No registry has PowerShell itself: a grammar of it parses them. Intune takes them as UTF-8 without a mark, up to 200 kB."""
    code = (
        "import sys, tree_sitter, tree_sitter_powershell as powershell\n"
        "parser = tree_sitter.Parser(tree_sitter.Language(powershell.language()))\n"
        "text = open(sys.argv[1], 'rb').read()\n"
        "print(parser.parse(text).root_node.has_error, parser.parse(text + b'if (').root_node.has_error)\n"
    )
    found = run(sys.executable, "-m", "uv", "run", "--no-project", "--with", "tree-sitter", "--with",
                "tree-sitter-powershell", "python", "-c", code, file)  # fmt: skip
    assert found.stdout.split() == ["False", "True"], found.stdout + found.stderr
    assert file.read_bytes().isascii()
    assert file.stat().st_size < 200_000
    assert "$env:ProgramW6432" in file.read_text(), "Intune starts the 32-bit PowerShell unless it is told otherwise"
    assert "$env:ProgramFiles" not in file.read_text(), "there this is the folder of 32-bit programs"


@pytest.mark.parametrize(("report", "status"), [(SICK, 1), (HEALTHY, 0)])
def test_intunes_detection_gets_one_short_line_and_its_status(report: Path, status: int, machine: Machine) -> None:
    """The script's own call, by a stand-in of PowerShell's ``&``: Intune keeps 2,048 characters and remediates at 1."""
    machine.becomes(report)
    (words,) = [x for x in (FILES / "intune-detect.ps1").read_text().splitlines() if x.startswith("& $program ")]
    done = run(machine.program, *words.split()[2:])
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (status, "", 1)
    assert len(done.stdout) <= 2048


def test_node_problem_detectors_file_has_the_fields_of_its_type() -> None:
    """Its program is not had here: the fields are those of CustomPluginConfig (pkg/custompluginmonitor/types)."""
    told = json.loads((FILES / "node-problem-detector.json").read_text())
    assert set(told) <= {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
    assert {c["type"] for c in told["conditions"]} >= {r["condition"] for r in told["rules"]}
    assert told["pluginConfig"]["max_output_length"] == 80


def test_the_daemonsets_command_reads_a_root_without_any_capability(tmp_path: Path) -> None:
    """Its command line over this system's own root, as the file has it; a cluster is not had here."""
    code = (
        "import sys, yaml\n"
        "c = yaml.safe_load(open(sys.argv[1]))['spec']['template']['spec']['containers'][0]\n"
        "print(c['args'][0])\n"
    )
    words = reader("pyyaml", code, FILES / "daemonset.yaml")
    one = words.partition("do ")[2].partition(";")[0].replace("/host", "/").replace("/textfile", str(tmp_path))
    one = one.replace("convalesce check", f"{sys.executable} -m core check", 1)
    done = run("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "sh", "-c", one, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "convalesce_state" in (tmp_path / "convalesce.prom").read_text()
