"""What calls of a program come to in installed packages: told by reading, borne out by Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.model.facts import Distribution
from core.probes.python.following.followed_frame import MOST_CALLS, Frame
from tests.probes.following import ends_in, lay_out, python_fails

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")

INSTALLED = {
    "speech/__init__.py": """
import functools, importlib.metadata
from speech.models import *
from .models import Reader as Recognizer
try:
    import not_there
except ImportError:
    not_there = None

def filter_silence():
    return Detector()

class Detector:
    def __init__(self):
        try:
            import silence_runtime
        except ImportError as e:
            raise RuntimeError("the filter needs silence_runtime") from e

def transcribe(path, vad=False):
    if vad:
        filter_silence()

def rotate(angle):
    if not_there is None:
        raise ImportError("rotate needs not_there")

def given_up(size=None):
    if size is None:
        raise NotImplementedError("use another one")

def four_bits():
    if importlib.metadata.version("no-such-quantizer") < "0.40":
        raise ValueError

def may_do_without():
    try:
        import silence_runtime
    except ImportError:
        silence_runtime = None

def traced(function):
    return lambda *args: None

@traced
def replaced():
    import silence_runtime

@functools.lru_cache
def kept():
    import silence_runtime

def parts():
    import silence_runtime
    yield 1

_backend = None

def choose(backend):
    global _backend
    _backend = backend

def needs_choice():
    if _backend is None:
        import silence_runtime

def other_name():
    importlib.metadata.version("scikit-speech")

def keyword(*, device="cpu"):
    if device != "cpu":
        import silence_runtime
""",
    "speech/vectors.py": """
class Words:
    def __init__(self, vector_size=3):
        pass

if __name__ == '__main__':
    from speech.vectors import Words
""",
    "speech/steps.py": """
from speech import choice

if choice.backend() == "no_such_backend":
    from speech.other_steps import OtherStep as Own
elif choice.backend() == "json":
    from speech.own_steps import OwnStep as Own
else:
    class Own:
        pass

class Adam(Own):
    def __init__(self, rate=0.1, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
""",
    "speech/choice.py": "def backend():\n    return ''.join(('js', 'on'))\n",
    "speech/own_steps.py": """
class OwnStep:
    def __init__(self, name=None, **kwargs):
        if kwargs.pop("decay", None) is not None:
            print("decay has no effect")
        if kwargs:
            raise ValueError(f"not recognized: {kwargs}")
""",
    "speech/models.py": """
class Base:
    def prepare(self):
        import silence_runtime

class Reader(Base):
    def listen(self):
        return self.prepare()

    @classmethod
    def load(cls, name):
        import silence_runtime

class Handled(Base):
    def __init__(self):
        self.prepare = print

    def go(self):
        self.prepare()

class Singleton:
    def __new__(cls):
        return object.__new__(Whole)

    def listen(self):
        import silence_runtime

class Whole:
    def listen(self):
        pass

class Meta(type):
    def __call__(cls, *args, **kwargs):
        return object()

class Made(metaclass=Meta):
    def __init__(self):
        import silence_runtime
""",
    "client/__init__.py": """
import transport

class Wrapper(transport.Client):
    pass

class Defaults(Wrapper):
    def __init__(self, **kwargs):
        kwargs.setdefault("timeout", 5)
        super().__init__(**kwargs)

class Base:
    def __init__(self, url, client=None, proxies=None):
        self._client = client or Defaults(url=url, proxies=proxies)

class Client(Base):
    def __init__(self, *, url="a", client=None):
        super().__init__(url, client=client)

class Taking(Base):
    def __init__(self, **kwargs):
        kwargs.pop("proxies", None)
        transport.Client(**kwargs)
""",
    "transport/__init__.py": "__version__ = '2.0'\nfrom ._client import *\n",
    "transport/_client.py": """
from typing import overload
__all__ = ["Client", "anything"]

class Client:
    def __init__(self, *, url="", timeout=1):
        pass

def anything(**kwargs):
    pass
""",
    "training/__init__.py": """
from dataclasses import dataclass, field

@dataclass
class Common:
    output: str = "out"

@dataclass
class Arguments(Common):
    eval_strategy: str = field(default="no")

    def __post_init__(self):
        if self.eval_strategy == "steps":
            import silence_runtime
""",
}
INSTALLED |= {
    "scikit_speech-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: scikit-speech\nVersion: 1.0\n",
    "loose/__init__.py": """
import loose.dataclasses

@loose.dataclasses.dataclass
class Settings:
    device: str = "cpu"
""",
    "loose/dataclasses.py": """
def dataclass(of):
    of.__init__ = lambda self, **kwargs: None
    return of
""",
    "hub/__init__.py": """
try:
    import silence_runtime
except ImportError:
    from .utils.dummy_silence_objects import *
else:
    from .models import Listener
from .models import Speaker
""",
    "hub/models.py": """
from .utils import requires_backends
class Speaker:
    def __init__(self):
        requires_backends(self, ["json", "soundfile"])
""",
    "hub/utils/__init__.py": """
def requires_backends(of, backends):
    if "soundfile" in backends:
        raise ImportError(backends)
class DummyObject(type):
    def __getattribute__(cls, key):
        return super().__getattribute__(key) if key.startswith("_") else requires_backends(cls, cls._backends)
""",
    "hub/utils/dummy_silence_objects.py": """
from ..utils import DummyObject, requires_backends
class Listener(metaclass=DummyObject):
    _backends = ["soundfile"]
    def __init__(self, *args, **kwargs):
        requires_backends(self, ["soundfile"])
class Unknown(metaclass=DummyObject):
    _backends = ["no_word_of_theirs"]
""",
}
INSTALLED |= {
    "loggers/__init__.py": """
from .imports import RequirementCache, _TEXT_AVAILABLE, _JSON_AVAILABLE
_BOARD_AVAILABLE = RequirementCache("no_board>=0.12")
_BOTH = _BOARD_AVAILABLE and _JSON_AVAILABLE

class Board:
    def __init__(self):
        if not _BOARD_AVAILABLE:
            raise ModuleNotFoundError(str(_BOARD_AVAILABLE))

class Text:
    def __init__(self):
        if not (_TEXT_AVAILABLE or _BOARD_AVAILABLE):
            raise ModuleNotFoundError("text")

class Json:
    def __init__(self):
        if not _JSON_AVAILABLE:
            raise ModuleNotFoundError("json")

class Quiet:
    def __init__(self):
        self.board = None
        if _BOARD_AVAILABLE:
            import no_board

class Recorded:
    def __init__(self):
        if not RequirementCache("scikit-speech"):
            raise ModuleNotFoundError("scikit-speech")
""",
    "loggers/imports.py": """
import importlib.metadata
import importlib.util
import re

class RequirementCache:
    def __init__(self, requirement):
        self.name = re.split("[<>=]", requirement)[0]

    def __bool__(self):
        try:
            return bool(importlib.metadata.version(self.name))
        except importlib.metadata.PackageNotFoundError:
            return importlib.util.find_spec(self.name.replace("-", "_")) is not None

def package_available(name):
    return importlib.util.find_spec(name) is not None

_TEXT_AVAILABLE = package_available("no_text")
_JSON_AVAILABLE = package_available("transport")
""",
    "loggers/all.py": """
from .imports import _JSON_AVAILABLE, _TEXT_AVAILABLE
if _JSON_AVAILABLE:
    from loggers import Board
if _TEXT_AVAILABLE:
    from no_text import Text
else:
    from loggers import Quiet as Text
""",
    "holder/__init__.py": """
import transport

class Holder:
    def __init__(self, client=None):
        self.client: transport.Client = client or transport.Client(proxies=None)
""",
}
INSTALLED |= {
    "versions.py": """
def first_version_is_lower(one, other):
    return [int(n) for n in one.split(".")] < [int(n) for n in other.split(".")]
""",
    "noted/__init__.py": """
_bad = False
try:
    from transport import not_yet_there
    _bad = not_yet_there()
except ImportError:
    _bad = True
if _bad:
    raise RuntimeError("noted needs a newer transport")
""",
    "generated/__init__.py": """
import transport
GENERATED = "2.10"
RELEASE = transport.__version__
_bad = False
try:
    from versions import first_version_is_lower
    _bad = first_version_is_lower(RELEASE, GENERATED)
except ImportError:
    _bad = True
if _bad:
    raise RuntimeError(f"generated needs transport {GENERATED}")
""",
    "older/__init__.py": "from collections import OrderedDict, Mapping\n",
    "pydantic/__init__.py": """# BaseModel
def __getattr__(name):
    import json
    if name == json.loads('"BaseSettings"'):
        raise ImportError(name)
    return name
""",
}
INSTALLED |= {
    "wrapped/__init__.py": """
import functools

def counted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        kwargs = dict([("more", 1)] + list(kwargs.items()))
        try:
            return function(*args, **kwargs)
        except KeyError:
            raise

    return inner

def named(word):
    def decorate(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)
        return inner
    return decorate

def renamed(function):
    def inner(*args, **kwargs):
        kwargs["depth"] = kwargs.pop("layers", 1)
        return function(*args, **kwargs)
    return inner

def filtered(function):
    def inner(*args, **kwargs):
        kwargs = {k: v for k, v in kwargs.items() if k == "depth"}
        return function(*args, **kwargs)
    return inner

class Base:
    def __init__(self, depth=1):
        self.depth = depth

class Left(Base):
    def walk(self):
        import silence_runtime

class Right(Base):
    def walk(self):
        pass

class Both(Left, Right):
    pass

class Later(Right, Left):
    pass

@named("a")
def sized(depth=1):
    pass

@counted
def fast(depth=1, more=0):
    pass

@renamed
def deep(depth=1):
    pass

@filtered
def plain(depth=1):
    pass
""",
}
INSTALLED |= {
    "drawing/__init__.py": """
import functools
from .meta import register
__getattr__, __dir__, __all__ = register.attach_stub(__name__, __file__)

class Doc:
    def __init__(self, text):
        self.text = text

    def __call__(self, function):
        function.__doc__ = self.text
        return function

def documented(*names):
    def spelt(name):
        return name.lower()

    def inner(of):
        if names:
            of.names = names
        return of
    return inner

def places_too(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        if not args:
            return function(*args, **kwargs)
        with open(__file__):
            return function(*args, **kwargs)
    return inner

def fills_in(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        if len(args) > 1:
            kwargs["rate"] = args[1]
            return function(args[0], **kwargs)
        return function(*args, **kwargs)
    return inner

@Doc("reads")
def read(path, sep=","):
    pass

@places_too
def mel(*, rate, size=1):
    pass

@fills_in
def mono(sound, *, rate=1):
    pass

class Shape:
    def __init_subclass__(cls):
        for way in ("fit", "score"):
            setattr(cls, f"set_{way}_request", lambda self: self)

    def outline(self):
        return self

@documented("outline")
class Figure(Shape):
    def __enter__(self):
        return self

    def __exit__(self, *all):
        pass

    def axes(self, *, number=1):
        self.given = print

def expanded(of):
    for way in ("text",):
        setattr(of, way + "_size", print)
    return of

@expanded
class Expanded(Shape):
    pass

class Filled(Shape):
    for way in ("text",):
        locals()[way + "_size"] = print

class Open(Shape):
    def __getattr__(self, name):
        return print

class Wide(Shape):
    def width(self):
        pass

def figure(number=1) -> Figure:
    return Figure()

def shape() -> "Shape":
    return Wide()

def helper(figure):
    figure.later = print
""",
    "drawing/__init__.pyi": "from .parts import circle as circle, square\n",
    "drawing/parts.py": "def circle(radius):\n    pass\n\ndef square(side):\n    pass\n",
    "drawing/meta.py": """
class register:
    @staticmethod
    def attach_stub(name, path):
        def look_up(wanted):
            import importlib
            if wanted in ("circle", "square"):
                return getattr(importlib.import_module("drawing.parts"), wanted)
            raise AttributeError(wanted)
        return look_up, list, []
""",
}
INSTALLED |= {
    "tables/__init__.py": """
from collections.abc import Iterator

class Table:
    def __init__(self):
        self.rows = []

    def drop(self, name=None, *, axis=0):
        return self

    def clean(self) -> "Table | None":
        return Table()

    def same(self) -> "Self":
        return self

class Pieces(Iterator):
    def __next__(self):
        return Table()

    def close(self):
        pass

def read(path) -> "Table | Pieces":
    return Table() if path else Pieces()

def load(stream, Loader, *, depth=1):
    pass

def adds(function):
    def inner(*args, **kwargs):
        return function(*args, "more", **kwargs)
    return inner

@adds
def filled(stream, Loader):
    pass

class Wide(Table):
    def drop(self, name=None, axis=0):
        return self

def wide() -> Table:
    return Wide()

class Outer:
    def make(self):
        class Inner(Table):
            columns = 1
        return Inner()

def inner() -> Table:
    return Outer().make()

class Loose:
    def __init__(self, **more):
        for name, value in more.items():
            setattr(self, name, value)
""",
    "cv2/__init__.py": "import sys, types\nmarks = types.ModuleType('cv2.marks')\nmarks.Board = marks.Board_make = marks.LEFT = print\n",
    "cv2/marks/__init__.pyi": "LEFT: int\nclass Board:\n    def make(self): ...\n",
}
INSTALLED["generated_before/__init__.py"] = INSTALLED["generated/__init__.py"].replace('"2.10"', '"2.0"')
PUT_BACK = "import collections, collections.abc\nsetattr(collections, 'Mapping', collections.abc.Mapping)\n"
ABSENT = ("absent", "silence_runtime", "")
NO_SOUND = ("absent", "soundfile", "")
CASES: dict[str, tuple[str, tuple[str, str, str] | None]] = {
    "a module that a called function imports": ("import speech\nspeech.filter_silence()\n", ABSENT),
    "by its own name": ("from speech import filter_silence as f\nf()\n", ABSENT),
    "in a function of the program": ("import speech\ndef main(path):\n    speech.filter_silence()\nmain('a')\n", ABSENT),
    "in a function that nobody calls": ("import speech\ndef main():\n    speech.filter_silence()\n", None),
    "in a with statement": ("import io, speech\nwith io.StringIO() as f:\n    speech.filter_silence()\n", ABSENT),
    "in one that stops errors": ("import contextlib, speech\nwith contextlib.suppress(RuntimeError):\n    speech.filter_silence()\n", None),
    "in a try": ("import speech\ntry:\n    speech.filter_silence()\nexcept Exception:\n    pass\n", None),
    "an argument decides": ("import speech\nspeech.transcribe('a', vad=True)\n", ABSENT),
    "its default decides": ("import speech\nspeech.transcribe('a')\n", None),
    "a keyword's default decides": ("import speech\nspeech.keyword()\n", None),
    "a keyword decides": ("import speech\nspeech.keyword(device='cuda')\n", ABSENT),
    "a function that its package gave up": ("import speech\nspeech.given_up()\n", ("refused", "speech", "NotImplementedError")),
    "one that works with what it is given": ("import speech\nspeech.given_up(2)\n", None),
    "one that the program tries": ("import speech\ntry:\n    speech.given_up()\nexcept NotImplementedError:\n    pass\n", None),
    "a class that its module names again as a program": ("import speech.vectors\nspeech.vectors.Words(size=3)\n", ("no parameter", "speech", "size")),
    "a keyword that is left": ("from speech.steps import Adam\nAdam(lr=0.1)\n", ("no parameter", "speech", "lr")),
    "one that is taken out": ("from speech.steps import Adam\nAdam(decay=0.1, name='a')\n", None),
    "one that the program catches": ("from speech.steps import Adam\ntry:\n    Adam(lr=0.1)\nexcept ValueError:\n    Adam(0.1)\n", None),
    "a module that was tried": ("import speech\nspeech.rotate(20)\n", ("absent", "not_there", "")),
    "a distribution that is asked for its release": ("import speech\nspeech.four_bits()\n", ("absent", "no_such_quantizer", "")),
    "a module that is not needed": ("import speech\nspeech.may_do_without()\n", None),
    "behind an unknown decorator": ("import speech\nspeech.replaced()\n", None),
    "behind one that keeps results": ("import speech\nspeech.kept()\n", ABSENT),
    "a generator that nobody asks": ("import speech\nspeech.parts()\n", None),
    "a method of an object": ("import speech\nmodel = speech.Reader()\nmodel.listen()\n", ABSENT),
    "a method of a new object": ("from speech import Recognizer\nRecognizer().listen()\n", ABSENT),
    "a method of a class": ("from speech import Recognizer\nRecognizer.load('a')\n", ABSENT),
    "a class with a metaclass": ("import speech\nspeech.Made()\n", None),
    "a keyword that is no longer taken": ("import client\nclient.Client()\n", ("no parameter", "transport", "proxies")),
    "by the program itself": ("import transport\ntransport.Client(proxies=None)\n", ("no parameter", "transport", "proxies")),
    "a client that is given": ("import client\nclient.Client(client=object())\n", None),
    "a keyword that is taken out before": ("import client\nclient.Taking(proxies=None)\n", None),
    "a function that takes any": ("import transport\ntransport.anything(proxies=None)\n", None),
    "a field that a data class lost": ("import training\ntraining.Arguments(evaluation_strategy='no')\n", ("no parameter", "training", "evaluation_strategy")),
    "fields of a data class and its base": ("import training\ntraining.Arguments(eval_strategy='no', output='a')\n", None),
    "a class that stands in for another": ("import hub\nhub.Listener.from_pretrained('a')\n", NO_SOUND),
    "by its constructor": ("from hub import Listener\nlistener = Listener()\n", NO_SOUND),
    "one whose backend has an unknown name": ("import hub\nhub.Unknown._backends\n", None),
    "one that nobody calls": ("from hub import Listener\nlistener = Listener\n", None),
    "a backend that a constructor asks for": ("import hub\nhub.Speaker()\n", NO_SOUND),
    "what a function may change": ("import speech\nspeech.choose(1)\nspeech.needs_choice()\n", None),
    "a distribution whose module has another name": ("import speech\nspeech.other_name()\n", None),
    "a method that an object replaces": ("import speech\nspeech.Handled().go()\n", None),
    "a class that makes objects of another": ("import speech\nspeech.Singleton().listen()\n", None),
    "another project's data class": ("import loose\nloose.Settings(colour=1)\n", None),
    "another function of that name": ("import speech\nspeech.filter_silence = print\nspeech.filter_silence()\n", None),
    "a package that a name says is not there": ("from loggers import Board\nBoard()\n", ("absent", "no_board", "")),
    "two of which neither is there": ("import loggers\nloggers.Text()\n", ("absent", "no_text", "")),
    "a class behind such a name": ("from loggers.all import Board\nBoard()\n", ("absent", "no_board", "")),
    "one in the place of another": ("from loggers.all import Text\nText()\n", None),
    "an annotation of the class that is made": ("import holder\nholder.Holder()\n", ("no parameter", "transport", "proxies")),
    "one that is there": ("from loggers import Json\nJson()\n", None),
    "one that is recorded": ("from loggers import Recorded\nRecorded()\n", None),
    "one that is not there, and nothing is asked of": ("from loggers import Quiet\nQuiet()\n", None),
    "one that the program does without": ("from loggers import Board\ntry:\n    Board()\nexcept ImportError:\n    pass\n", None),
    "a release that a handler notes": ("import noted\n", ("refused", "transport", "")),
    "a release that generated code compares": ("import generated\n", ("refused", "transport", "")),
    "one that is new enough": ("import generated_before\n", None),
    "a name that Python gave up": ("import older\n", ("no name", "collections", "Mapping")),
    "one that is put back": (f"{PUT_BACK}import older\n", None),
    "one that the program itself takes": ("import speech, collections\ncollections.Mapping\n", ("no name", "collections", "Mapping")),
    "one that is tried": ("import speech\ntry:\n    from collections import Mapping\nexcept ImportError:\n    from collections.abc import Mapping\n", None),
    "a name that a release gave up": ("from pydantic import BaseSettings\n", ("no name", "pydantic", "BaseSettings")),
    "one that it computes": ("from pydantic import BaseModel\n", None),
    "a decorator hands the keyword on": ("import wrapped\nwrapped.fast(layers=2)\n", ("no parameter", "wrapped", "layers")),
    "one that is made by a call": ("import wrapped\nwrapped.sized(layers=2)\n", ("no parameter", "wrapped", "layers")),
    "one that takes the keyword": ("import wrapped\nwrapped.fast(depth=2)\nwrapped.sized(depth=2)\n", None),
    "one that puts another in its place": ("import wrapped\nwrapped.deep(layers=2)\n", None),
    "one that leaves some out": ("import wrapped\nwrapped.plain(layers=2)\n", None),
    "a base that two bases have": ("import wrapped\nwrapped.Both(layers=2)\n", ("no parameter", "wrapped", "layers")),
    "the first of two bases": ("import wrapped\nwrapped.Both().walk()\n", ABSENT),
    "not the second": ("import wrapped\nwrapped.Later().walk()\n", None),
    "a method that is gone": ("import drawing\nf = drawing.Figure()\nf.text_size()\n", ("no name", "drawing.Figure", "text_size")),
    "of what a function says that it returns": ("import drawing\nf = drawing.figure()\nf.text_size()\n", ("no name", "drawing.Figure", "text_size")),
    "of what is made just there": ("import drawing\ndrawing.figure().text_size()\n", ("no name", "drawing.Figure", "text_size")),
    "of what a with statement enters": ("import drawing\nwith drawing.Figure() as f:\n    f.text_size()\n", ("no name", "drawing.Figure", "text_size")),
    "a method of a base": ("import drawing\ndrawing.figure().outline()\n", None),
    "one that each class below gets": ("import drawing\ndrawing.figure().set_fit_request()\n", None),
    "one that a class below has": ("import drawing\ndrawing.shape().width()\n", None),
    "one that another function sets": ("import drawing\nf = drawing.Figure()\ndrawing.helper(f)\nf.later()\n", None),
    "one that a method sets": ("import drawing\nf = drawing.Figure()\nf.axes()\nf.given()\n", None),
    "one that the program sets": ("import drawing\ndrawing.Figure.text_size = print\ndrawing.Figure().text_size()\n", None),
    "one that a decorator gives the class": ("import drawing\ndrawing.Expanded().text_size()\n", None),
    "one whose name the class's body computes": ("import drawing\nf = drawing.Filled()\nf.text_size()\n", None),
    "one that is computed": ("import drawing\ndrawing.Open().text_size()\n", None),
    "a keyword of a method that another name stands for": ("import drawing\ndrawing.figure().axes(projection='3d')\n", ("no parameter", "drawing", "projection")),
    "a decorator that gives back what it gets": ("import drawing\ndrawing.read('a', comma=1)\n", ("no parameter", "drawing", "comma")),
    "arguments by place": ("import drawing\ndrawing.mel(1, 2)\n", ("no parameter", "drawing", "*2")),
    "one that has a place": ("import drawing\ndrawing.read('a', ';')\n", None),
    "arguments whose number is open": ("import drawing\ndrawing.read(*('a', ';'))\n", None),
    "more than a method takes": ("import drawing\ndrawing.Figure().axes(1)\n", ("no parameter", "drawing", "*1")),
    "a decorator that names what has a place": ("import drawing\ndrawing.mono('a', 2)\n", None),
    "a decorator that is called with what it does not take": ("import drawing\n@drawing.documented(group=1)\ndef f():\n    pass\n", ("no parameter", "drawing", "group")),
    "a name that the stub beside a package does not tell": ("import drawing\ndrawing.output.write('a')\n", ("no name", "drawing", "output")),
    "one that it tells": ("import drawing\ndrawing.circle(1)\ndrawing.square(side=1)\ndrawing.figure\n", None),
    "a function that the stub tells of": ("import drawing\ndrawing.circle(1, 2)\n", ("no parameter", "drawing", "*2")),
    "an argument that must be given": ("import tables\ntables.load('a')\n", ("no parameter", "tables", "+Loader")),
    "one that is given by its name": ("import tables\ntables.load('a', Loader=1)\ntables.load(*('a', 1))\ntables.load('a', **{'Loader': 1})\n", None),
    "one that a decorator gives": ("import tables\ntables.filled('a')\n", None),
    "in a loop": ("import drawing\nf = drawing.Figure()\nfor n in range(2):\n    f.text_size()\n", ("no name", "drawing.Figure", "text_size")),
    "of what the loop binds": ("import drawing\nf = drawing.Figure()\nfor f in [drawing.Open()]:\n    f.text_size()\n", None),
    "behind a break": ("import drawing\nf = drawing.Figure()\nwhile True:\n    break\n    f.text_size()\n", None),
    "of what the program's function returns": ("import drawing\ndef make():\n    f = drawing.Figure()\n    return f\ng = make()\ng.text_size()\n", ("no name", "drawing.Figure", "text_size")),
    "of one of two things that it returns": ("import drawing\ndef make(n):\n    if n:\n        return drawing.Open()\n    return drawing.Figure()\ng = make(len('a'))\ng.text_size()\n", None),
    "of what the program's function is given": ("import drawing\ndef write(f):\n    f.text_size()\nwrite(drawing.Figure())\n", ("no name", "drawing.Figure", "text_size")),
    "of what a function of the program binds": ("import drawing\nf = drawing.Figure()\ndef other():\n    global f\n    f = drawing.Open()\nother()\nf.text_size()\n", None),
    "by another name": ("import drawing\nf = drawing.Figure()\ng = f\ng.text_size()\n", ("no name", "drawing.Figure", "text_size")),
    "an attribute that is gone": ("import drawing\nf = drawing.Figure()\nprint(f.text_size)\n", ("no name", "drawing.Figure", "text_size")),
    "one that the program gives": ("import drawing\nf = drawing.Figure()\nf.text_size = 1\nprint(f.text_size)\n", None),
    "one that its maker gives": ("import tables\nt = tables.Table()\nprint(t.rows)\nprint(tables.Loose(columns=1).columns)\nl = tables.Loose(columns=1)\nprint(l.columns)\n", None),
    "one that a class in a function has": ("import tables\nt = tables.inner()\nprint(t.columns)\n", None),
    "a method of one of several classes": ("import tables\nt = tables.read('a')\nt.clean(1)\n", ("no parameter", "tables", "*1")),
    "of what a method returns": ("import tables\nt = tables.read('a').clean()\nt.same().drop('a', 1)\n", ("no parameter", "tables", "*2")),
    "of another one of them": ("import tables\nt = tables.read('')\nt.close()\n", None),
    "a method that a class below defines anew": ("import tables\nt = tables.wide()\nt.drop('a', 1)\n", None),
    "a name that a stub of OpenCV does not tell": ("import cv2\ncv2.marks.Dictionary_get()\n", ("no name", "cv2.marks", "Dictionary_get")),
    "those that it tells": ("import cv2\ncv2.marks.Board_make()\ncv2.marks.Board()\ncv2.marks.LEFT\n", None),
    "either of two": ("import speech\nx = 1 if speech else speech.filter_silence()\nspeech and 1 or speech.filter_silence()\n", None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_call_ends_where_it_is_told_to(tmp_path: Path, case: str):
    program, expected = CASES[case]
    lay_out(tmp_path, {"main.py": program}, {**INSTALLED, "client-1.0.dist-info/METADATA": "Name: client\n"})
    site = tmp_path / "site"
    installed = {"transport": "2.0", "pydantic": "2.10.6"}
    found = ends_in(tmp_path, *(Distribution(name=n, version=v, location=str(site)) for n, v in installed.items()))
    assert [(e.kind, e.wanted, e.name) for e in found] == ([expected] if expected else [])
    assert python_fails(tmp_path) == bool(expected)
    for end in found:
        asked_by = "client 1.0" if "/client/" in end.importer else ""
        assert end.asked_by == asked_by
        assert end.kind != "no parameter" or end.wanted != "transport" or end.owner == "transport 2.0"
        line = int(end.called_at.rpartition(":")[2]) if end.kind == "absent" else end.line
        assert end.kind != "absent" or "(" in program.splitlines()[line - 1]


def test_functions_that_call_each_other_twice_are_followed_some_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each level would double the calls."""
    chain = "".join(f"def f{n}():\n    f{n + 1}()\n    f{n + 1}()\n" for n in range(12))
    code = f"{chain}def f12():\n    import json\nf0()\nimport none_of_it\n"
    lay_out(tmp_path, {"main.py": "import speech\n"}, {"speech/__init__.py": code})
    inner, calls = Frame.inner, []
    monkeypatch.setattr(Frame, "inner", lambda frame, own: (calls.append(own), inner(frame, own))[1])
    (end,) = ends_in(tmp_path, Distribution(name="speech", version="1"))
    assert end.wanted == "none_of_it"
    assert 12 < len(calls) <= 2 * MOST_CALLS
