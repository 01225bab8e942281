"""Where an import ends, by reading, against what this interpreter does with the same files."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core.knowledge.modules import KnownModule
from core.loader.earlier_reads import EarlierReads, using
from core.model.facts import DamagedFile, Distribution, EndedImport, SearchEntry
from core.model.facts.closure import Edge
from core.probes.python.following.import_closure import Late, ended_imports
from core.probes.python.following.statements import Statements
from core.probes.python.installed.unfit_extensions import NOTHING_SUSPECT, Suspects, UnfitExtension
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot

linux_paths = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")
VERSION = sys.version_info[:2]
OTHERS = "def override(f):\n    return f\n"
REQUIRES = ("typing-extensions>=4",)

Case = tuple[dict[str, str], tuple[str, str, str] | None]

CASES: dict[str, Case] = {
    "a name that the same file sets in the other branch": (
        {
            "torch/__init__.py": "import old\nif old.frozen():\n    old.Newer = old.Older\nelse:\n    from old import Newer\nfrom old import Newer\n",
            "old.py": "def frozen():\n    return False\nclass Older:\n    'looks into __dict__ and __class__, and exec()'\n",
        },
        ("no name", "old", "Newer"),
    ),
    "the names of an enumeration, as in re": (
        {
            "torch/__init__.py": "from flags import I\n",
            "flags.py": "import enum\n\n\n@enum.global_enum\nclass Flag(enum.IntFlag):\n    IGNORE = I = 2\n",
        },
        None,
    ),
    "the names of an enumeration, as in socket": (
        {
            "torch/__init__.py": "from flags import IGNORE\n",
            "flags.py": "import enum, old\nenum.IntEnum._convert_('Flag', __name__, str.isupper, old)\n",
            "old.py": "IGNORE = 1\n",
        },
        None,
    ),
    "a class of a base that another package's module lacks": (
        {"torch/__init__.py": "import parts\nclass Mine(parts.paths.Base):\n    pass\n", "parts/__init__.py": "from . import paths\n", "parts/paths.py": "x = 1\n"},
        ("no name", "parts.paths", "Base"),
    ),
    "a class of a base that is there": (
        {"torch/__init__.py": "import parts\nclass Mine(parts.paths.Base):\n    pass\n", "parts/__init__.py": "from . import paths\n", "parts/paths.py": "class Base:\n    pass\n"},
        None,
    ),
    "a decorator that another package's module lacks": (
        {"torch/__init__.py": "import parts as p\n@p.cached\ndef f():\n    pass\n", "parts/__init__.py": "x = 1\n"},
        ("no name", "parts", "cached"),
    ),
    "a class in a text": (
        {"torch/__init__.py": "import parts\nexample = \"\"\"\nclass Mine(parts.Base):\n    pass\n\"\"\"\n", "parts/__init__.py": "x = 1\n"},
        None,
    ),
    "a base that a module is given from elsewhere": (
        {"torch/__init__.py": "import parts, fills\nclass Mine(parts.Base):\n    pass\n", "parts/__init__.py": "x = 1\n", "fills.py": "import parts\nparts.Base = object\n"},
        None,
    ),
    "all is there": ({"torch/__init__.py": "from typing_extensions import override\n", "typing_extensions.py": OTHERS}, None),
    "a module is absent": ({"torch/__init__.py": "import os\nimport typing_extensions\n"}, ("absent", "typing_extensions", "")),
    "a name is absent": (
        {"torch/__init__.py": "from typing_extensions import TypeIs\n", "typing_extensions.py": OTHERS},
        ("no name", "typing_extensions", "TypeIs"),
    ),
    "deeper, by a relative import": (
        {"torch/__init__.py": "from . import a\n", "torch/a.py": "from .b import (\n    x,\n)\n", "torch/b.py": "import gone\nx = 1\n"},
        ("absent", "gone", ""),
    ),
    "tried": ({"torch/__init__.py": "try:\n    import gone\nexcept ImportError:\n    gone = None\n"}, None),
    "in a function": ({"torch/__init__.py": "def f():\n    import gone\n"}, None),
    "in a docstring": ({"torch/__init__.py": '"""Use it:\n\nimport gone\n"""\nx = 1\n'}, None),
    "in another text": ({"torch/__init__.py": 'x = 1\nexample = """\nimport gone\n"""\n'}, None),
    "for the checker alone": ({"torch/__init__.py": "import typing\nif typing.TYPE_CHECKING:\n    import gone\n"}, None),
    "made by __getattr__": (
        {"torch/__init__.py": "from typing_extensions import TypeIs\n", "typing_extensions.py": "x = 1\ndef __getattr__(name):\n    return name\n"},
        None,
    ),
    "from a star": (
        {"torch/__init__.py": "from typing_extensions import ParamSpec\n", "typing_extensions.py": "from typing import *\n"},
        None,
    ),
    "from a star of the standard library behind another": (
        {"torch/__init__.py": "from typing_extensions import Assign\n", "typing_extensions.py": "from ast import *\n"},
        None,
    ),
    "not from a star": (
        {"torch/__init__.py": "from typing_extensions import NoSuchName\n", "typing_extensions.py": "from typing import *\n"},
        ("no name", "typing_extensions", "NoSuchName"),
    ),
    "a module of a package": ({"torch/__init__.py": "from parts import one\n", "parts/__init__.py": "", "parts/one.py": ""}, None),
    "a module that a package lacks": (
        {"torch/__init__.py": "from parts import two\n", "parts/__init__.py": "x = 1\n", "parts/one.py": ""},
        ("no name", "parts", "two"),
    ),
    "a folder that is left": ({"torch/__init__.py": "from parts import one\n", "parts/data.txt": ""}, ("absent", "parts", "one")),
    "an empty file": ({"torch/__init__.py": "from typing_extensions import x\n", "typing_extensions.py": ""}, ("no name", "typing_extensions", "x")),
    "round in a circle": ({"torch/__init__.py": "from . import a\n", "torch/a.py": "import torch\nfrom torch import b\n", "torch/b.py": ""}, None),
    "code for another Python": (
        {"torch/__init__.py": "from parts import _code\n", "parts/__init__.py": "x = 1\n", "parts/_code.cpython-27-riscv64.so": ""},
        ("foreign", "parts._code", ""),
    ),
}  # fmt: skip


MAKER_OF_GETATTR = """
def maker(module, table):
    def getattr(name):
        if name in table:
            message, value = table[name]
            if value is None:
                raise AttributeError(message)
            return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr
"""

TRIES = "try:\n    import parts\nexcept ImportError:\n    there = False\nelse:\n    there = True\nif there:\n    class Mine(parts.kinds.Base):\n        pass\n"

USERS: dict[str, Case] = {
    "a branch on a module that a try found": (
        {"user.py": TRIES, "parts/__init__.py": "x = 1\n"},
        ("no name", "parts", "kinds"),
    ),
    "a branch on a module that a try did not find": ({"user.py": TRIES}, None),
    "a branch on a module that a try found, and that has all": (
        {"user.py": TRIES, "parts/__init__.py": "from . import kinds\n", "parts/kinds.py": "class Base:\n    pass\n"},
        None,
    ),
    "a branch on a module whose own import fails": (
        {"user.py": TRIES, "parts/__init__.py": "import gone\n"},
        None,
    ),
    "what follows a try that found its modules, and whose handler ends": (
        {"user.py": "try:\n    import parts\nexcept ImportError:\n    parts = None\nparts.kinds\n", "parts/__init__.py": "x = 1\n"},
        ("no name", "parts", "kinds"),
    ),
    "a name that only a set-up script binds": (
        {"user/__init__.py": "import torch\ntry:\n    __USER_SETUP__\nexcept NameError:\n    __USER_SETUP__ = False\nif __USER_SETUP__:\n    x = 1\nelse:\n    import gone\n"},
        ("absent", "gone", ""),
    ),
    "a name that is bound before it is tried": (
        {"user/__init__.py": "import torch\n_BUILT = True\ntry:\n    _BUILT\nexcept NameError:\n    _BUILT = False\nif not _BUILT:\n    import gone\n"},
        None,
    ),
    "all is there": ({"user/__init__.py": "import torch\nx = torch.fx.Graph\n", "torch/fx.py": "class Graph: pass\n", "torch/__init__.py": "from . import fx\n"}, None),
    "a module that the package gave up": (
        {"user/__init__.py": "from . import a\n", "user/a.py": "import torch.ops.matmul\n", "torch/__init__.py": "def __getattr__(name):\n    raise AttributeError(name)\n"},
        ("absent", "torch.ops", ""),
    ),
    "an attribute that nobody spells": (
        {"user/__init__.py": "import torch.nn\nBase = torch.nn.GivenUp\n", "torch/__init__.py": "", "torch/nn.py": "class Module: pass\n"},
        ("no name", "torch.nn", "GivenUp"),
    ),
    "a base that nobody spells": (
        {"user/__init__.py": "from torch import nn\nclass Mine(nn.GivenUp):\n    pass\n", "torch/__init__.py": "", "torch/nn.py": "class Module: pass\n"},
        ("no name", "torch.nn", "GivenUp"),
    ),
    "a folder that the package adds to the search path": (
        {"user/__init__.py": "import os, sys\nsys.path.extend([os.path.join(os.path.dirname(__file__), '_vendor')])\nimport inner\n", "user/_vendor/inner.py": ""},
        None,
    ),
    "an attribute that another file sets": (
        {"user/__init__.py": "import torch.nn\nBase = torch.nn.SetLater\n", "torch/__init__.py": "from . import nn, more\n", "torch/nn.py": "x = 1\n", "torch/more.py": "from . import nn\nnn.SetLater = int\n"},
        None,
    ),
    "a name that code would hand out": (
        {"user/__init__.py": "from lazy import GivenUp\n", "lazy/__init__.py": "TABLE = ['Other']\ndef __getattr__(name):\n    if name in TABLE:\n        return int\n    raise AttributeError(name)\n"},
        ("no name", "lazy", "GivenUp"),
    ),
    "a name that code hands out": (
        {"user/__init__.py": "from lazy import Wanted\n", "lazy/__init__.py": "from .table import TABLE\ndef __getattr__(name):\n    if name in TABLE:\n        return int\n    raise AttributeError(name)\n", "lazy/table.py": "TABLE = ['Wanted']\n"},
        None,
    ),
    "asked for where torch is there": (
        {"user/__init__.py": "def is_torch_available():\n    return True\nif is_torch_available():\n    import gone\n"},
        ("absent", "gone", ""),
    ),
    "asked for where torch is not there": (
        {"user/__init__.py": "def is_torch_available():\n    return True\nif not is_torch_available():\n    import gone\n"},
        None,
    ),
    "for the checker, else": (
        {"user/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import gone\nelse:\n    import gone_too\n"},
        ("absent", "gone_too", ""),
    ),
    "it is among the package's own files, whose folder its code adds": (
        {
            "user/__init__.py": "from user.setup import begin\nbegin()\nimport part\n",
            "user/setup.py": "import os\nfrom sys import path\ndef begin():\n    path.append(os.path.join(os.path.dirname(__file__), 'vendor', 'gql-1'))\n",
            "user/vendor/gql-1/part.py": "",
            "user-1.0.dist-info/RECORD": "user/__init__.py,,\nuser/setup.py,,\nuser/vendor/gql-1/part.py,,\n",
        },
        None,
    ),
    "in a function that is called": ({"user/__init__.py": "def check():\n    import gone\ncheck()\n"}, ("absent", "gone", "")),
    "in a function that may return before": (
        {"user/__init__.py": "import sys\ndef check():\n    if sys:\n        return\n    import gone\ncheck()\n"},
        None,
    ),
    "tried, and raised again": (
        {"user/__init__.py": "try:\n    import gone\nexcept ImportError as e:\n    print(e)\n    raise\n"},
        ("absent", "gone", ""),
    ),
    "tried, and another error is caught": (
        {"user/__init__.py": "try:\n    from torch import nothing_of_it\nexcept ModuleNotFoundError:\n    pass\n", "torch/__init__.py": "x = 1\n"},
        ("no name", "torch", "nothing_of_it"),
    ),
    "tried, and what is done instead ends, too": (
        {"user/__init__.py": "try:\n    import gone\nexcept ImportError:\n    import gone_too\n"},
        ("absent", "gone_too", ""),
    ),
    "tried, and something else is done instead": (
        {"user/__init__.py": "try:\n    import gone\nexcept ImportError:\n    gone = None\nelse:\n    import gone_too\n"},
        None,
    ),
    "tried deeper": (
        {"user/__init__.py": "try:\n    from . import a\nexcept ImportError:\n    a = None\n", "user/a.py": "import gone\n"},
        None,
    ),
    "at the end of a try": ({"user/__init__.py": "try:\n    x = 1\nfinally:\n    import gone\n"}, ("absent", "gone", "")),
    "raised on purpose, and caught": (
        {"user/__init__.py": "class Missing(Exception): pass\ntry:\n    raise Missing()\nexcept Missing:\n    import gone\n"},
        ("absent", "gone", ""),
    ),
    "raised where it is imported": (
        {"user/__init__.py": "try:\n    from . import a\nexcept ImportError:\n    import gone\n", "user/a.py": "raise ImportError('not on this system')\n"},
        ("absent", "gone", ""),
    ),
    "with something that may catch": (
        {"user/__init__.py": "import contextlib\nwith contextlib.suppress(ImportError):\n    import gone\n"},
        None,
    ),
    "with warnings caught": (
        {"user/__init__.py": "import warnings\nwith warnings.catch_warnings():\n    import gone\n"},
        ("absent", "gone", ""),
    ),
    "for another Python": (
        {"user/__init__.py": "import sys\nif sys.version_info < (3, 8):\n    import gone\nelif sys.version_info[0] == 2:\n    import gone\n"},
        None,
    ),
    "for this Python": ({"user/__init__.py": "import sys\nif sys.version_info[:2] >= (3, 8):\n    import gone\n"}, ("absent", "gone", "")),
    "for another system": (
        {"user/__init__.py": "import os, sys\nif sys.platform.startswith('win') or os.name == 'nt':\n    import gone\n"},
        None,
    ),
    "for a release": (
        {"user/__init__.py": "import torch\nNEW = torch.__version__ >= '2.4'\nif NEW:\n    import gone\n", "torch/__init__.py": "__version__ = '2.8.0'\n"},
        ("absent", "gone", ""),
    ),
    "for the release with or without a local part": (
        {"user/__init__.py": "import torch\nif torch.__version__ == '2.8.0':\n    import gone\n", "torch/__init__.py": "__version__ = '2.8.0+cu128'\n"},
        None,
    ),
    "for a release that is not compared as a text": (
        {"user/__init__.py": "import torch\nif torch.__version__ >= '2.10':\n    import gone\n", "torch/__init__.py": "class V(str):\n    def __ge__(self, other):\n        return False\n__version__ = V('2.8.0')\n"},
        None,
    ),
    "for another release": (
        {"user/__init__.py": "from packaging.version import Version\nimport torch\nif Version(torch.__version__) < Version('1.10'):\n    import gone\n", "torch/__init__.py": "__version__ = '2.8.0'\n", "packaging/__init__.py": "", "packaging/version.py": "def Version(text):\n    return tuple(map(int, text.split('.')))\n"},
        None,
    ),
    "a release that is refused": (
        {"user/__init__.py": "from packaging.version import Version\nimport torch\nhas = Version(torch.__version__)\nif has < Version('2.10'):\n    raise ImportError('too old')\n", "torch/__init__.py": "__version__ = '2.8.0'\n", "packaging/__init__.py": "", "packaging/version.py": "def Version(text):\n    return tuple(map(int, text.split('.')))\n"},
        ("refused", "torch", ""),
    ),
    "a release that is taken": (
        {"user/__init__.py": "from packaging.version import Version\nimport torch\nhas = Version(torch.__version__)\nif has < Version('2.7'):\n    raise ImportError('too old')\n", "torch/__init__.py": "__version__ = '2.8.0'\n", "packaging/__init__.py": "", "packaging/version.py": "def Version(text):\n    return tuple(map(int, text.split('.')))\n"},
        None,
    ),
    "a release that an assertion refuses": (
        {"user/__init__.py": "from packaging.version import Version\nimport torch\nassert Version('1.2') <= Version(torch.__version__) and Version(torch.__version__) < Version('2.0'), 'version'\n", "torch/__init__.py": "__version__ = '2.8.0'\n", "packaging/__init__.py": "", "packaging/version.py": "def Version(text):\n    return tuple(map(int, text.split('.')))\n"},
        ("refused", "torch", ""),
    ),
    "a release that a function refuses": (
        {"user/__init__.py": "import torch\ndef check():\n    def parts(of):\n        return tuple(map(int, of.__version__.split('.')[:2]))\n    if parts(torch) > (2, 7):\n        raise ImportError\ncheck()\n", "torch/__init__.py": "__version__ = '2.8.0'\n"},
        ("refused", "torch", ""),
    ),
    "a release whose numbers are taken apart": (
        {"user/__init__.py": "import torch\nif tuple(int(x) for x in torch.__version__.split('.')[:2]) < (2, 9):\n    raise RuntimeError\n", "torch/__init__.py": "__version__ = '2.8.0'\n"},
        ("refused", "torch", ""),
    ),
    "a release of more digits than int() takes": (
        {"user/__init__.py": "import torch\ntry:\n    if tuple(map(int, torch.__version__.split('.')[:2])) > (2, 9) or int(torch.__version__.split('.')[0]) > 2:\n        raise RuntimeError\nexcept ValueError:\n    pass\n", "torch/__init__.py": f"__version__ = '{'9' * 5000}.8.0'\n"},
        None,
    ),
    "a release that is refused to nobody": (
        {"user/__init__.py": "import torch\ndef check():\n    for each in (1, 2):\n        return\n    if torch.__version__ < '2.9':\n        raise ImportError\ncheck()\n", "torch/__init__.py": "__version__ = '2.8.0'\n"},
        None,
    ),
    "a release that is refused, and then taken": (
        {"user/__init__.py": "import torch\ntry:\n    if torch.__version__ < '2.9':\n        raise ImportError\nexcept ImportError:\n    pass\n", "torch/__init__.py": "__version__ = '2.8.0'\n"},
        None,
    ),
    "where a module is not found": (
        {"user/__init__.py": "import importlib.util\nHAS = importlib.util.find_spec('no_such_module') is not None\nif HAS:\n    import gone\nelse:\n    import gone_too\n"},
        ("absent", "gone_too", ""),
    ),
    "by a call": ({"user/__init__.py": "__import__('gone').declare_namespace(__name__)\n"}, ("absent", "gone", "")),
    "by a call of what imports by name": (
        {"user/__init__.py": "import importlib\nimport torch\nold = importlib.import_module('torch.old')\n"},
        ("absent", "torch.old", ""),
    ),
    "by a call of a function of a module": (
        {"user/__init__.py": "from importlib import import_module\nimport_module('gone')\n"},
        ("absent", "gone", ""),
    ),
    "by a call of what a module there imports": (
        {"user/__init__.py": "from torch import a\n", "torch/a.py": "", "user/b.py": "__import__('gone')\n"},
        None,
    ),
    "by a call that is tried": ({"user/__init__.py": "try:\n    __import__('gone')\nexcept ImportError:\n    pass\n"}, None),
    "by a call in a text": ({"user/__init__.py": "X = '__import__(\"gone\")'\n"}, None),
    "by a call in a function": ({"user/__init__.py": "def f():\n    return __import__('gone')\n"}, None),
    "by a call that another value saves": (
        {"user/__init__.py": "import os\nx = os.name and 1 or __import__('gone')\ny = [__import__('gone') for _ in ()]\n"},
        None,
    ),
    "by a call of a function of that name": (
        {"user/__init__.py": "def __import__(name):\n    return name\n__import__('gone')\n"},
        None,
    ),
    "by a call with a name that is made": ({"user/__init__.py": "n = 'o' + 's'\n__import__(n)\n"}, None),
    "by a call for a module of its own": (
        {"user/__init__.py": "import importlib\nimportlib.import_module('.a', __name__)\n", "user/a.py": ""},
        None,
    ),
    "where nothing tells": ({"user/__init__.py": "import os\nif os.environ.get('NOBODY_SETS_THIS'):\n    import gone\n"}, None),
    "an attribute in a default": (
        {"user/__init__.py": "import torch.nn as nn\ndef f(x, kind=nn.GivenUp):\n    return x\n", "torch/nn.py": "x = 1\n"},
        ("no name", "torch.nn", "GivenUp"),
    ),
    "an attribute in an annotation": (
        {"user/__init__.py": "import torch.nn as nn\ndef f(x: nn.GivenUp):\n    return x\n", "torch/nn.py": "x = 1\n"},
        ("no name", "torch.nn", "GivenUp"),
    ),
    "an attribute in an annotation that nobody reads": (
        {"user/__init__.py": "from __future__ import annotations\nimport torch.nn as nn\ndef f(x: nn.GivenUp):\n    return x\n", "torch/nn.py": "x = 1\n"},
        None,
    ),
    "an attribute in a class": (
        {"user/__init__.py": "import torch.nn as nn\nclass A:\n    kinds = [nn.Given, nn.GivenUp]\n", "torch/nn.py": "Given = 1\n"},
        ("no name", "torch.nn", "GivenUp"),
    ),
    "an attribute in a function": ({"user/__init__.py": "import torch.nn as nn\ndef f():\n    return nn.GivenUp\n", "torch/nn.py": "x = 1\n"}, None),
    "an attribute where another value wins": (
        {"user/__init__.py": "import torch.nn as nn\nx = 1 or nn.GivenUp\ny = [nn.GivenUp for _ in ()]\nz = nn.GivenUp if not x else 2\n", "torch/nn.py": "x = 1\n"},
        None,
    ),
    "an attribute of what has the module's name": (
        {"user/__init__.py": "import torch.nn as nn\nclass nn:\n    GivenUp = 1\nx = nn.GivenUp\n", "torch/nn.py": "x = 1\n"},
        None,
    ),
    "an attribute that is tried": (
        {"user/__init__.py": "import torch.nn as nn\ntry:\n    x = nn.GivenUp\nexcept AttributeError:\n    x = None\n", "torch/nn.py": "x = 1\n"},
        None,
    ),
    "an attribute that a table refuses": (
        {"user/__init__.py": "import torch.core\nx = torch.core.Old\n", "torch/core.py": "from torch.old import maker\n_table = {'Old': ('gone', None), 'New': ('kept', int)}\n__getattr__ = maker(__name__, _table)\n", "torch/old.py": MAKER_OF_GETATTR},
        ("no name", "torch.core", "Old"),
    ),
    "an attribute that a table has": (
        {"user/__init__.py": "import torch.core\nx = torch.core.New\n", "torch/core.py": "from torch.old import maker\n_table = {'Old': ('gone', None), 'New': ('kept', int)}\n__getattr__ = maker(__name__, _table)\n", "torch/old.py": MAKER_OF_GETATTR},
        None,
    ),
    "an attribute that no table has, though another file spells it": (
        {"user/__init__.py": "import torch.core\nx = torch.core.Shape\n", "torch/core.py": "from torch.old import maker\n_table = {'Old': ('gone', None)}\n__getattr__ = maker(__name__, _table)\n", "torch/old.py": MAKER_OF_GETATTR, "torch/more.py": "Shape = int\n"},
        ("no name", "torch.core", "Shape"),
    ),
    "an attribute that the maker itself spells": (
        {"user/__init__.py": "import torch.core\nx = torch.core.Own\n", "torch/core.py": "from torch.old import maker\n__getattr__ = maker(__name__, {})\n", "torch/old.py": "def maker(module, table):\n    def __getattr__(name):\n        if name not in ('Own',):\n            raise AttributeError(name)\n        return int\n    return __getattr__\n"},
        None,
    ),
    "an attribute that no case hands out": (
        {"user/__init__.py": "import torch.core\nx = torch.core.Old\n", "torch/core.py": "def __getattr__(name):\n    if name == 'test':\n        return int\n    elif name in ('a', 'b'):\n        raise AttributeError('gone')\n    else:\n        raise AttributeError(name)\n"},
        ("no name", "torch.core", "Old"),
    ),
    "an attribute that a loop over a table hands out": (
        {"user/__init__.py": "import torch.core\nx = torch.core.Deep\n", "torch/core.py": "PARTS = {'one': ('Flat',), 'two': ('Deep',)}\ndef __getattr__(name):\n    for part in PARTS:\n        if name in PARTS[part]:\n            return int\n    raise AttributeError(name)\n"},
        None,
    ),
    "a name made in a loop": (
        {"user/__init__.py": "from torch.made import Normal\n", "torch/made.py": "for n in ('Nor',):\n    locals()[n + 'mal'] = int\n"},
        None,
    ),
    "the program itself": ({"user/__init__.py": "import __main__\n"}, None),
    "a name of what a star brings": (
        {"user/__init__.py": "from torch import nn\nfrom torch.a import f\n", "torch/nn.py": "", "torch/a.py": "from .b import *\n", "torch/b.py": "f = 1\n"},
        None,
    ),
    "a name of what no star brings": (
        {"user/__init__.py": "from torch.a import g\n", "torch/a.py": "from .b import *\n", "torch/b.py": "f = 1\n"},
        ("no name", "torch.a", "g"),
    ),
    "a module that code registers": (
        {"user/__init__.py": "import torch\nimport torch.made\n", "torch/__init__.py": "import sys, types\nsys.modules['torch.made'] = types.ModuleType('torch.made')\n"},
        None,
    ),
    "a module that no code registers": (
        {"user/__init__.py": "import torch\nfrom torch._six import inf\n", "torch/__init__.py": "import sys, types\nfor n in ('made', 'kept'):\n    sys.modules[f'{__name__}.{n}'] = types.ModuleType(n)\n"},
        ("absent", "torch._six", ""),
    ),
    "a module that code registers under a name of two parts": (
        {"user/__init__.py": "import torch\nimport torch.made\n", "torch/__init__.py": "import sys, types\nfor n in ('made', 'kept'):\n    sys.modules[f'{__name__}.{n}'] = types.ModuleType(n)\n"},
        None,
    ),
    "a module that another package registers": (
        {"user/__init__.py": "import torch\nimport add\nimport torch.npu\n", "torch/__init__.py": "import sys, types\ndef register(name):\n    sys.modules['torch.' + name] = types.ModuleType(name)\n", "add/__init__.py": "import torch\ntorch.register('npu')\n"},
        None,
    ),
    "a package that a part of it fills": (
        {"user/__init__.py": "from torch import made\n", "torch/__init__.py": "from . import _build\n", "torch/_build.py": "import sys\n\ndef fill(module):\n    module.__dict__.update(made=1)\n\nfill(sys.modules['torch'])\n"},
        None,
    ),
    "a package whose part serves modules": (
        {"user/__init__.py": "import torch.made\n", "torch/__init__.py": "from . import _build\n", "torch/_build.py": "import importlib.machinery, sys, types\n\n\nclass Made:\n    def find_spec(self, name, path=None, target=None):\n        return importlib.machinery.ModuleSpec(name, self) if name == 'torch.made' else None\n\n    def create_module(self, spec):\n        return types.ModuleType(spec.name)\n\n    def exec_module(self, module):\n        pass\n\n\nsys.meta_path.append(Made())\n"},
        None,
    ),
    "a package that a part of it asks for": (
        {"user/__init__.py": "from torch import made\n", "torch/__init__.py": "from . import _build\n", "torch/_build.py": "import sys\n\nitself = sys.modules['torch']\n"},
        ("no name", "torch", "made"),
    ),
    "a module of a framework that lacks another": (
        {"user/__init__.py": "from torch.utils import build\n", "torch/utils/__init__.py": "", "torch/utils/build.py": "import gone\n"},
        ("absent", "gone", ""),
    ),
    "a package of no bytes": ({"user/__init__.py": "import google.protobuf\n", "google/__init__.py": ""}, ("absent", "google.protobuf", "")),
    "marks of a merge": ({"user/__init__.py": "from . import a\n", "user/a.py": "<<<<<<< HEAD\nimport os\n=======\nimport sys\n>>>>>>> main\n"}, ("damaged", "user.a", "")),
    "marks of a merge in a text": ({"user/__init__.py": "from . import a\n", "user/a.py": 'X = """\n<<<<<<< HEAD\n"""\n'}, None),
    "a file of zeros": ({"user/__init__.py": "from . import a\n", "user/a.py": "\0" * 40}, ("damaged", "user.a", "")),
}  # fmt: skip


def ended(
    site: Path,
    *before: Path,
    behind: Path | None = None,
    users: tuple[str, ...] = (),
    suspects: Suspects = NOTHING_SUSPECT,
    late: Late = lambda _frameworks, _seconds: None,
) -> tuple[EndedImport, ...]:
    """Return what reading says of a framework in a folder of packages, with folders before it, and of what uses it."""
    entries = (
        *(SearchEntry(path=str(f), origin="PYTHONPATH", source="PYTHONPATH") for f in before),
        *(
            SearchEntry(path=p, origin="standard library")
            for p in sys.path
            if p.endswith((f"python{VERSION[0]}.{VERSION[1]}", "lib-dynload"))
        ),
        SearchEntry(path=str(site), origin="site-packages"),
        *((SearchEntry(path=str(behind), origin="pth", source=str(site / "more.pth"), line=1),) if behind else ()),
    )
    python = Interpreter("/env", "/env", (VERSION[0], VERSION[1]))
    search = ModuleSearch(python, PythonSearch(entries), "x86_64", Sysroot(system="linux"))
    mine = Distribution(name="torch", version="2.8.0", location=str(site), pins=REQUIRES)
    more = (Distribution(name=n, version="1.0", location=str(site), pins=("torch>=2",)) for n in users)
    return ended_imports(search, (mine, *more), Sysroot(system="linux"), suspects, late=late)


def really_ends(site: Path, *before: Path, module: str = "torch") -> bool:
    """Whether this interpreter fails to import it."""
    code = f"import sys; sys.path[:0] = {[str(f) for f in before]!r}; sys.path.append({str(site)!r}); import {module}"
    return (
        subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, check=False).returncode != 0
    )


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.skipif(not shutil.which("gcc"), reason="builds a library")
@pytest.mark.parametrize(("code", "ends"), [("int x;", True), ("int x; void *PyInit_parts(void) { return 0; }", False)])
def test_a_library_that_has_the_name_of_a_module(tmp_path: Path, code: str, ends: bool):
    site = plant(tmp_path / "site", {"torch/__init__.py": "import parts\n", "parts/__init__.py": ""})
    (tmp_path / "work").mkdir()
    (tmp_path / "parts.c").write_text(code)
    made = ["gcc", "-shared", "-fPIC", "-o", tmp_path / "work" / "parts.so", tmp_path / "parts.c"]
    subprocess.run(made, check=True)
    told = ended(site, tmp_path / "work")
    assert [(e.kind, e.wanted) for e in told] == ([("no module", "parts")] if ends else [])
    assert really_ends(site, tmp_path / "work")  # the other one starts, and fails in its own way


@pytest.mark.parametrize(
    ("early", "late", "apart"),
    [
        ("google/company/__init__.py", "google/type.py", True),
        ("google/protobuf/mine.py", "google/type.py", False),
        ("google/__init__.py", "google/type.py", False),
        ("google.py", "google/type.py", False),
        ("google/protobuf/mine.py", "google/__init__.py", True),
        ("google/__init__.py", "google/__init__.py", False),
    ],
)
def test_parts_of_one_namespace_stand_side_by_side(tmp_path: Path, early: str, late: str, apart: bool):
    site = plant(tmp_path / "site", {"google/protobuf/message.py": "", late: ""})
    before = plant(tmp_path / "before", {early: ""})
    python = Interpreter("/env", "/env", (VERSION[0], VERSION[1]))
    search = ModuleSearch(python, PythonSearch(()), "x86_64", Sysroot(system="linux"))
    assert search.is_shared_apart("google", str(before), str(site)) is apart


@linux_paths
@pytest.mark.parametrize(
    ("last", "fails"),
    [
        ("google/__init__.py", True),
        ("google.py", True),
        ("google/rpc/status.py", False),
        ("googles/__init__.py", False),
    ],
)
def test_a_package_is_preferred_to_parts_of_a_namespace_that_come_before_it(tmp_path: Path, last: str, fails: bool):
    files = {
        "torch/__init__.py": "import google.protobuf\n",
        "google/protobuf/__init__.py": "",
        "typing_extensions.py": "",
    }
    site, behind = plant(tmp_path / "site", files), plant(tmp_path / "protos", {last: ""})
    told = ended(site, behind=behind)
    hidden = str(site / "google") if fails else ""
    assert [(e.wanted, e.hidden) for e in told] == ([("google.protobuf", hidden)] if fails else [])
    code = f"import sys; sys.path += {[str(site), str(behind)]!r}; import torch"
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, check=False)
    assert (done.returncode != 0) == fails


@pytest.mark.parametrize(
    ("early", "copy"),
    [
        ({"yaml/__init__.py": "x = 1\n", "yaml/inner/a.py": "y = 1\n"}, True),
        ({"yaml/__init__.py": "x = 1\n", "yaml/inner/a.py": "y = 1\n", "yaml/more.py": ""}, True),
        ({"yaml/__init__.py": "x = 1\n", "yaml/inner/a.py": ""}, False),
        ({"yaml/__init__.py": "x = 1\n"}, False),
        ({"yaml/inner/a.py": "y = 1\n"}, False),
        ({"yaml.py": "x = 1\n"}, False),
    ],
)
def test_a_copy_of_a_package_has_all_its_files(tmp_path: Path, early: dict[str, str], copy: bool):
    site = plant(tmp_path / "site", {"yaml/__init__.py": "x = 1\n", "yaml/inner/a.py": "y = 1\n"})
    before = plant(tmp_path / "before", early)
    python = Interpreter("/env", "/env", (VERSION[0], VERSION[1]))
    search = ModuleSearch(python, PythonSearch(()), "x86_64", Sysroot(system="linux"))
    assert search.is_copy("yaml", str(before), str(site)) is copy


@linux_paths
@pytest.mark.parametrize("case", CASES)
def test_what_is_told_is_what_python_does(tmp_path: Path, case: str):
    files, expected = CASES[case]
    site = plant(tmp_path, files)
    told = ended(site)
    assert [(e.kind, e.wanted, e.name) for e in told] == ([expected] if expected else [])
    assert really_ends(site) == bool(expected)
    assert all(e.starts == ("torch",) for e in told)


CLONES: dict[str, tuple[str, bool]] = {
    "the same": ("def check():\n    pass\n", False),
    "another text": ("def check():\n    return 1\n", False),
    "a function gone of which another file says that it is set": (
        "def another():\n    pass\n# torch.late sets it\n",
        True,
    ),
    "a function gone that the start calls": ("def another():\n    pass\n", True),
}


@pytest.mark.parametrize("case", CLONES)
def test_a_clone_in_front_of_what_it_hides(tmp_path: Path, case: str):
    text, fails = CLONES[case]
    start = {
        "torch/__init__.py": "from torch import parts\nparts.check()\nloaded = parts.check()\n",
        "torch/late.py": "def later(parts):\n    parts.check = None\n",
    }
    plant(tmp_path / "site", {**start, "torch/parts.py": CLONES["the same"][0], "torch-2.6.0.dist-info/METADATA": ""})
    plant(tmp_path / "work", {**start, "torch/parts.py": text})
    entries = (
        SearchEntry(path=str(tmp_path / "work"), origin="start"),
        SearchEntry(path=str(tmp_path / "site"), origin="site-packages"),
    )
    code = f"import sys; sys.path[:0] = {[e.path for e in entries]!r}; import torch"
    assert (
        subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=False).returncode != 0
    ) is fails
    search = ModuleSearch(
        Interpreter(str(tmp_path), str(tmp_path), VERSION), PythonSearch(entries), "x86_64", Sysroot(system="linux")
    )
    torch = Distribution(name="torch", version="2.6.0", location=str(tmp_path / "site"))
    found = ended_imports(search, (torch,), Sysroot(system="linux"))
    assert [(e.kind, e.wanted, e.name, e.path) for e in found] == (
        [("no name", "torch.parts", "check", str(tmp_path / "work/torch/parts.py"))] if fails else []
    )


@linux_paths
def test_a_file_before_the_packages_is_named_with_what_it_hides(tmp_path: Path):
    site = plant(
        tmp_path / "site",
        {"torch/__init__.py": "from typing_extensions import override\n", "typing_extensions.py": OTHERS},
    )
    tools = plant(tmp_path / "tools", {"typing_extensions.py": "# override comes later\nx = 1\n"})
    (told,) = ended(site, tools)
    assert (told.kind, told.path, told.entry) == ("no name", str(tools / "typing_extensions.py"), 0)
    assert told.hidden == str(site / "typing_extensions.py")
    assert (Path(told.importer), told.line) == (site / "torch" / "__init__.py", 1)
    assert really_ends(site, tools)
    assert not ended(site, plant(tmp_path / "newer", {"typing_extensions.py": OTHERS + "y = 2\n"}))


@linux_paths
@pytest.mark.parametrize(
    ("text", "fails"),
    [("x = 1\n", True), ("import sys\nsys.modules['tools.parts'] = sys\n", False), ("__path__ = []\nimport sys\nsys.modules['tools.parts'] = sys\n", False)],
)  # fmt: skip
def test_a_file_before_the_packages_has_no_parts(tmp_path: Path, text: str, fails: bool):
    site = plant(
        tmp_path / "site", {"torch/__init__.py": "import tools.parts\n", "tools/__init__.py": "", "tools/parts.py": ""}
    )
    work = plant(tmp_path / "work", {"tools.py": text})
    assert [(e.kind, e.wanted) for e in ended(site, work)] == ([("absent", "tools.parts")] if fails else [])
    assert really_ends(site, work) == fails


@linux_paths
@pytest.mark.parametrize("case", USERS)
def test_what_is_told_of_a_package_that_uses_a_framework_is_what_python_does(tmp_path: Path, case: str):
    files, expected = USERS[case]
    site = plant(tmp_path, {"torch/__init__.py": "", **files})
    told = ended(site, users=("user",))
    assert [(e.kind, e.wanted, e.name) for e in told] == ([expected] if expected else [])
    assert really_ends(site, module="user") == bool(expected)
    assert all(e.starts == ("user",) for e in told)


@linux_paths
@pytest.mark.parametrize(
    ("compiled", "told"),
    [
        ("lazy/native.abi3.so", False),
        ("lazy/native.cpython-311-x86_64-linux-gnu.so", False),
        ("lazy/lib/libnative.so", True),
    ],
)
def test_a_compiled_module_gives_names_wherever_its_environment_lies(tmp_path: Path, compiled: str, told: bool):
    filled = "def start():\n    own = globals()\n    for name, its in native().items():\n        own[name] = its\n"
    files = {"torch/__init__.py": "", "user/__init__.py": "from lazy import Writer_code\n", "lazy/__init__.py": filled}
    site = plant(tmp_path / "lib/python3.11/site-packages", files)
    (site / compiled).parent.mkdir(exist_ok=True)
    (site / compiled).write_bytes(b"\x7fELF\0OOOO:Writer_code\0")
    assert [e.name for e in ended(site, users=("user",))] == (["Writer_code"] if told else [])


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch):
    """Let files that were just made count as old enough for their times to show a change."""
    monkeypatch.setattr("core.loader.earlier_reads.SETTLED_NANOSECONDS", -(1 << 62))


SITE = {"torch/__init__.py": "import typing_extensions\n", "typing_extensions.py": OTHERS, "user/__init__.py": "import torch, extra\n", "named/__init__.py": ""}  # fmt: skip

FOLDERS: dict[str, tuple[dict[str, str], bool, bool]] = {
    "empty": ({}, True, True),
    "names that nothing imports": ({"train.py": "", "sys/x.txt": "", "notes/a.txt": ""}, True, True),
    "a module of a package that is imported": ({"typing_extensions.py": "x = 1\n"}, False, True),
    "a module of Python": ({"enum.py": "Enum = 1\n"}, False, True),
    "a name of the packages that is not imported": ({"named.py": ""}, False, True),
    "what a package looks for in vain": ({"extra.py": ""}, False, False),
    "a part of what it looks for": ({"extra/x.txt": ""}, False, False),
    "an installed package": ({"extra-1.0.dist-info/METADATA": "Name: extra\nVersion: 1.0\n"}, False, True),
}
"""Files of a folder that a program starts in -> whether results of another folder count there, and whether the user's import ends."""


@linux_paths
@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_that_gives_nothing_to_what_is_imported_is_no_new_question(tmp_path: Path, case: str):
    files, kept, fails = FOLDERS[case]
    site, work = plant(tmp_path / "site", SITE), plant(tmp_path / "work", files)
    (tmp_path / "first").mkdir()
    work.mkdir(exist_ok=True)
    store = EarlierReads()
    with using(store):
        first = ended(site, tmp_path / "first", users=("user",))
    assert [(e.wanted, e.entry) for e in first] == [("extra", -1)]
    store = EarlierReads(store.to_bytes())
    with using(store):
        there = ended(site, work, users=("user",))
    assert store.has_news != kept
    assert there == ended(site, work, users=("user",))
    assert ("user" in {name for e in there for name in e.starts}) == really_ends(site, work, module="user") == fails


@linux_paths
def test_the_entry_that_a_fault_names_counts_folders_that_give_nothing(tmp_path: Path):
    site = plant(tmp_path / "site", {**SITE, "typing_extensions.py": "x = 1\n", "torch/__init__.py": "from typing_extensions import override\n"})  # fmt: skip
    (told,) = ended(site, plant(tmp_path / "work", {"train.py": ""}), users=())
    (alone,) = ended(site)
    assert (told.kind, told.path) == ("no name", str(site / "typing_extensions.py"))
    assert told.entry == alone.entry + 1


MAKER = "def __getattr__(name):\n    raise AttributeError(name)\n"

GONE: dict[str, tuple[dict[str, str], str, tuple[str, str] | None]] = {
    "a module of a package that makes names": (
        {"torch/__init__.py": f"from torch._utils import f\n{MAKER}", "torch/_utils.py": "f = 1\n"},
        "torch/_utils.py",
        ("absent", "torch._utils"),
    ),
    "by its package's own line": (
        {"torch/__init__.py": f"from . import _utils\n{MAKER}", "torch/_utils.py": "f = 1\n"},
        "torch/_utils.py",
        ("absent", "torch._utils"),
    ),
    "a package's own file": (
        {"torch/__init__.py": "from torch.nn import f\n", "torch/nn/__init__.py": "f = 1\n", "torch/nn/g.py": ""},
        "torch/nn/__init__.py",
        ("absent", "torch.nn"),
    ),
    "the name is bound as well": (
        {"torch/__init__.py": "f = 1\n\ndef g():\n    return f\n\nfrom torch import f, g\n", "torch/g.py": ""},
        "torch/g.py",
        None,
    ),
    "nobody asks for it": ({"torch/__init__.py": "x = 1\n", "torch/_utils.py": "f = 1\n"}, "torch/_utils.py", None),
}


@linux_paths
@pytest.mark.parametrize("case", GONE)
def test_a_recorded_module_that_is_gone_ends_the_import_that_comes_to_it(tmp_path: Path, case: str):
    files, gone, expected = GONE[case]
    site = plant(tmp_path, {**files, "typing_extensions.py": ""})
    (site / gone).unlink()
    lost = DamagedFile(
        path=str(site / gone), distribution="torch", version="2.8.0", location=str(site), state="missing"
    )
    told = ended(site, suspects=Suspects(gone=(lost,)))
    assert [(e.kind, e.wanted) for e in told] == ([expected] if expected else [])
    assert really_ends(site) == bool(expected)


@linux_paths
@pytest.mark.parametrize(("text", "fails"), [("x = 1\n", True), ("class Random: ...\n", False)])
def test_a_file_that_hides_a_module_of_python_is_followed_through_pythons_own(tmp_path: Path, text: str, fails: bool):
    site = plant(tmp_path / "site", {"torch/__init__.py": "import tempfile\n", "typing_extensions.py": ""})
    work = plant(tmp_path / "work", {"random.py": text})
    told = ended(site, work, suspects=Suspects(hidden=("random",)))
    assert [(e.wanted, e.name) for e in told] == ([("random", "Random")] if fails else [])
    assert really_ends(site, work) == fails


@linux_paths
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import sqlite3\n", ["_sqlite3"]),
        ("try:\n    import sqlite3\nexcept ImportError:\n    sqlite3 = None\n", []),
        ("def cache():\n    import sqlite3\n", []),
    ],
)
def test_a_package_of_python_comes_to_its_extension_module_by_an_inner_file(
    tmp_path: Path, text: str, expected: list[str]
):
    site = plant(tmp_path, {"torch/__init__.py": text, "typing_extensions.py": ""})
    spec = importlib.util.find_spec("_sqlite3")
    assert spec is not None
    assert spec.origin
    folder = str(Path(spec.origin).parent)
    lacking = Edge(name="libsqlite3.so.0", wanted_by=spec.origin, state="absent")
    told = ended(site, suspects=Suspects(unfit=(UnfitExtension(spec.origin, "", folder, lacking),)))
    assert [e.wanted for e in told] == expected


@linux_paths
@pytest.mark.parametrize(
    ("limit", "seconds", "told"), [("MOST_WAITING", 25.0, 0), ("MOST_WAITING", -1.0, 1), ("FRAMEWORK_SECONDS", -1.0, 1)]
)
def test_time_that_ran_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, seconds: float, told: int
) -> None:
    monkeypatch.setattr(f"core.probes.python.following.import_closure.{limit}", seconds)
    said: list[tuple[bool, float]] = []
    ended(plant(tmp_path, {"torch/__init__.py": "import gone\n"}), late=lambda *what: said.append(what))
    assert [frameworks for frameworks, _seconds in said] == [True] * told
    assert all(seconds < 25 for _frameworks, seconds in said)  # what it took, and not what is allowed


PROJECT = {
    "torch/__init__.py": "",
    "mine-0.3.dist-info/METADATA": "Name: mine\nVersion: 0.3\n",
    "mine-0.3.dist-info/direct_url.json": '{"dir_info": {"editable": true}, "url": "file:///mine"}',
    "mine-0.3.dist-info/RECORD": "__editable__.mine-0.3.pth,,\n",
}


@linux_paths
def test_an_editable_project_whose_folder_is_gone_is_told(tmp_path: Path):
    sources = plant(tmp_path / "code" / "src", {"mine/__init__.py": ""})
    site = plant(tmp_path / "site", PROJECT | {"__editable__.mine-0.3.pth": f"{sources}\n"})
    assert not ended(site)
    (tmp_path / "code").rename(tmp_path / "renamed")
    (told,) = ended(site)
    assert (told.starts, told.wanted, told.path, told.owner) == (("mine",), "mine", str(sources), "mine 0.3")
    assert really_ends(site, module="mine")
    plant(site, {"mine/__init__.py": ""})  # another installation of it serves
    assert not ended(site)


@linux_paths
def test_a_folder_of_a_package_that_is_not_editable_is_no_project(tmp_path: Path):
    plain = {"mine-0.3.dist-info/direct_url.json": '{"dir_info": {}, "url": "file:///mine"}'}
    assert not ended(plant(tmp_path, PROJECT | plain | {"__editable__.mine-0.3.pth": "/gone/src\n"}))


@linux_paths
def test_what_several_packages_import_is_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    users = ("first", "second", "third")
    files = {"torch/__init__.py": "", "shared/__init__.py": "import torch\n# shared by all\n" + "x = 1\n" * 20}
    for name in users:
        files[f"{name}/__init__.py"] = f"import shared\nimport torch\nimport gone_from_{name}\n" + "# long\n" * 15
        files[f"{name}-1.0.dist-info/METADATA"] = f"Name: {name}\nVersion: 1.0\nRequires-Dist: torch\n"
        files[f"{name}-1.0.dist-info/RECORD"] = f"{name}/__init__.py,,\n"
    monkeypatch.setattr("core.probes.python.following.import_closure.USER_BYTES", 400)  # one package in each portion
    followed: list[str] = []
    margin = Statements.margin

    def counted(self: Statements, frame: Any) -> Any:
        followed.append(frame.name)
        return margin(self, frame)

    monkeypatch.setattr(Statements, "margin", counted)
    assert sorted(start for e in ended(plant(tmp_path, files)) for start in e.starts) == sorted(users)
    assert followed.count("shared") == 1


@linux_paths
@pytest.mark.parametrize(("release", "begun"), [("2.0", ["alone"]), ("3.0", ["small"])])
def test_a_package_in_doubt_is_followed_first_even_where_it_uses_no_framework(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, begun: list[str]
):
    clock = iter(range(10**6))
    monkeypatch.setattr("core.probes.python.following.import_closure.time.thread_time", lambda: float(next(clock)))
    monkeypatch.setattr(
        "core.probes.python.following.import_closure.USER_SECONDS", 1.0
    )  # by this clock one package is begun
    for limit in ("MOST_SECONDS", "FRAMEWORK_SECONDS"):
        monkeypatch.setattr(f"core.probes.python.following.import_closure.{limit}", 1e6)
    site = plant(
        tmp_path,
        {
            "torch/__init__.py": "",
            "alone/__init__.py": "import torch_gone\nrow = 1\n" + "# long\n" * 9,
            "alone-1.0.dist-info/METADATA": "Name: alone\nVersion: 1.0\nRequires-Dist: helper>=3\n",
            "alone-1.0.dist-info/RECORD": "alone/__init__.py,,\nalone/more.py,,\n",
            "small/__init__.py": "import torch_gone\n",
            "small-1.0.dist-info/METADATA": "Name: small\nVersion: 1.0\n",
            "small-1.0.dist-info/RECORD": "small/__init__.py,,\n",
            f"helper-{release}.dist-info/METADATA": f"Name: helper\nVersion: {release}\n",
            f"helper-{release}.dist-info/RECORD": "helper/__init__.py,,\n",
            "helper/__init__.py": "",
        },
    )
    assert [start for e in ended(site) for start in e.starts] == begun


@linux_paths
@pytest.mark.parametrize(("helper", "told"), [(True, False), (False, True)])
def test_what_a_framework_requires_may_lack_what_it_requires_itself(tmp_path: Path, helper: bool, told: bool):
    """As SymPy, which PyTorch imports with its first compilation, and mpmath."""
    files = {
        "torch/__init__.py": "def compile():\n    import algebra\n",
        "torch-2.8.0.dist-info/METADATA": "Name: torch\nVersion: 2.8.0\nRequires-Dist: tools-for-torch\n",
        "tools_for_torch-1.0.dist-info/METADATA": "Name: tools-for-torch\nVersion: 1.0\nRequires-Dist: algebra>=1\n",
        "tools_for_torch/__init__.py": "",
        "algebra-1.0.dist-info/METADATA": "Name: algebra\nVersion: 1.0\nRequires-Dist: numbers-of-it<2\n",
        "algebra-1.0.dist-info/RECORD": "algebra/__init__.py,,\n",
        "algebra/__init__.py": "try:\n    import numbers_of_it\nexcept ImportError:\n    raise ImportError('install it')\n",
    }
    if helper:
        files |= {
            "numbers_of_it-1.0.dist-info/METADATA": "Name: numbers-of-it\nVersion: 1.0\n",
            "numbers_of_it/__init__.py": "",
        }
    site = plant(tmp_path, files)
    row = ("absent", "numbers_of_it", ("algebra",), "algebra 1.0", "<2")
    found = [(e.kind, e.wanted, e.starts, e.required_by, e.required_versions) for e in ended(site)]
    assert found == ([row] if told else [])
    assert really_ends(site, module="algebra") == told


@pytest.mark.parametrize(
    ("wishes", "asked"),
    [
        (('helper>=2; extra == "torch"', 'helper>=2; extra == "agents"'), "helper>=2"),
        (("helper>=2",), "helper>=2"),
        (('helper>=2; extra == "torch"', 'helper; extra == "light"'), ""),  # an extra does without
        (('helper==0.5; extra == "dev"', 'helper>=2; extra == "test-all"'), ""),  # for who works on the package itself
        (('helper>=2; python_version < "3.8"',), ""),
        (('helper>=1; extra == "torch"',), ""),
    ],
)
def test_what_others_ask_of_a_package_whose_import_ends_is_told(tmp_path: Path, wishes: tuple[str, ...], asked: str):
    site = plant(
        tmp_path,
        {
            "torch/__init__.py": "",
            "torch-2.8.0.dist-info/METADATA": "Name: torch\nVersion: 2.8.0\n",
            "small-4.0.dist-info/METADATA": "Name: small\nVersion: 4.0\nRequires-Dist: torch\n"
            + "".join(f"Requires-Dist: {w}\n" for w in wishes),
            "small/__init__.py": "",
            "helper-1.0.dist-info/METADATA": "Name: helper\nVersion: 1.0\nRequires-Dist: torch\n",
            "helper-1.0.dist-info/RECORD": "helper/__init__.py,,\n",
            "helper/__init__.py": "import what_it_forgot\n",
        },
    )
    (found,) = ended(site)
    assert (found.wanted, found.starts) == ("what_it_forgot", ("helper",))
    assert (found.refused_by, found.asked_of_it) == (("small 4.0", asked) if asked else ("", ""))


@pytest.mark.parametrize(("more", "alike"), [({}, True), ({"parts/fast.so": "x"}, False)])
def test_a_package_in_an_archive_is_another_release_unless_its_parts_are_compiled(
    tmp_path: Path, more: dict[str, str], alike: bool
):
    files = {"parts/__init__.py": "", "parts/one.py": "", "parts/two/__init__.py": ""}
    site, archive = plant(tmp_path / "site", {**files, **more}), tmp_path / "deps.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in files:
            packed.write(site / name, name)
    entries = (SearchEntry(path=str(archive), origin="PYTHONPATH"), SearchEntry(path=str(site), origin="site-packages"))
    search = ModuleSearch(
        Interpreter(str(tmp_path), str(tmp_path), VERSION), PythonSearch(entries), "x86_64", Sysroot(system="linux")
    )
    found = search.find("parts")
    assert found.path == f"{archive}/parts/__init__.py"
    assert search.is_alike(found.path, found.hidden[0]) is alike


@pytest.mark.parametrize(
    ("libraries", "alike"), [("partsandmore.libs", True), ("parts.libs", False), ("parts_gpu.libs", False)]
)
def test_a_clone_lacks_the_folder_of_libraries_of_its_own_package_alone(tmp_path: Path, libraries: str, alike: bool):
    files = {"parts/__init__.py": "", "parts/one.py": ""}
    site = plant(tmp_path / "site", {**files, f"{libraries}/libx-1234abcd.so.1": ""})
    clone = plant(tmp_path / "clone", files)
    entries = (SearchEntry(path=str(clone), origin="start"), SearchEntry(path=str(site), origin="site-packages"))
    search = ModuleSearch(
        Interpreter(str(tmp_path), str(tmp_path), VERSION), PythonSearch(entries), "x86_64", Sysroot(system="linux")
    )
    assert search.find_known_module(KnownModule(module="parts", distributions="parts"), ()).alike is alike
