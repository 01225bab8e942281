"""Redaction by facts and by form: no planted name is in any form of a report; words of the field stay where they are."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor.examine import diagnose_snapshot, explain_text
from core.explain import to_json as explanation_json
from core.model.facts import Environment, Machine, PythonEnvironment, Snapshot, Variable
from core.model.findings import Report
from core.probes.known_names import _of_mounts, _windows_folders, servers_in, with_known_names
from core.report.html import as_html
from core.report.json_form import to_json
from core.report.redact import Cleaner, redact
from core.report.redact_patterns import COMMON_WORDS, ENGLISH_WORDS, SECRET_FORMS, SHARE_PATTERNS, STORAGE, TERM_WORDS
from core.report.redact_patterns import HOSTS as HOST_FORMS
from core.report.text import as_markdown, report_text
from tests import machines
from tests.report.test_redact import SHORT, filled
from tests.test_same_everywhere import MACHINES

FORMS = (lambda r: to_json(r).decode(), report_text, as_markdown, as_html)
SYLLABLES = st.sampled_from(
    ["zu", "ki", "ra", "vo", "mex", "tul", "bro", "fen", "gad", "hoy", "jin", "wex", "yor", "plu", "quo"]
)
NAMES = (
    st.lists(SYLLABLES, min_size=3, max_size=4)
    .map("".join)
    .filter(lambda n: n not in COMMON_WORDS | TERM_WORDS | ENGLISH_WORDS)
)


def texts(user: str, other: str, host: str, server: str, project: str) -> str:
    """Return what holds all names, each where a machine has it."""
    return "\n".join(
        (
            f"/home/{user}/env/lib and /data/teams/{other}/env",
            f"/scratch/{other}/env/lib /lustre/users/{other}/x /gpfs/{project}/env",
            f"/afs/{server}.edu/user/{other[0]}/{other}/lib",
            f"/net/{server}/cudnn /mnt/{server}/cudnn and {server}:/export/cudnn",
            f"\\\\{server}\\{project}\\cudnn\\bin",
            f"could not connect to {host}:29500 [{host}]:29500 tcp://{host}:1234 {host}.cluster.local",
            f"{host}:4711:4712 [0] NCCL INFO Bootstrap : Using eth0",
            f"{other}@{host}: made by {other}",
        )
    )


def planted(user: str, other: str, host: str, server: str, project: str) -> Report:
    """Return a report whose every free text holds the names, on a machine that knows those of people and servers."""
    machine = Machine(
        system="linux", user=user, host_name=f"{host}.x", home=f"/home/{user}", people=(other,), servers=(server,)
    )
    snapshot = replace(filled(Snapshot, texts(user, other, host, server, project)), machine=machine)
    wanted = {
        "TF_CONFIG": f'{{"cluster": {{"worker": ["{host}:2222", "{server}-2.lan:2222"]}}}}',
        "MASTER_ADDR": host,
        "SLURM_JOB_NODELIST": f"{host}[01-04],{server}7",
        "REDIS_HOST": server,
        "https_proxy": f"http://{server}:3128",
        "SUDO_USER": other,
    }
    variables = tuple(Variable(name=n, value=v) for n, v in wanted.items())
    return Report(snapshot=replace(snapshot, environment=Environment(variables=variables)))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(NAMES, min_size=5, max_size=5, unique=True).filter(
        lambda n: not any(a in b for a in n for b in n if a is not b)
    )
)
def test_no_planted_name_is_left_in_any_form(names: list[str]) -> None:
    report = planted(*names)
    before, clean = to_json(report).decode(), redact(report)
    assert all(name in before for name in names)
    for form in FORMS:
        shown = form(clean).lower()
        assert [name for name in names if name in shown] == []


def test_no_planted_name_is_left_in_an_explanation() -> None:
    names = ("marialopez", "peterzhang", "wks0815", "fileserv77", "secretproject")
    seen = machines.wheel_machine()
    known = planted(*names).snapshot.machine
    seen = replace(seen, machine=replace(known, home=f"/home/{names[0]}"))
    text = texts(*names) + "\nCould not load library libcudnn_ops_infer.so.8\nRuntimeError: CUDA error: no kernel image"
    for machine in (seen, None):
        told, _ = explain_text(text, machine, None, Progress(lambda _s: None))
        clean = explanation_json(Cleaner(machine or Snapshot(machine=known)).redact_texts(told)).decode()
        assert [n for n in names if n in clean.lower()] == []


ORDINARY = ("cuda", "python", "lib", "root", "data", "gpu", "conda", "torch", "cudnn", "driver", "opt", "usr", "nvidia")


@pytest.mark.parametrize("word", ORDINARY)
@pytest.mark.parametrize("name", ["wheel", *list(machines.HEALTHY)[:3]])
def test_names_that_are_words_of_the_field_spoil_nothing(word: str, name: str) -> None:
    seen = machines.wheel_machine() if name == "wheel" else machines.HEALTHY[name]()
    broken = machines.with_file(seen, "ops", state="truncated", size=9) if name == "wheel" else seen
    # what anybody's name takes out is not this word's doing
    plain = replace(broken, machine=replace(broken.machine, user="x", host_name="y"))
    named = replace(broken, machine=replace(broken.machine, user=word, host_name=word, people=(word,), servers=(word,)))
    one, two = redact(diagnose_snapshot(plain)), redact(diagnose_snapshot(named))
    assert [(f.id, f.cause, f.title, f.subject) for f in two.findings] == [
        (f.id, f.cause, f.title, f.subject) for f in one.findings
    ]
    for section in ("cudnn", "toolkits", "pythons", "loads"):
        assert msgspec.json.encode(getattr(two.snapshot, section)) == msgspec.json.encode(
            getattr(one.snapshot, section)
        ), section


STAYS = (
    "/mnt/c/Windows and /mnt/data/cuda-12.4/lib64",
    "/scratch/venv/lib/python3.11/site-packages/torch",
    "/media/cuda/x",
    "/project/cuda-12.4/lib64/libcudnn.so.9.1.0",
    "nvidia-cudnn-cu12==9.1.0.70, libcurand 10.3.2.106 and 192.168",
    "socket.cpp:4011 and model.py:1234 of line:12",
    "https://download.pytorch.org/whl/cu130 https://docs.nvidia.com:443/x",
    "10.0.1 at 12:34:56, 2026-11-22T04:49:13+00:00",
    "/usr/local/cuda-12.4/lib64:/opt/lib",
    "tcp://127.0.0.1:29500 and localhost:29500",
)


@pytest.mark.parametrize("text", STAYS)
def test_what_names_no_host_and_no_person_stays(text: str) -> None:
    assert Cleaner(Snapshot(machine=Machine(system="linux", user="ada", host_name="vm"))).redact_text(text) == text


HOSTS = {
    ("TF_CONFIG", '{"cluster":{"worker":["node1:2222","node2:2222"]},"task":{"type":"worker","index":0}}'): (
        '{"cluster":{"worker":["<host-1>:2222","<host-2>:2222"]},"task":{"type":"worker","index":0}}'
    ),
    ("MASTER_ADDR", "trainer"): "<host-1>",
    ("MASTER_ADDR", "127.0.0.1"): "127.0.0.1",
    ("SLURM_NODELIST", "gpu[01-04]"): "<host-1>",
    ("KUBERNETES_SERVICE_HOST", "10.96.0.1"): "<host-1>",
    ("MASTER_PORT", "29500"): "29500",
    ("CUDA_VISIBLE_DEVICES", "0,1"): "0,1",
}


@pytest.mark.parametrize(("name", "value"), HOSTS)
def test_hosts_in_variables_go_and_what_is_around_them_stays(name: str, value: str) -> None:
    cleaner = Cleaner(Snapshot(machine=Machine(system="linux")))
    assert cleaner.redact_texts(Variable(name=name, value=value)).value == HOSTS[name, value]


def many(count: int, people: int) -> Snapshot:
    """Return a machine with ``count`` environments and as many as ``people`` persons that are known."""
    pythons = tuple(PythonEnvironment(prefix=f"/data/teams/person{i % people}x/env{i}") for i in range(count))
    names = tuple(f"person{i}x" for i in range(people))
    return Snapshot(machine=Machine(system="linux", people=names), pythons=pythons)


def work(seen: Snapshot) -> int:
    cleaner = Cleaner(seen)
    cleaner.redact_texts(seen)
    return cleaner.work


def test_ten_times_the_report_is_ten_times_the_work_however_many_names_are_known() -> None:
    assert work(many(20_000, 50)) < 11 * work(many(2_000, 50))
    assert work(many(2_000, 1_000)) < 1.2 * work(many(2_000, 10))


def test_a_known_name_is_found_among_a_thousand() -> None:
    cleaner = Cleaner(many(1, 1_000))
    assert cleaner.redact_text("of person7x and person77x, not person7y") == "of <user-1> and <user-2>, not person7y"


MOUNTS = rb"""36 25 0:32 / /home rw - nfs4 nfs77.inner:/export/home rw,addr=10.1.2.3
37 25 0:33 / /mnt/x rw - cifs //winserv/share rw,username=maria,addr=10.1.2.4
38 25 0:34 / /lustre rw - lustre 10.9.0.1@tcp:10.9.0.2@tcp1:/big rw
39 25 0:35 / /ssh rw - fuse.sshfs peter@remote9:/home rw
40 25 8:1 / / rw - ext4 /dev/sda1 rw
41 25 0:36 / /ceph rw - ceph mon1,mon2:6789:/ rw
"""


def test_servers_come_from_every_network_mount() -> None:
    servers, users = _of_mounts(MOUNTS)
    assert " ".join(sorted(servers)) == ("10.1.2.3 10.1.2.4 10.9.0.1 10.9.0.2 mon1 mon2 nfs77.inner remote9 winserv")
    assert users == ("peter",)


def test_owners_of_what_was_seen_and_who_is_behind_sudo_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwd = pytest.importorskip("pwd")
    owner = tmp_path.stat().st_uid

    def account(number: int) -> object:
        name = {owner: "anna", 4711: "berta"}[number]
        return pwd.struct_passwd((name, "x", number, 1, "Anna Maria Schmidt,,,", "/", "/bin/sh"))

    monkeypatch.setattr("core.probes.known_names.FIRST_PERSON", 0)
    monkeypatch.setattr(pwd, "getpwuid", account)
    monkeypatch.setattr("os.geteuid", lambda: owner)
    (tmp_path / "team/env").mkdir(parents=True)
    seen = Snapshot(machine=Machine(system="linux", user="root"), pythons=(PythonEnvironment(prefix="/team/env/x"),))
    found = with_known_names(seen, tmp_path, {"SUDO_USER": "carla", "SUDO_UID": "4711"}).machine
    assert set(found.people) == {"anna", "berta", "carla", "Anna Maria Schmidt"}


class Unsifted(Cleaner):
    """Goes over every text with every pattern, whatever signs it holds."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self._passes = tuple((replaced, form._replace(signs=())) for replaced, form in self._passes)
        self._usual = tuple(form for _replaced, form in self._passes)


@pytest.mark.parametrize("name", MACHINES)
def test_what_has_no_sign_of_a_form_is_not_of_that_form(name: str) -> None:
    seen = MACHINES[name]()
    quick, slow = Cleaner(seen), Unsifted(seen)
    assert quick.redact_texts(seen) == slow.redact_texts(seen)
    assert quick.counts == slow.counts
    assert quick.work < slow.work


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=40),
    st.sampled_from(
        (*SHORT, *(p for form in (*SECRET_FORMS, *SHARE_PATTERNS, *HOST_FORMS, STORAGE) for p in form.signs))
    ),
)
def test_no_text_made_of_signs_escapes(noise: str, sign: str) -> None:
    seen = Snapshot(machine=Machine(system="linux", user="maria", host_name="wks7.lab", people=("vera", "o'neil")))
    for text in (noise + sign, sign.upper() + noise, f"{sign}{noise}{sign} maria@wks7:2222"):
        assert Cleaner(seen).redact_text(text) == Unsifted(seen).redact_text(text)


def test_servers_of_windows_come_from_every_network_path() -> None:
    told = (
        r"\\nas7\share\cudnn;C:\x",
        r"\\?\UNC\big.example.org\y\z",
        r"\\wsl$\Ubuntu\x",
        r"C:\a\\b\c",
        "//x/y",
        r"\\.\pipe",
    )
    assert tuple(servers_in(told)) == ("nas7", "big.example.org")


def test_folders_of_windows_are_those_near_the_drive_first() -> None:
    told = (r"C:\Users\vera\ml\Lib\site-packages\x.dll", r"PATH: D:\team\bin;C:\Users\vera\y", "no path: at all")
    assert _windows_folders(told)[:4] == (r"C:\Users", r"D:\team", r"C:\Users\vera", r"C:\Users\vera\ml")
