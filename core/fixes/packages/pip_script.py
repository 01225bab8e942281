"""The script that starts a Python's pip, passed with -c: as ``-m pip``, but a redirect never leads to a file of this computer.

pip opens file: addresses itself, wherever an index sends it. uv follows redirects on the network alone.
"""

REFUSED_REDIRECT = "the index leads to a file of this computer"
"""How pip's error begins then; it is recognised, and said in the person's language."""
PIP_SCRIPT = f"""
import sys
from importlib.machinery import PathFinder
from urllib.parse import urljoin, urlsplit
place = sys.argv.pop(1)
class Pip:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [place]) if name == "pip" else None
if place:
    sys.meta_path.insert(0, Pip)
from pip._internal.cli.main import main
from pip._internal.exceptions import InstallationError
from pip._vendor.requests.sessions import Session
redirect_of = Session.get_redirect_target
def on_the_network(self, response):
    address = redirect_of(self, response)
    if address and urlsplit(urljoin(response.url, address)).scheme not in ("http", "https"):
        raise InstallationError("{REFUSED_REDIRECT}")
    return address
Session.get_redirect_target = on_the_network
sys.exit(main(sys.argv[1:]))
"""
"""Its first argument is the folder that pip is taken from; empty for the Python's own."""


def pip_command(python: str, place: str = "") -> tuple[str, ...]:
    """Return the beginning of every command of pip's."""
    return (python, "-I", "-B", "-c", PIP_SCRIPT, place)
