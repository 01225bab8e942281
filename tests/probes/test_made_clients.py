"""Programs that do not name httpx, and make a client of it by what they import or call; the real statements are the measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, SearchEntry
from core.probes.python.programs.made_clients import without_makers
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot
from tests.machines import SITE, python
from tests.probes.request import request, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")

HTTPX = """
class Client:
    def __init__(self, *, trust_env=True, transport=None, proxy=None, limits=None):
        if trust_env and transport is None and proxy is None:
            raise ImportError("Using SOCKS proxy, but the 'socksio' package is not installed.")
class AsyncClient(Client):
    pass
def Limits():
    pass
"""
"""What httpx 0.28 does where a variable names a proxy of SOCKS."""
IMPORTED = {"ui/__init__.py": "import ui.parts\nfrom .work import run\n", "ui/parts/__init__.py": ""}
CALLED = {"api/__init__.py": "from .own import Api\n", "api/own.py": "import httpx\nclass Own(httpx.Client):\n    pass\nclass Api:\n    def __init__(self):\n        self.client = Own()\n"}  # fmt: skip
MANY = {"api/__init__.py": "from . import types\nfrom .own import Api\n"}
MANY |= {"api/types/__init__.py": "".join(f"from .t{n} import T{n}\n" for n in range(700))}
MANY |= {f"api/types/t{n}.py": f"class T{n}:\n    pass\n" for n in range(700)}
BASE = "import httpx\nclass Base:\n    def __init__(self, client):\n        self.client = client()\n"
AT_ONCE = {"ui/__init__.py": "from .own import Client\n_client = Client()\n"}
CASES: dict[str, tuple[str, dict[str, str], bool]] = {
    "as it is imported": ("import ui\n", IMPORTED | {"ui/work.py": "import httpx\nrun = httpx.Client()\n"}, True),
    "with a transport that is none": ("import ui\n", IMPORTED | {"ui/work.py": "import httpx\nt = None\nrun = httpx.AsyncClient(transport=t, limits=httpx.Limits())\n"}, True),
    "with a transport": ("import ui\n", IMPORTED | {"ui/work.py": "import httpx\nt = object()\nrun = httpx.Client(transport=t)\n"}, False),
    "without variables": ("import ui\n", IMPORTED | {"ui/work.py": "import httpx\nrun = httpx.Client(limits=httpx.Limits(), trust_env=False)\n"}, False),
    "by its name": ("import ui\n", IMPORTED | {"ui/work.py": "from httpx import Client\nrun = Client()\n"}, True),
    "another client": ("import ui\n", IMPORTED | {"ui/work.py": "import httpx\nclass Client:\n    pass\nrun = Client()\n"}, False),
    "in a function": ("import ui\n", IMPORTED | {"ui/work.py": "import httpx\ndef run():\n    return httpx.Client()\n"}, False),
    "in a method of a class that is called": ("import ui as u\nu.Page().show()\n", IMPORTED | {"ui/__init__.py": "from .work import Page\n", "ui/work.py": "import httpx\nclass Page:\n    def show(self):\n        return httpx.Client()\n"}, True),
    "in a method of a class that is not called": ("import ui as u\nu.Other()\n", IMPORTED | {"ui/__init__.py": "from .work import Page\nclass Other:\n    pass\n", "ui/work.py": "import httpx\nclass Page:\n    def show(self):\n        return httpx.Client()\n"}, False),
    "in a module that is not imported": ("import ui\n", IMPORTED | {"ui/work.py": "run = 1\n", "ui/more.py": "import httpx\nx = httpx.Client()\n"}, False),
    "by a class that is called": ("from api import Api\nApi()\n", CALLED, True),
    "by a class of the package": ("import api\nx = api.Api()\n", CALLED, True),
    "by a class of a package with many modules": ("from api import Api\nApi()\n", CALLED | MANY, True),
    "by a class that is not called": ("from api import Api\n", CALLED, False),
    "by an object of a class of the package": ("import ui\n", AT_ONCE | {"ui/own.py": BASE + "class Client(Base):\n    def __init__(self):\n        super().__init__(httpx.Client)\n"}, True),
    "by an object that makes one": ("import ui\n", AT_ONCE | {"ui/own.py": "import httpx\nclass Client:\n    def __init__(self):\n        self.own = httpx.Client()\n"}, True),
    "by an object that makes one when it is used": ("import ui\n", AT_ONCE | {"ui/own.py": "import httpx\nclass Client:\n    def __init__(self, own: httpx.Client = None):\n        if own:\n            httpx.Client()\n    def get(self):\n        return httpx.Client()\n"}, False),
    "by an object without variables": ("import ui\n", AT_ONCE | {"ui/own.py": "import httpx\nclass Client:\n    def __init__(self):\n        self.own = httpx.Client(trust_env=False)\n"}, False),
    "by a class as it is defined": ("import ui\n", {"ui/__init__.py": "from . import own\n", "ui/own.py": "import httpx\nclass Request:\n    client = httpx.AsyncClient()\n"}, True),
    "by a method of such a class": ("import ui\n", {"ui/__init__.py": "from . import own\n", "ui/own.py": "import httpx\nclass Request:\n    client = None\n    def get(self):\n        self.client = httpx.AsyncClient()\n"}, False),
    "by a class of which nothing is made": ("import ui\n", {"ui/__init__.py": "from .own import Client\n", "ui/own.py": BASE + "class Client(Base):\n    def __init__(self):\n        super().__init__(httpx.Client)\n"}, False),
    "by a class of another": ("from api import Api\nclass Mine:\n    pass\nMine()\n", CALLED, False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_client_of_a_program_that_does_not_name_it(case: str, tmp_path: Path):
    program, files, made = CASES[case]
    for name, text in (files | {"httpx.py": HTTPX}).items():
        write(tmp_path, f"{SITE}/{name}", text)
    write(tmp_path, "/home/ada/work/main.py", program)
    where = Sysroot("linux", str(tmp_path))
    entries = (SearchEntry(path=SITE, origin="site-packages"),)
    search = ModuleSearch(Interpreter("/", "/", (3, 11)), PythonSearch(entries), "x86_64", where)
    here = request(
        tmp_path, pythons=(python(distributions=(Distribution(name="httpx", version="0.28.1", location=SITE),)),)
    )
    its = replace(here, script_folder="/home/ada/work", env={"all_proxy": "socks5://proxy:1080"})
    assert without_makers(("httpx", "torch"), its, search, where) == (("torch",) if made else ("httpx", "torch"))
    assert without_makers(("httpx",), replace(its, env={}), search, where) == ("httpx",)
    write(tmp_path, "/home/ada/work/run.sh", "export all_proxy=socks5://proxy:1080\n")
    assert without_makers(("httpx",), replace(its, env={}, shared={}), search, where) == (() if made else ("httpx",))
    argv = [sys.executable, "-I", "-B", "-c", f"import sys; sys.path.append({str(tmp_path) + SITE!r})\n{program}"]
    assert (b"SOCKS" in subprocess.run(argv, capture_output=True, check=False).stderr) is made
