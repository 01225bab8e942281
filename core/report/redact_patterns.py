"""Patterns for names and identifiers of persons, machines and networks in texts, and words that only look like them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from core.common.late_pattern import late_pattern

_COMMON = (
    "root user users admin administrator administrators home ubuntu debian fedora vagrant runner localhost system guest "
    "nobody none video render plugdev vglusers wheel docker nvidia-persistenced"
)
COMMON_WORDS = frozenset(_COMMON.split())
"""Names that identify nobody: never replaced."""

_TERMS = (
    "bin build conda cuda cudnn cuda12 cuda13 data default dev dist driver drivers etc file files folder gpu gpus home "
    "host include installer int lib lib32 lib64 libs library linux local log main make miniconda miniconda3 mnt name nccl "
    "nvcc nvidia opt package packages path pip plain proc process program public python python3 pytorch run scan share "
    "site source src srv state sys tensorflow test tmp toolkit torch triton user usr var venv version wheels win windows "
    "work workspace x64 x86"
)
TERM_WORDS = frozenset(_TERMS.split())
"""Words of paths and of the field. A person or machine with such a name is replaced only where a name is expected, as
in /home/NAME: elsewhere it is most likely just a word."""

_ENGLISH = (
    "ada all art can dean frank grant hope jack joy mark max may miles not rob rose see set sue the time wade will"
)
ENGLISH_WORDS = frozenset(_ENGLISH.split())
"""Names that are also everyday words or GPU terms: replaced only in a path, or where a name is expected."""

SHARED_HOMES = frozenset(("public", "default", "default user", "all users", "shared", "runneradmin"))

HOME_FIELD = late_pattern(
    r"(?:[A-Za-z]:)?[\\/](?:home|Users)[\\/]+(?P<name>[^\\/:;<>\n]{1,64})(?:[\\/].*)?\Z", re.IGNORECASE
)
"""A whole text that is a folder in somebody's home: here the full name is known, with its spaces."""


compiled = lru_cache(maxsize=256)(re.compile)
"""Most texts contain the marker of only a few forms, so a scan needs few of the patterns."""


class NamePattern(NamedTuple):
    """A form that is recognisable by itself. The group ``x`` is replaced, or else the whole match."""

    kind: str
    source: str
    signs: tuple[str, ...] = ()
    """Markers in lower case: an ASCII text that contains none of them cannot match. None: no such marker is known."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled source."""
        return compiled(self.source)


HOME_FOLDER = NamePattern(
    "user",
    r"(?i)(?P<before>[\\/](?:home|Users)[\\/]+)"
    r"(?P<name>(?<=\\)[^\\/:*?\"<>|\n;]{1,64}?(?=\\)|[^\\/:;,*?\"'<>|\s)\]]+)",
    ("home", "users"),
)
"""A home folder. Names on Windows may hold spaces where another backslash follows."""

_WORD = r"(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?|COOKIE)"
_WORD_SIGNS = (
    *("token", "secret", "passw", "passphrase", "credential", "cookie", "apikey", "api_key", "accesskey"),
    *("access_key", "privatekey", "private_key"),
)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
DISPLAY_CLASS = "4d36e968-e325-11ce-bfc1-08002be10318"
"""Windows' own identifier for display adapters: the same on every machine."""

SECRET_FORMS: tuple[NamePattern, ...] = (
    NamePattern("secret", r"(?i)\bBearer\s+(?P<x>[\w.~+/=-]{8,})", ("bearer",)),
    NamePattern("secret", rf"(?i){_WORD}\w{{0,40}}\s*=\s*(?P<x>\"[^\"\n]*\"|'[^'\n]*'|[^\s;,\"'<]+)", _WORD_SIGNS),
    NamePattern("secret", rf"(?i)--?\w{{0,40}}{_WORD}(?:=|\s+)(?P<x>[^\s;,\"'<]+)", _WORD_SIGNS),
    NamePattern(
        "secret",
        r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|pypi-|nvapi-)[\w-]{16,}",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-", "xox", "pypi-", "nvapi-"),
    ),
    NamePattern("secret", r"\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]*", ("akia", "eyj")),
    NamePattern("secret", r"(?<=://)(?P<x>[^/@\s<>\"']+)(?=@)", ("://",)),
    NamePattern("proxy", r"(?i)_PROXY\s*=\s*(?P<x>[^\s;\"'<]+)", ("_proxy",)),
    NamePattern("mail", r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b", ("@",)),
    NamePattern("identifier", rf"(?:\b|(?<=_))(?!{DISPLAY_CLASS})(?P<x>{_UUID})\b", ("-",)),
    NamePattern("identifier", r"\b(?:GPU|MIG)-(?P<x>[0-9a-f]{8})(?![-\w])", ("gpu-", "mig-")),
    NamePattern("identifier", r"\bS-1-5-21(?:-\d+){3,}\b", ("s-1-5-21",)),
    NamePattern(
        "identifier", r"(?<![\w:-])(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}(?![\w:-])", (":", "-")
    ),
    NamePattern("identifier", r"\b[0-9a-f]{32}\b"),
    NamePattern(
        "serial",
        r"(?i)(?<!<)\b(?:serial(?:[ _-]?(?:number|num|no)\b\.?)?|S/N)\s*[:=#]?\s*(?P<x>(?=[\w-]{0,40}\d)[\w-]{5,40})",
        ("serial", "s/n"),
    ),
)
"""In this order: forms that contain others come first."""

_NO_ROOT = r"(?!(?:bin|boot|dev|etc|home|lib\w*|media|mnt|nix|opt|proc|root|run|sbin|snap|srv|sys|tmp|usr|var)/)"
SHARE_PATTERNS: tuple[NamePattern, ...] = (
    NamePattern(
        "share",
        r"(?<![\\\w:)\]])\\\\(?:\?\\UNC\\)?(?P<x>(?!wsl[$.])[\w.$-]+\\[^\\/:*?\"<>|;,\s]+(?: [^\\/:*?\"<>|;\n]{1,64}(?=\\))?)",
        ("\\\\",),
    ),
    NamePattern("share", r"(?<![\\\w:)\]])\\{4}(?P<x>(?!wsl[$.])[\w.$-]+\\\\[^\\/:*?\"<>|;,\s]+)", ("\\\\\\\\",)),
    NamePattern("share", rf"(?<![/\w:.])//{_NO_ROOT}(?P<x>\w[\w.-]*/[^/:*?\"<>|;,\s]+)", ("//",)),
    NamePattern(
        "share",
        r"(?<![\w./-])(?P<x>[A-Za-z][\w-]*(?:\.[\w-]+)*\.(?!so|sh|py|dll|exe|conf|txt|log|json)[A-Za-z]{2,}:/[^/\s:]+)",
        (":/",),
    ),
)
r"""Network shares: \\server\share, the same with doubled backslashes, //server/share and server.domain:/export."""

PERSON_VARIABLES = frozenset(
    ("USER", "USERNAME", "LOGNAME", "SUDO_USER", "SLURM_JOB_USER", "PBS_O_LOGNAME", "JUPYTERHUB_USER")
)
HOST_VARIABLES = frozenset(("HOST", "HOSTNAME", "COMPUTERNAME", "LOGONSERVER"))
HOSTS_NAME = late_pattern(
    r"(?:^|_)(?:HOST|HOSTNAME|HOSTS|ADDR|ADDRESS|IP|SERVER|SERVERS|ENDPOINT|ENDPOINTS|COORDINATOR|NODENAME|NODELIST|NODES"
    r"|LAUNCH_NODE_IPADDR)\Z|\ATF_CONFIG\Z|\ASSH_(?:CLIENT|CONNECTION)\Z|\ADISPLAY\Z|_(?:TCP|UDP)_ADDR\Z|\ADASK_|\ARAY_ADDRESS\Z"
)
"""Variables whose values hold names of hosts among others: a list, an address with a port, JSON."""
HOST_IN_VALUE = late_pattern(
    r"(?P<x>(?<![\w.<-])(?:\d{1,3}(?:\.\d{1,3}){3}"  # an address
    r"|(?:[0-9a-fA-F]{1,4}:){2,7}:?[0-9a-fA-F]{0,4}"
    r"|[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){1,8}"  # a name with a domain
    r"|[A-Za-z][\w-]{0,62}(?:\[[\d,-]{1,200}\])"  # Slurm's lists: gpu[01-04]
    r"|(?!(?:tcp|udp|http|https|grpc|unix|file)://)[A-Za-z][\w-]{0,62}(?=:\d|\s*(?:,|;|\Z)))(?![\w<-]))"
)
DOMAIN_VARIABLES = frozenset(("USERDOMAIN", "USERDNSDOMAIN", "USERDOMAIN_ROAMINGPROFILE", "DNSDOMAINNAME"))
ASSIGNMENT = NamePattern(
    "",
    rf"(?i)\b(?P<variable>{'|'.join(sorted(PERSON_VARIABLES | HOST_VARIABLES | DOMAIN_VARIABLES, key=len, reverse=True))})"
    r"=(?P<x>[^\s;,\"'<]+)",
    ("=",),
)
SECRET_NAME = late_pattern(rf"(?i){_WORD}|(?:^|_)(?:AUTH|PASS|PWD|KEY|SESSION)(?:_|$)")
PROXY_NAME = late_pattern(r"(?i)_PROXY\Z|_INDEX_URL\Z|_INDEX_URLS\Z|_REGISTRY\Z")
"""Variables whose whole value is replaced. PWD alone is the current folder and is not one of them."""

STORAGE = NamePattern(
    "share",
    r"(?P<before>(?<![\w.>-])/(?:lustre|gpfs|beegfs|panfs|ceph|cephfs|scratch|afs|net|mnt|media|run/media|nfs|work|project|projects)"
    r"(?:/(?:users?|homes?|people|groups?|projects?|work|data|scratch|fs\d+|shared?))*/+)"
    r"(?P<x>[^/\\:;,*?\"'<>|\s)\]]{2,255})"
    r"(?P<section>/(?:users?|homes?|people)(?:/[a-z])?/+(?P<person>[^/\\:;,*?\"'<>|\s)\]]{1,64}))?",
    (
        *("/lustre", "/gpfs", "/beegfs", "/panfs", "/ceph", "/scratch", "/afs", "/net", "/mnt", "/media"),
        *("/nfs", "/work", "/project"),
    ),
)
"""Shared storage: the name of its first folder identifies the owner (a server, a cell, a project or a person)."""
TECHNICAL = late_pattern(r"[-_.\d]+")
"""Separators of words in a folder's name, to see whether they are terms of the field."""

FOREIGN = (
    r"(?!(?:[\w-]+\.)*(?:nvidia|pytorch|python|github|pypi|readthedocs|tensorflow|microsoft|jax)\.(?:com|org|io|dev)\b)"
)
HOSTS: tuple[NamePattern, ...] = (
    NamePattern(
        "host",
        r"(?i)(?<![\w./\\<-])(?P<x>[a-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,6}\.(?:lan|local|internal|intern|corp|localdomain|hpc|cluster))(?![\w-]|\.\w)",
        (".lan", ".local", ".intern", ".corp", ".hpc", ".cluster"),
    ),
    NamePattern(
        "host", rf"(?i)(?<=://){FOREIGN}(?P<x>[a-z\d][\w-]{{0,62}}(?:\.[\w-]{{1,63}}){{0,8}})(?=:\d{{2,5}}\b)", ("://",)
    ),
    NamePattern(
        "host",
        r"(?m)(?<![\w./<-])(?P<x>[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,6})(?=:\d{1,9}:\d{1,9} \[\d{1,4}\] NCCL )",
        ("] nccl ",),
    ),
    NamePattern("host", r"(?<=\[)(?P<x>[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,6})(?=\]:\d{2,5}\b)", ("]:",)),
    NamePattern(
        "host",
        r"(?<![\w./\\:<-])(?P<x>(?=[\w-]{0,62}[\d.-])[A-Za-z][\w-]{0,62}(?:\.(?!py\b|cpp\b|cc\b|cu\b|h\b|c\b|so\b|hpp\b|cuh\b|pyx\b|rs\b|go\b|js\b|sh\b|log\b|txt\b)[\w-]{1,63}){0,6})(?=:\d{4,5}(?![\w.:]))",
        (":",),
    ),
    NamePattern("host", r"(?<![\w.=-])(?P<x>\d{1,3}(?:\.\d{1,3}){3})(?=:\d{2,5}(?![\w.]))", (":",)),
    NamePattern("host", r"(?<![\w.=-])(?P<x>192\.168(?:\.\d{1,3}){2})(?![\w.])", ("192.168",)),
)
"""Host names by their position: in addresses with a port, in NCCL's and PyTorch's own lines."""

DOMAIN_BEFORE_USER = NamePattern(
    "domain", r"(?i)(?<![\\/:\w.>-])(?!users\\|home\\)(?P<x>[A-Za-z][\w.-]*)(?=\\<user)", ("\\<user",)
)
HOST_IN_LOG = r"(?<=\d\d:\d\d:\d\d )(?P<x>{})(?= )"
