"""Redaction: secrets planted in every text of a Snapshot are in no form of the report; other words stay."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.changes import EditPath, FileItem, FileSet, SetVariable, Value
from core.model.facts import ComputeCache, DeviceNode, Driver, Gpu, Machine, PythonEnvironment, Snapshot, Variable
from core.model.findings import Evidence, Finding, Fix, HistoryEntry, Report
from core.model.steps import Severity, Step
from core.report.html import as_html
from core.report.json_form import from_json, to_json
from core.report.redact import Cleaner, closed_fields, redact, redaction_sentence
from core.report.text import as_markdown, report_text
from tests import machines

USER, HOST, DOMAIN = "marialopez", "wks0815", "corp.example.org"
SECRETS = {
    "user": USER,
    "host": HOST,
    "domain": DOMAIN,
    "other user": "peterzhang",
    "spaced user": "Anna Maria Schmidt",
    "gpu": "5f0e31ab-9dd4-4e9b-8c0f-0242ac120002",
    "serial": "4711X8150",
    "server": "fileserv77",
    "share": "secretproject",
    "token": "hf_abcdefghijklmnopqrstuvwxyz012345",
    "password": "Tr0ub4dor",
    "url password": "hunter2zz",
    "proxy": "px.inner.lan",
    "mail": "someone.private",
    "sid": "S-1-5-21-1004336348-1177238915-682003330-512",
    "mac": "52:54:00:ab:cd:ef",
    "own home": "peoplestore",
}
TEXTS = (
    f"/home/{USER}/ml/lib",
    f"C:\\Users\\{USER}\\ml",
    f"C:\\\\Users\\\\{USER}\\\\ml",
    f"{USER} at {HOST} in /tmp/pytest-of-{USER}/x and {HOST.upper()}.{DOMAIN}",
    "/home/peterzhang/x, c:/users/peterzhang/y and /mnt/c/Users/peterzhang",
    "C:\\Users\\Anna Maria Schmidt\\venv\\Lib",
    f"GPU-{SECRETS['gpu']} and MIG-{SECRETS['gpu']} or {SECRETS['gpu']}",
    f"Serial Number: {SECRETS['serial']}",
    "\\\\fileserv77\\secretproject\\cudnn\\bin",
    "//fileserv77/secretproject/cudnn",
    "fileserv77.lan:/secretproject",
    f"HF_TOKEN={SECRETS['token']} or {SECRETS['token']}",
    "--password Tr0ub4dor DB_PASSWORD='Tr0ub4dor'",
    "https://maria:hunter2zz@index.example/simple",
    "https_proxy=http://px.inner.lan:3128",
    "Ask someone.private@example.org",
    f"account {SECRETS['sid']}",
    f"link {SECRETS['mac']}",
    "/peoplestore/deep/ml",
)


def filled(form: Any, text: str, within: tuple[Any, ...] = ()) -> Any:
    """Return a value of a msgspec type in which every free text is ``text``; a type within itself is left out."""
    if form is str:
        return text
    origin, arguments = typing.get_origin(form), typing.get_args(form)
    if origin is typing.Literal:
        return arguments[0]
    if origin in (typing.Union, types.UnionType):
        return None if arguments[0] in within else filled(arguments[0], text, within)
    if origin is tuple:
        one = arguments[:1] if arguments[-1] is Ellipsis else arguments
        return tuple(filled(a, text, within) for a in one if a not in within)
    if isinstance(form, type) and issubclass(form, msgspec.Struct):
        return form(**{f.name: filled(f.type, text, (*within, form)) for f in hinted(form)})
    return {int: 7, float: 1.5, bool: True}.get(form) if form in (int, float, bool) else next(iter(form))


def hinted(form: type[msgspec.Struct]) -> list[Any]:
    """Return the fields of a struct with their types resolved."""
    hints = typing.get_type_hints(form)
    return [types.SimpleNamespace(name=f.name, type=hints[f.name]) for f in msgspec.structs.fields(form)]


def planted(text: str) -> Report:
    """Return a report with ``text`` in every free text of the Snapshot, of a finding and of all changes."""
    machine = Machine(
        system="linux",
        user=USER,
        host_name=f"{HOST}.{DOMAIN}",
        home="/peoplestore/deep",
        release=text,
        kernel=text,
        libc=text,
        container=text,
    )
    snapshot = replace(filled(Snapshot, text), machine=machine)
    spaced = PythonEnvironment(prefix="C:\\Users\\Anna Maria Schmidt")
    snapshot = replace(snapshot, pythons=(*(snapshot.pythons or ()), spaced))
    value = Value(text=text)
    changes = (
        SetVariable(name=text, scope="user", at=text, before=value, after=value),
        EditPath(name=text, scope="user", system="linux", entry=text, old=0, new=None, before=value, after=value),
        FileSet(title=text, items=(FileItem(path=text, source=text, text=text),), folders=(text,)),
    )
    findings = tuple(
        Finding(
            id=f"driver.x{n}",
            cause="hardware_fault",
            step=Step.DRIVER,
            severity=severity,
            title=text,
            why=text,
            subject=text,
            evidence=(Evidence(label=text, value=text, source=text),),
            fix=Fix(title=text, changes=changes, advice=text),
            primary=severity is Severity.ERROR,
        )
        for n, severity in enumerate(reversed(Severity))
    )
    done = HistoryEntry(title=text, state="done", note=text, lines=(text,))
    return Report(snapshot=snapshot, findings=findings, version="0", history=(done,))


FORMS = {
    "json": lambda r: to_json(r).decode(),
    "text": report_text,
    "markdown": as_markdown,
    "html": as_html,
}


def leaked(shown: str) -> list[str]:
    low = shown.lower().replace("\\\\", "\\").replace("\\", "")
    return [kind for kind, secret in SECRETS.items() if secret.lower() in low]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_report_holds_a_planted_secret(form: str) -> None:
    report = planted("\n".join(TEXTS))
    # whoever runs this must see that the secrets were there
    assert set(leaked(FORMS[form](report))) == set(SECRETS)
    assert leaked(FORMS[form](redact(report))) == []


@pytest.mark.parametrize("text", TEXTS)
def test_each_form_of_a_secret_is_taken_out_alone(text: str) -> None:
    assert leaked(to_json(redact(planted(text))).decode()) == []


def test_every_free_text_of_a_snapshot_was_planted() -> None:
    snapshot = planted("PLANTED").snapshot
    texts = to_json(Report(snapshot=snapshot)).decode()
    names = {f.name for f in msgspec.structs.fields(Snapshot)}
    assert names <= set(msgspec.json.decode(texts)["snapshot"])
    assert texts.count("PLANTED") > 150


def test_the_report_says_what_was_taken_out_in_every_form() -> None:
    clean = redact(planted("\n".join(TEXTS)))
    kinds = {t.kind for t in clean.taken_out or ()}
    assert kinds >= {"user", "host", "domain", "share", "proxy", "secret", "identifier", "serial", "home"}
    assert msgspec.json.decode(to_json(clean))["taken_out"]
    for form in (report_text, as_markdown, as_html):
        assert "network shares" in form(clean)
    assert "it is for your own use" in redaction_sentence(planted("x"))


def test_the_same_thing_keeps_its_placeholder_and_another_gets_another() -> None:
    cleaner = Cleaner(Snapshot(machine=Machine(system="linux", user=USER, host_name=HOST)))
    one, two = cleaner.redact_text("/home/bob/a"), cleaner.redact_text("C:\\Users\\Bob\\x and /home/eve")
    assert (one, two) == ("/home/<user-1>/a", "C:\\Users\\<user-1>\\x and /home/<user-2>")
    assert cleaner.redact_text("\\\\nas\\ml\\a") == "\\\\<share-1>\\a"
    assert cleaner.redact_text("//nas/ml/b, \\\\\\\\NAS\\\\ml\\\\c") == "//<share-1>/b, \\\\\\\\<share-1>\\\\c"


UNTOUCHED = (
    "/usr/local/cuda-12.4/lib64/libcudnn.so.9.1.0",
    "C:\\Program Files\\NVIDIA\\CUDNN\\v9.10\\bin\\12.9",
    "C:\\\\Program Files (x86)\\\\NVIDIA\\\\x.dll",
    "\\\\?\\C:\\Windows\\System32\\nvcuda.dll",
    "\\\\wsl$\\Ubuntu\\usr\\lib",
    "nvidia-cudnn-cu12==9.1.0.70",
    "https://docs.nvidia.com/deeplearning/cudnn/latest/",
    "//usr/lib/libcudnn.so.9",
    "/opt/a:/opt/b:relative:/opt/c",
    "libcudnn.so.9:/usr/lib",
    "0000:01:00.0 {4d36e968-e325-11ce-bfc1-08002be10318}",
    "NVIDIA RTX 6000 Ada Generation",
    "C:\\Users\\Public\\x",
    "/root/.nv/ComputeCache",
    "a" * 64,
    "TOKENIZERS_PARALLELISM is not set",
    "registry HKLM\\SYSTEM\\CurrentControlSet\\Control",
)


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_names_nobody_stays(text: str) -> None:
    machine = Machine(system="linux", user="ada", host_name="vm", home="/home/ada")
    assert Cleaner(Snapshot(machine=machine)).redact_text(text) == text


SHORT = {
    "root@vm:~#": "root@<host>:~#",
    "Nov 21 04:49:13 vm kernel: NVRM: Xid 79": "Nov 21 04:49:13 <host> kernel: NVRM: Xid 79",
    "HOSTNAME=vm USER=x": "HOSTNAME=<host> USER=<user>",
    "/home/x/ml and C:\\Users\\x\\ml": "/home/<user>/ml and C:\\Users\\<user>\\ml",
    "owner: x": "owner: <user>",
    "2026-11-21T04:49:13.1+00:00 vm kernel: x": "2026-11-21T04:49:13.1+00:00 <host> kernel: x",
    "/srv/vm/cudnn and C:\\vm": "/srv/<host>/cudnn and C:\\<host>",
    "6.18.44-fc-vm-gpu and lib/x/y": "6.18.44-fc-vm-gpu and lib/x/y",
}


@pytest.mark.parametrize("text", SHORT)
def test_a_very_short_name_goes_where_its_place_is_sure(text: str) -> None:
    snapshot = Snapshot(machine=Machine(system="linux", user="x", host_name="vm", home="/home/x"))
    assert Cleaner(snapshot).redact_text(text) == SHORT[text]


def test_fields_that_hold_a_name_lose_it_however_short() -> None:
    driver = Driver(
        gpus=(Gpu(index=0, name="A", uuid="GPU-1"),),
        nodes=(
            DeviceNode(path="/dev/nvidia0", owner="x", group="ml"),
            DeviceNode(path="/dev/n", owner="root", group="video"),
        ),
        compute_cache=ComputeCache(path="/home/x/.nv", exists=True, owner="bo"),
    )
    found = Snapshot(machine=Machine(system="linux", user="x", host_name="vm", home="/home/x"), driver=driver)
    clean = redact(Report(snapshot=found)).snapshot
    assert clean.machine == replace(found.machine, user="<user>", host_name="<host>", home="/home/<user>")
    assert clean.driver is not None
    assert [n.owner for n in clean.driver.nodes or ()] == ["<user>", "root"]
    assert [n.group for n in clean.driver.nodes or ()] == ["<group-1>", "video"]
    assert clean.driver.compute_cache is not None
    assert clean.driver.compute_cache.owner == "<user-1>"
    assert clean.driver.gpus is not None
    assert clean.driver.gpus[0].uuid == "<identifier-1>"


def test_a_gpu_is_the_same_in_its_field_and_in_a_variable() -> None:
    gpu = f"GPU-{SECRETS['gpu']}"
    cleaner = Cleaner(Snapshot(machine=Machine(system="linux")))
    field = cleaner.redact_texts(Gpu(index=0, name="A", uuid=gpu)).uuid
    assert field == cleaner.redact_texts(Variable(name="CUDA_VISIBLE_DEVICES", value=gpu)).value == "GPU-<identifier-1>"


@pytest.mark.parametrize("user", ["nvidia", "cuda", "python", "lib"])
def test_a_user_with_the_name_of_a_library_does_not_spoil_its_paths(user: str) -> None:
    snapshot = Snapshot(machine=Machine(system="linux", user=user, home=f"/home/{user}"))
    text = f"/home/{user}/lib/python3.11/site-packages/nvidia/cudnn/lib of cuda by python"
    assert Cleaner(snapshot).redact_text(text) == text.replace(f"/home/{user}", "/home/<user>")


@pytest.mark.parametrize("user", ["max", "will", "ada"])
def test_a_user_with_an_everyday_name_loses_it_in_paths_and_not_in_sentences(user: str) -> None:
    cleaner = Cleaner(Snapshot(machine=Machine(system="linux", user=user, home=f"/home/{user}")))
    assert cleaner.redact_text(f"/scratch/{user}/ml") == "/scratch/<user>/ml"
    assert cleaner.redact_text(f"D:\\{user}") == "D:\\<user>"
    sentence = "The max that it will load is that of the Ada generation."
    assert cleaner.redact_text(sentence) == sentence


def test_a_share_on_a_search_path_ends_with_its_entry() -> None:
    cleaner = Cleaner(Snapshot(machine=Machine(system="windows")))
    text = r"\\nas\tools;C:\CUDA\bin;\\10.1.2.3\big data\x"
    assert cleaner.redact_text(text) == r"\\<share-1>;C:\CUDA\bin;\\<share-2>\x"


LONG = ("token", "serial-", "eyJ-", "a.", "://", "\\\\", "/home/", "GPU-", "a@", "x_PROXY", "0:", "--password")


@pytest.mark.parametrize("part", LONG)
def test_long_hostile_texts_are_cleaned_in_good_time(part: str) -> None:
    cleaner = Cleaner(Snapshot(machine=Machine(system="linux", user=USER, host_name=HOST)))
    # a pattern that goes over the text again and again would take minutes here
    assert isinstance(cleaner.redact_text(part * 40_000), str)


VARIABLES = {
    ("USERDOMAIN", "ACME"): "<domain-1>",
    ("COMPUTERNAME", "vm"): "<host>",
    ("HTTPS_PROXY", "http://p:3128"): "<proxy-1>",
    ("PIP_EXTRA_INDEX_URL", "https://pkg.acme.lan/simple"): "<proxy-1>",
    ("WANDB_API_KEY", "abc"): "<secret-1>",
    ("PWD", "/home/x"): "/home/<user>",
    ("CUDA_PATH", "C:\\CUDA"): "C:\\CUDA",
}


@pytest.mark.parametrize(("name", "value"), VARIABLES)
def test_a_variable_is_judged_by_its_name(name: str, value: str) -> None:
    snapshot = Snapshot(machine=Machine(system="windows", user="x", host_name="vm"))
    assert Cleaner(snapshot).redact_texts(Variable(name=name, value=value)).value == VARIABLES[name, value]


def test_a_domain_account_loses_both_names() -> None:
    snapshot = Snapshot(machine=Machine(system="windows", user="ACME\\marialopez", host_name="wks"))
    cleaner = Cleaner(snapshot)
    assert cleaner.redact_texts(snapshot).machine.user == "<domain-1>\\<user>"
    assert cleaner.redact_text("owned by ACME\\marialopez") == "owned by <domain-1>\\<user>"
    assert cleaner.redact_texts(DeviceNode(path="x", owner="NT AUTHORITY\\SYSTEM")).owner == "NT AUTHORITY\\SYSTEM"


OUR_WORDS = ("framework", "login", "machine", "memory", "driver", "wheel", "truncated", "linux", "frameworks", "fault")


@pytest.mark.parametrize("name", OUR_WORDS)
def test_a_machine_or_user_called_by_a_word_of_ours_leaves_the_report_readable(name: str) -> None:
    broken = machines.with_file(machines.wheel_machine(), "ops", state="truncated", size=9)
    report = diagnose_snapshot(broken)
    named = replace(broken, machine=replace(broken.machine, user=name, host_name=name))
    again = from_json(to_json(redact(replace(report, snapshot=named))))
    assert [(f.id, f.cause) for f in again.findings] == [(f.id, f.cause) for f in report.findings]
    assert diagnose_snapshot(again.snapshot).primary is not None


@pytest.mark.parametrize("name", machines.HEALTHY)
def test_a_redacted_machine_replays_to_the_same_findings(name: str) -> None:
    report = diagnose_snapshot(machines.HEALTHY[name]())
    again = diagnose_snapshot(from_json(to_json(redact(report))).snapshot)
    assert [(f.id, f.cause, f.severity, f.primary) for f in again.findings] == [
        (f.id, f.cause, f.severity, f.primary) for f in report.findings
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(TEXTS + UNTOUCHED), st.text(max_size=30)), max_size=4).map(" ".join))
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    machine = Machine(system="linux", user=USER, host_name=f"{HOST}.{DOMAIN}", home="/peoplestore/deep")
    once = Cleaner(Snapshot(machine=machine)).redact_text(text)
    assert Cleaner(Snapshot(machine=machine)).redact_text(once) == once


def test_redacting_twice_changes_nothing() -> None:
    once = redact(planted("\n".join(TEXTS)))
    assert redact(once) == once


def free(hint: Any) -> bool:
    """Whether a type allows any text, at any depth."""
    literal = typing.get_origin(hint) is typing.Literal
    return hint in (str, Any) or (not literal and any(free(a) for a in typing.get_args(hint)))


def test_closed_fields_are_those_whose_types_allow_no_text() -> None:
    todo, seen = [Report], set()
    while todo:
        form = todo.pop()
        hints = typing.get_type_hints(form)
        assert closed_fields(form) == {name for name, hint in hints.items() if not free(hint)}, form
        seen.add(form)
        inner = [h for hint in hints.values() for h in (hint, *typing.get_args(hint))]
        inner += [i for h in inner for i in typing.get_args(h)]
        todo += {i for i in inner if isinstance(i, type) and issubclass(i, msgspec.Struct)} - seen
    assert len(seen) > 50
