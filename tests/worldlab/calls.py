"""What the reader of calls says of short programs, beside what they really do: ``python -m tests.worldlab.calls``; exit status 1 where
it tells of a program that works.

Each program is read and run in an environment of the lab. One that fails and is not told may fail for a reason that no call shows.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from core.model.facts import Distribution, SearchEntry
from core.probes.python.programs.followed_programs import ends_of_programs
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot
from installer.by_hand import by_hand
from tests.worldlab.environments import master, site

ARGUMENTS = "from transformers import TrainingArguments; TrainingArguments('out', report_to='none', use_cpu=True{})"
PROGRAMS: dict[str, tuple[str, ...]] = {
    "hub": (
        ARGUMENTS.format(""),
        ARGUMENTS.format(", eval_strategy='no'"),
        ARGUMENTS.format(", evaluation_strategy='no'"),
        "from transformers import BertConfig, BertModel; BertModel(BertConfig(num_hidden_layers=1))",
        "from transformers import T5Tokenizer; T5Tokenizer('x')",
        "from transformers import T5Tokenizer; T5Tokenizer",
        "from transformers import ViTImageProcessor; ViTImageProcessor()",
        "from transformers import WhisperFeatureExtractor; WhisperFeatureExtractor()",
        "from transformers import BitsAndBytesConfig; BitsAndBytesConfig(load_in_8bit=False)",
        "from transformers import GenerationConfig; GenerationConfig(max_new_tokens=3, colour=1)",
        "from datasets import Dataset; Dataset.from_dict({'a': [1]}).to_pandas()",
        "from accelerate import Accelerator; Accelerator(cpu=True)",
        "from accelerate import Accelerator; Accelerator(fp16=True)",
        "from huggingface_hub import HfApi; HfApi(token='a', endpoint='http://x')",
        "from huggingface_hub import InferenceClient; InferenceClient(model='x', timeout=1)",
        "import requests; requests.Session(timeout=3)",
        "import pandas as pd; pd.DataFrame({'a': [1]}).to_parquet('x.parquet')",
        "import pandas as pd; pd.read_csv('none.csv', squeeze=True)",
        "import jinja2; jinja2.Environment(autoescape=True)",
        "import torch; m = torch.nn.Linear(2, 2); o = torch.optim.Adam(m.parameters(), lr=1e-3); o.step()",
        "import torch; torch.optim.SGD([torch.ones(1)], lr=1, momentumm=1)",
        "import torch; torch.utils.data.DataLoader([1], batch_size=2)",
        "import torch; torch.utils.data.DataLoader([1], batchsize=2)",
        "import torch; torch.nn.Transformer(nhead=1, d_model=4, batch_first=True)",
        "import torch; torch.nn.Conv2d(3, 3, 3, pading=1)",
        "import torch; torch.save({}, 'a.pt', pickle_protocol=2)",
        "import torch; torch.save({}, 'a.pt', pickleprotocol=2)",
    ),
    "jax": (
        "import jax; jax.jit(lambda x: x, static_argnums=0)",
        "import jax; jax.jit(lambda x: x, static_arg=0)",
        "import jax; jax.random.PRNGKey(0)",
        "import scipy.special; scipy.special.gamma(1.0)",
    ),
    "torch-2.8": (
        "import torchvision; torchvision.models.resnet18(pretrained=False)",
        "import torchvision; torchvision.models.resnet18(weigths=None)",
        "import torchvision.transforms as T; T.Compose([T.Resize(3), T.ToTensor()])",
        "import torchvision.transforms as T; T.Resize(3, interpolate=1)",
        "from torchvision.datasets import CocoDetection; CocoDetection('a', 'b')",
        "import torchaudio; torchaudio.transforms.MelSpectrogram(sample_rate=16000)",
        "import bitsandbytes as bnb; bnb.nn.Linear8bitLt(4, 4, has_fp16_weights=False)",
        "import bitsandbytes as bnb; bnb.nn.Linear8bitLt(4, 4, has_fp16_weight=False)",
    ),
}


def main() -> int:
    """Read and run each program, and print what came of it."""
    tally: Counter[tuple[bool, bool]] = Counter()
    for name, programs in PROGRAMS.items():
        for text in programs:
            with tempfile.TemporaryDirectory(prefix="calls-") as folder:
                Path(folder, "main.py").write_text(text.replace("; ", "\n") + "\n")
                told, failed = read(folder, name), run(folder, name)
            tally[bool(told), bool(failed)] += 1
            word = "told" if told else "-"
            print(
                f"{'WRONG' if told and not failed else 'ok':5}  {word:4}  {'fails' if failed else 'works'}  {text}  {told or failed}"
            )
    print(
        f"{tally[True, True]} told and failing, {tally[True, False]} told and working, "
        f"{tally[False, True]} failing and not told, {tally[False, False]} working and not told"
    )
    return 1 if tally[True, False] else 0


def read(folder: str, environment: str) -> str:
    """Return what reading tells of the program; empty where it tells nothing."""
    prefix, where = master(environment), Sysroot("linux")
    packages, standard = str(site(prefix)), str(Path(re.__file__).parents[1])
    entries = (
        SearchEntry(path=folder, origin="start"),
        SearchEntry(path=standard, origin="standard library"),
        SearchEntry(path=f"{standard}/lib-dynload", origin="standard library"),
        SearchEntry(path=packages, origin="site-packages"),
    )
    names = (p.name.removesuffix(".dist-info").rsplit("-", 1) for p in Path(packages).glob("*.dist-info"))
    its = tuple(Distribution(name=n.lower().replace("_", "-"), version=v, location=packages) for n, v in names)
    python = Interpreter("/", "/", sys.version_info[:2], str(prefix / "bin/python"), None, "lib")
    found = ends_of_programs(ModuleSearch(python, PythonSearch(entries), "x86_64", where), its, where)
    return ", ".join(f"{e.kind}: {e.function or e.call or e.wanted} {e.name or e.wanted}" for e in found)


def run(folder: str, environment: str) -> str:
    """Return the last line of what the program says as it fails; empty where it works."""
    settings = {"PATH": "/usr/bin:/bin", "HOME": folder, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([master(environment) / "bin/python", "main.py"], cwd=folder, env=settings, capture_output=True, text=True, check=False)  # fmt: skip
    return (done.stderr.strip().splitlines() or ["?"])[-1] if done.returncode else ""


if __name__ == "__main__":
    by_hand(__doc__)
    sys.exit(main())
