"""Files of other people that are one long run of the same sign: reading them takes time in proportion to their size."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

MANY = 250_000
"""Signs in a file; a pattern that goes through the rest of it at each of them needs minutes."""
SECONDS = 8
"""Of processor time, which is counted by the kernel and the same on a busy machine; each row below needs far less than one."""
BEGIN = """
from core.host.startup.state import State, Surroundings
from core.probes.starting.machine import Ground, Person
from core.probes.sysroot import Sysroot
def ground(**texts):
    given = {name.replace('__', '/').replace('_dot_', '.'): text for name, text in texts.items()}
    read = lambda path: next((t for n, t in given.items() if path.endswith(n)), None)
    kind = lambda path: 'file' if read(path) is not None else 'missing'
    around = Surroundings(read, kind, lambda path: (), 1000, 'ada')
    return Ground(Sysroot('linux'), Person('ada', 1000, '/home/ada', '/bin/bash'), around, {}, '/home/ada/work')
"""
ROWS = {
    "login.defs": """
        from core.probes.starting.machine import login_state
        for long in (' ' * MANY, '\\n' * MANY, 'ENV_PATH' + ' ' * MANY):
            assert login_state(ground(login_dot_defs=long)).values['PATH'].startswith('/usr/local')
    """,
    "sshd_config": """
        from core.probes.starting.machine import with_sshd
        for long in ('SetEnv ' + 'a' * MANY, 'SetEnv ' + ' ' * MANY):
            assert not with_sshd(ground(sshd_config=long), State()).lines
    """,
    "pam_environment": """
        from core.host.startup.plain import read_pam
        state = State()
        for long in ('A' + ' ' * MANY + 'b', 'A ' + 'DEFAULT' * (MANY // 7)):
            read_pam(long, 'f', state)
        assert not state.lines
    """,
    "pyvenv.cfg": """
        from core.model.facts import PythonEnvironment
        from core.probes.loading.windows import application_folder
        class Where(Sysroot):
            def text(self, path, limit=0):
                return longs[-1]
        longs = []
        for long in ('home' + ' ' * MANY, 'home =' + ' ' * MANY, '\\n' * MANY, 'home = a' + ' ' * MANY + 'b' + '\\n'):
            longs.append(long)
            assert application_folder(PythonEnvironment(prefix='/e', executable='/e/bin/python'), Where('linux'))
    """,
    "justfile": """
        from core.probes.starting.projects.tasks import task_ways
        for long in ('a := \\'' + ' ' * MANY, 'a-' * (MANY // 2), 'go:\\n  {{' + ' ' * MANY, 'go:\\n ' + '{{' * (MANY // 2)):
            assert list(task_ways(ground(justfile=long))) == []
    """,
    "makefile": """
        from core.probes.starting.projects.tasks import task_ways
        for long in ('export ' + 'a' * MANY + '!', 'export ' + 'a ' * (MANY // 2) + '!', 'a ' * (MANY // 2), 'a' + ' ' * MANY):
            assert list(task_ways(ground(Makefile=long))) == []
    """,
    "Taskfile.yml": """
        from core.probes.starting.projects.tasks import task_ways
        for long in ('a:' * (MANY // 2), 'env:\\n  A: "' + '{{' * (MANY // 2), 'a: ' + ' ' * MANY, '- ' * (MANY // 2)):
            assert list(task_ways(ground(Taskfile_dot_yml=long))) == []
    """,
    "workspace.xml": """
        from core.probes.starting.projects.tasks import task_ways
        python = '<configuration type="Python">'
        for long in (python * (MANY // 29), '<configuration ' * (MANY // 15), python + '<env name="a" ' * (MANY // 14)):
            assert list(task_ways(ground(workspace_dot_xml=long))) == []
    """,
    "supervisord.conf": """
        from core.probes.starting.services.supervised import supervised_ways
        for long in ('[program:a]\\ncommand' + ' ' * MANY, '[program:a]\\nenvironment=' + 'a' * MANY, '[' * MANY):
            assert list(supervised_ways(ground(supervisord_dot_conf=long))) == []
    """,
    "settings.json": """
        from core.host.startup.plain import json_value
        for long in ('/*' * (MANY // 2), '"' + '\\\\"' * (MANY // 2), ',' + ' ' * MANY, '{' * MANY):
            assert json_value(long) is None
    """,
    "ecosystem.config.js": """
        from core.probes.starting.services.deployed import deployed_ways
        quotes = '\\\\"', "\\\\'", '`$', '/*', '{', 'a ', "'"
        for long in (' ' * MANY, *(q * (MANY // len(q)) for q in quotes)):
            assert list(deployed_ways(ground(ecosystem_dot_config_dot_js='module.exports = ' + long))) == []
            assert list(deployed_ways(ground(ecosystem_dot_config_dot_js=long))) == []
    """,
    "a service's line": """
        from core.host.startup.units import quoted_words
        assert list(quoted_words('A=1' + ' ' * MANY + '"')) == ['A=1']
    """,
}


@pytest.mark.parametrize("name", ROWS)
def test_a_long_file_is_read_in_proportion_to_its_size(name: str) -> None:
    code = f"MANY = {MANY}\n{BEGIN}{textwrap.dedent(ROWS[name])}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
    )
    assert done.returncode == 0, done.stderr[-2000:]
