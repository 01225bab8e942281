"""How Windows composes an environment, as data: run on every system."""

from __future__ import annotations

import pytest

from core.host.windows import environment as windows_environment
from core.host.windows.environment import compose_environment, expand_variables
from core.model.facts import Scope, Variable


def variable(scope: Scope, name: str, value: str, kind: str = "REG_SZ") -> Variable:
    return Variable(name=name, value=value, scope=scope, kind="" if scope == "process" else kind)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("%CUDA_PATH%\\bin", "C:\\cuda\\bin"),
        ("%cuda_path%;%Unknown%;x", "C:\\cuda;%Unknown%;x"),
        ("100%", "100%"),
        ("%%", "%%"),
        ("a%b", "a%b"),
        ("%CUDA_PATH%%CUDA_PATH%", "C:\\cudaC:\\cuda"),
        ("%NESTED%", "%CUDA_PATH%"),
        ("", ""),
    ],
)
def test_expand_once_without_regard_to_case(value: str, expected: str) -> None:
    assert expand_variables(value, {"CUDA_PATH": "C:\\cuda", "NESTED": "%CUDA_PATH%"}) == expected


def test_the_machines_path_comes_before_the_users() -> None:
    got = compose_environment(
        [
            variable("user", "Path", "%USERPROFILE%\\bin", "REG_EXPAND_SZ"),
            variable("machine", "Path", "%SystemRoot%\\system32;", "REG_EXPAND_SZ"),
            variable("process", "SYSTEMROOT", "C:\\Windows"),
            variable("process", "USERPROFILE", "C:\\Users\\zoe"),
            variable("process", "PATH", "C:\\a terminal's own"),
        ]
    )
    assert got["Path"] == "C:\\Windows\\system32;C:\\Users\\zoe\\bin"
    assert [name for name in got if name.upper() == "PATH"] == ["Path"]


def test_a_user_value_replaces_the_machines() -> None:
    both = [variable("machine", "CUDA_PATH", "C:\\machine"), variable("user", "cuda_path", "C:\\user")]
    assert compose_environment(both) == {"CUDA_PATH": "C:\\user"}


def test_only_values_of_the_right_kind_are_expanded() -> None:
    got = compose_environment(
        [
            variable("machine", "CUDA_PATH", "C:\\cuda"),
            variable("machine", "PLAIN", "%CUDA_PATH%\\bin"),
            variable("machine", "EXPANDED", "%CUDA_PATH%\\bin", "REG_EXPAND_SZ"),
        ]
    )
    assert (got["PLAIN"], got["EXPANDED"]) == ("%CUDA_PATH%\\bin", "C:\\cuda\\bin")


def test_plain_values_come_first_whatever_their_order() -> None:
    got = compose_environment([variable("machine", "A", "%B%", "REG_EXPAND_SZ"), variable("machine", "B", "b")])
    assert got["A"] == "b"


def test_values_of_one_step_do_not_see_each_other() -> None:
    got = compose_environment(
        [variable("machine", "A", "a", "REG_EXPAND_SZ"), variable("machine", "B", "%A%", "REG_EXPAND_SZ")]
    )
    assert got["B"] == "%A%"


@pytest.mark.parametrize("name", ["ProgramFiles", "APPDATA", "USERPROFILE", "USERNAME"])
def test_the_machines_path_does_not_know_the_users_folders(name: str) -> None:
    got = compose_environment(
        [variable("process", name, "C:\\x"), variable("machine", "Path", f"%{name}%\\bin", "REG_EXPAND_SZ")]
    )
    assert got["Path"] == f"%{name}%\\bin"


def test_the_users_path_may_name_the_machines_variables_and_its_own_folders() -> None:
    got = compose_environment(
        [
            variable("process", "LOCALAPPDATA", "C:\\local"),
            variable("machine", "CUDA_PATH", "C:\\cuda"),
            variable("user", "Path", "%CUDA_PATH%\\bin;%LOCALAPPDATA%\\x", "REG_EXPAND_SZ"),
        ]
    )
    assert got["Path"] == "C:\\cuda\\bin;C:\\local\\x"


def test_the_machine_does_not_see_the_users_values() -> None:
    got = compose_environment(
        [variable("machine", "A", "%ONLY_USER%", "REG_EXPAND_SZ"), variable("user", "ONLY_USER", "x")]
    )
    assert got["A"] == "%ONLY_USER%"


def test_what_windows_supplies_is_kept_and_what_a_terminal_set_is_not() -> None:
    got = compose_environment(
        [
            variable("process", "SYSTEMROOT", "C:\\Windows"),
            variable("process", "USERNAME", "zoe"),
            variable("process", "CONDA_PREFIX", "C:\\conda"),
            variable("machine", "USERNAME", "SYSTEM"),
        ]
    )
    assert got == {"SystemRoot": "C:\\Windows", "USERNAME": "zoe"}


@pytest.mark.parametrize("kind", ["REG_BINARY", "REG_MULTI_SZ", "REG_DWORD", "kind 77"])
def test_values_of_a_wrong_kind_give_no_variable(kind: str) -> None:
    assert compose_environment([variable("machine", "PATH", "x", kind), variable("user", "PATH", "C:\\user")]) == {
        "PATH": "C:\\user"
    }


def test_without_a_registry_our_own_environment_is_all_there_is() -> None:
    assert compose_environment([variable("process", "A", "1")]) == {"A": "1"}


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"ProductName": "Windows 10 Pro", "DisplayVersion": "23H2", "CurrentBuild": "22631"}, "Windows 11 Pro 23H2 (22631)"),
        ({"ProductName": "Windows 10 Pro", "DisplayVersion": "22H2", "CurrentBuild": "19045"}, "Windows 10 Pro 22H2 (19045)"),
        ({"ProductName": "Windows Server 2022 Datacenter", "ReleaseId": "2009", "CurrentBuild": "20348"}, "Windows Server 2022 Datacenter 2009 (20348)"),
        ({"CurrentBuild": "x"}, "Windows (x)"),
        ({}, "Windows"),
    ],
)  # fmt: skip
def test_release_names(values: dict[str, str], name: str) -> None:
    assert windows_environment.release_name(values) == name


@pytest.mark.parametrize(
    ("class_guid", "ids", "expected"),
    [
        ("{4D36E968-E325-11CE-BFC1-08002BE10318}", (), True),
        ("", ("PCI\\VEN_10DE&DEV_2330&REV_A1", "PCI\\VEN_10DE&CC_030200", "PCI\\CC_0302"), True),
        ("{4d36e96c-e325-11ce-bfc1-08002be10318}", ("PCI\\CC_0403",), False),
        ("", (), False),
    ],
)
def test_display_controllers(class_guid: str, ids: tuple[str, ...], expected: bool) -> None:
    assert windows_environment.is_display(class_guid, ids) is expected


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ("@System32\\drivers\\pci.sys,#65536;PCI bus %1, device %2, function %3;(1,0,0)", "0000:01:00.0"),
        ("PCI bus 65, device 31, function 7", "0000:41:1f.7"),
        ("Internal High Definition Audio Bus", ""),
        ("", ""),
    ],
)
def test_pci_addresses(location: str, address: str) -> None:
    assert windows_environment.pci_address(location) == address


def test_pci_ids() -> None:
    assert windows_environment.pci_ids("VEN_10DE&DEV_2684&SUBSYS_16F410DE&REV_A1") == ("10de", "2684")
    assert windows_environment.pci_ids("odd") == ("", "")


@pytest.mark.parametrize(
    ("enabled", "server", "address"),
    [
        (1, "socks=127.0.0.1:10808", "socks4://127.0.0.1:10808"),
        (1, "ftp=a:1;socks=socks5://b:2", "socks5://b:2"),
        (1, "http=a:1;https=a:1;socks=b:2", ""),
        (1, "127.0.0.1:7890", ""),
        (0, "socks=127.0.0.1:10808", ""),
        (None, "", ""),
    ],
)
def test_a_socks_proxy_of_windows_own_settings(enabled: int | None, server: str, address: str) -> None:
    values = {"ProxyEnable": enabled, "ProxyServer": server} if enabled is not None else {}
    assert windows_environment.proxy_of_settings(values) == address
