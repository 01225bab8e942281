"""What calls in a person's programs need beside the packages that they call."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.model.facts import Distribution
from core.probes.python import locations
from core.probes.python.programs.program_calls import lacking_for_calls
from core.probes.sysroot import Sysroot
from tests.machines import python
from tests.probes.request import request, write

SITE = "/env/lib/python3.11/site-packages"
KERAS_CODE = f"{SITE}/keras/src/backend/__init__.py"
SPEAKS = "import torchaudio\nsound, rate = torchaudio.load('voice.wav')\n"
HEARS = "from transformers import pipeline\nasr = pipeline('automatic-speech-recognition')\nprint(asr('voice.mp3'))\n"
MANAGES = "import subprocess, sys, torch\nsubprocess.check_call([sys.executable, '-m', 'pip', 'freeze'])\n"
INSTALLS = "import subprocess, sys, torch\ndef install(name):\n    subprocess.check_call([sys.executable, '-m', 'pip', 'install', name])\n"
BUILDS = "from torch.utils.cpp_extension import load\nops = load(name='ops', sources=['ops.cpp'])\n"
EXPORTS = "torch.onnx.export(model, (images,), 'net.onnx')\n"
COMPILES = "step = torch.compile(torch.sin)\nstep(torch.ones(2))\n"
REPEATS = "import torch\nfrom torch import nn\ntorch.use_deterministic_algorithms(True)\n"
OPENCV = ("opencv-python", "4.11.0.86")
TORCH, PIP, NINJA = ("torch", "2.8.0"), ("pip", "25.2"), ("ninja", "1.13.0")
SERVERS, SCIKERAS = ("opencv-python-headless", "4.11.0.86"), ("scikeras", "0.13.0")
SEARCHES = "m = KerasClassifier(make, epochs=1)\nprint(cross_val_score(m, x, y))\n"
UPLOADS = "app = FastAPI()\n\n@app.post('/detect')\nasync def detect(image: UploadFile = File(...)):\n    return 1\n"
SHOWS = "import cv2\nfrom PyQt5.QtWidgets import QApplication\napp = QApplication([])\n"
QT_OF_OPENCV = f"{SITE}/cv2/config-3.py"
FASTAPI = ("fastapi", "0.115.12")
AUDIO, TEXT = ("torchaudio", "2.8.0"), ("transformers", "4.51.3")


@pytest.mark.parametrize(
    ("program", "installed", "files", "lacks"),
    [
        (SPEAKS, [AUDIO], [], ["soundfile"]),
        (SPEAKS, [AUDIO, ("soundfile", "0.13.1")], [], []),
        (SPEAKS, [AUDIO], ["/usr/lib/x86_64-linux-gnu/libsox.so.3"], []),
        (SPEAKS, [("torchaudio", "2.9.0")], [], ["torchcodec"]),
        (SPEAKS, [], [], []),
        ("import torchaudio\ntry:\n    torchaudio.load('a')\nexcept RuntimeError:\n    pass\n", [AUDIO], [], []),
        ("import torchaudio\n# torchaudio.load('a')\n", [AUDIO], [], []),
        ('"""Instead of torchaudio.load("a")."""\nimport torchaudio\n', [AUDIO], [], []),
        ("import torchaudio\nif __name__ == '__main__':\n    torchaudio.load('a')\n", [AUDIO], [], ["soundfile"]),
        ("import torchaudio\nif '__main__' == __name__:\n    torchaudio.load('a')\n", [AUDIO], [], ["soundfile"]),
        (HEARS, [TEXT], [], ["ffmpeg"]),
        (HEARS, [TEXT], ["/usr/bin/ffmpeg"], []),
        (f"import soundfile\n{HEARS}", [TEXT], [], []),
        ("model = AutoModel.from_pretrained('m', device_map='auto')\n", [TEXT], [], ["accelerate"]),
        ("model = AutoModel.from_pretrained('m', device_map=None)\n", [TEXT], [], []),
        ("import keras\n", [("keras", "3.8.0")], [KERAS_CODE], ["tensorflow"]),
        ("import keras\n", [("keras", "3.8.0")], [f"{SITE}/keras/__init__.py"], []),
        ("from keras import layers\n", [("keras", "3.8.0"), ("tensorflow-cpu", "2.20.0")], [KERAS_CODE], []),
        ("import keras\n", [("keras", "2.15.0")], [], []),
        ("import os\nos.environ['KERAS_BACKEND'] = 'torch'\nimport keras\n", [("keras", "3.8.0")], [KERAS_CODE], []),
        ("import keras\n", [("keras", "3.8.0")], [KERAS_CODE, "/home/ada/.keras/keras.json"], []),
        ("try:\n    import keras\nexcept ImportError:\n    keras = None\n", [("keras", "3.8.0")], [KERAS_CODE], []),
        ("TFAutoModel.from_pretrained('m')\n", [TEXT, ("keras", "3.9.0")], [], ["tf-keras"]),
        ("TFAutoModel.from_pretrained('m')\n", [TEXT, ("keras", "2.15.0")], [], []),
        ("TFAutoModel.from_pretrained('m')\n", [TEXT, ("keras", "3.9.0"), ("tf-keras", "2.19.0")], [], []),
        ("nlp = spacy.load('en_core_web_sm')\n", [("spacy", "3.8.7")], [], ["en_core_web_sm"]),
        ("nlp = spacy.load('en_core_web_sm')\n", [("spacy", "3.8.7"), ("en-core-web-sm", "3.8.0")], [], []),
        ("nlp = spacy.load('./models/mine')\n", [("spacy", "3.8.7")], [], []),
        ("env = gym.make('CartPole-v1', render_mode='human')\n", [("gymnasium", "1.1.1")], [], ["pygame"]),
        ("env = gym.make('CartPole-v1')\n", [("gymnasium", "1.1.1")], [], []),
        ("from tqdm.notebook import tqdm\n", [("tqdm", "4.67.1")], [], ["ipywidgets"]),
        ("import cv2 as cv\ncv.destroyAllWindows()\n", [SERVERS], [], ["opencv-python"]),
        ("import cv2\nwhile cv2.waitKey(1) != 27:\n    pass\n", [SERVERS], [], ["opencv-python"]),
        ("import cv2\ncv2.moveWindow('a', 0, 0)\n", [SERVERS], [], []),
        ("import cv2\ncv2.destroyAllWindows()\n", [("opencv-python", "4.11.0.86")], [], []),
        ("rows = load_dataset('rows.py')\n", [("datasets", "4.0.0")], [], ["datasets<4"]),
        ("rows = load_dataset('rows.py')\n", [("datasets", "3.6.0")], [], []),
        ("rows = load_dataset('json', data_files='rows.jsonl')\n", [("datasets", "4.0.0")], [], []),
        (SEARCHES, [SCIKERAS, ("scikit-learn", "1.6.1")], [], ["scikit-learn<1.6"]),
        (SEARCHES, [SCIKERAS, ("scikit-learn", "1.5.2")], [], []),
        (SEARCHES, [SCIKERAS, ("scikit-learn", "1.7.2")], [], []),
        (
            "GridSearchCV(KerasRegressor(make), {}).fit(x, y)\n",
            [SCIKERAS, ("scikit-learn", "1.6.1")],
            [],
            ["scikit-learn<1.6"],
        ),
        (
            "m = KerasClassifier(make)\nm.fit(x, y)\ncross_val_score(forest, x, y)\n",
            [SCIKERAS, ("scikit-learn", "1.6.1")],
            [],
            [],
        ),
        (
            "ds.cast_column('audio', Audio(sampling_rate=16000))\n",
            [("datasets", "3.6.0"), ("soundfile", "0.13.1")],
            [],
            ["librosa"],
        ),
        ("ds.cast_column('audio', Audio())\n", [("datasets", "4.0.0")], [], ["torchcodec"]),
        ("ds.cast_column('image', Image(decode=False))\n", [("datasets", "3.6.0")], [], []),
        ("ds.cast_column('image', Image())\n", [("datasets", "3.6.0")], [], ["pillow"]),
        ("ds.cast_column('image', Image())\n", [("datasets", "3.6.0"), ("pillow", "11.3.0")], [], []),
        ("ds.cast_column('audio', Audio(decode=False))\n", [("datasets", "4.0.0")], [], []),
        ("from tqdm.auto import tqdm\n", [("tqdm", "4.67.1")], [], []),
        (
            "import tensorflow_probability as tfp\ntfp.distributions.Normal(0.0, 1.0)\n",
            [("tensorflow-probability", "0.25.0")],
            [],
            ["tf-keras"],
        ),
        (
            "from tensorflow_probability.substrates import jax as tfp\ntfp.distributions.Normal\n",
            [("tensorflow-probability", "0.25.0")],
            [],
            [],
        ),
        ("env = gym.make('Ant-v5', render_mode='human')\n", [("gymnasium", "1.1.1")], [], []),
        ("depth = cv2.imread('depth.exr')\n", [OPENCV], [], ["OPENCV_IO_ENABLE_OPENEXR"]),
        ("depth = cv2.imread('depth.png')\n", [OPENCV], [], []),
        ("import os\nos.environ['OPENCV_IO_ENABLE_OPENEXR'] = '1'\ncv2.imread('depth.exr')\n", [OPENCV], [], []),
        (f"{REPEATS}net = nn.Linear(2, 2).cuda()\n", [TORCH], [], ["CUBLAS_WORKSPACE_CONFIG"]),
        (f"{REPEATS}net = nn.Linear(2, 2)\n", [TORCH], [], []),
        (MANAGES, [TORCH], [f"{SITE}/torch/__init__.py"], ["pip"]),
        (MANAGES, [TORCH, PIP], [f"{SITE}/torch/__init__.py"], []),
        (MANAGES, [TORCH], [], []),
        (f"import ensurepip\n{MANAGES}", [TORCH], [f"{SITE}/torch/__init__.py"], []),
        (MANAGES.replace("check_call", "call"), [TORCH], [f"{SITE}/torch/__init__.py"], []),
        (INSTALLS, [TORCH], [f"{SITE}/torch/__init__.py"], []),
        (BUILDS, [TORCH], ["/usr/bin/c++"], ["ninja"]),
        (BUILDS, [TORCH, NINJA], [], ["g++"]),
        (COMPILES, [TORCH], [], ["g++"]),
        (COMPILES, [TORCH], ["/usr/bin/g++"], []),
        (COMPILES, [("torch", "1.13.1")], [], []),
        (
            COMPILES.replace("compile(", "compile(backend='eager', fullgraph=").replace("torch.ones(2)", "True"),
            [TORCH],
            [],
            [],
        ),
        (f"import os\nos.environ['CXX'] = 'clang++'\n{COMPILES}", [TORCH], [], []),
        (f"device = 'cuda'\n{COMPILES}", [TORCH], [], []),
        ("model = Net()\nmodel.compile()\nmodel(torch.ones(2))\n", [TORCH], [], ["g++"]),
        ("model = Net()\nmodel.compile(loss='mse')\n", [TORCH], [], []),
        ("torch._inductor.aoti_compile_and_package(exported)\n", [TORCH], [], ["g++"]),
        (BUILDS, [TORCH, NINJA], ["/usr/bin/c++"], []),
        (BUILDS, [TORCH], ["/usr/bin/ninja", "/usr/bin/c++"], []),
        (BUILDS, [TORCH], ["/env/bin/ninja", "/usr/bin/c++"], []),
        ("from numpy import load\nload('a.npy')\n", [TORCH], [], []),
        ("import spacy\nspacy.load(name='en')\n", [TORCH], [], []),
        ("def load(name='x'):\n    pass\nload(name='y')\n", [TORCH], [], []),
        (EXPORTS, [TORCH], [], ["onnx"]),
        (EXPORTS, [TORCH, ("onnx", "1.17.0")], [], []),
        (EXPORTS, [("torch", "1.12.1")], [], []),
        (EXPORTS, [("torch", "2.10.0")], [], ["onnxscript"]),
        (EXPORTS.replace("'net.onnx'", "'net.onnx', dynamo=True"), [TORCH], [], ["onnxscript"]),
        (f"import sys, torch\nif '--export' in sys.argv:\n    {EXPORTS}", [TORCH], [], []),
        (f"def export(model):\n    {EXPORTS}", [TORCH], [], []),
        (f"def export(model):\n    {EXPORTS}\nexport(model)\n", [TORCH], [], ["onnx"]),
        (f"def export(model):\n    {EXPORTS}\nif args.export:\n    add('--export')\n", [TORCH], [], []),
        (f"class Net:\n    def export(self):\n        {EXPORTS}\nbutton.connect(net.export)\n", [TORCH], [], ["onnx"]),
        (f"class Net:\n    def export(self):\n        {EXPORTS}\nNet().export()\n", [TORCH], [], ["onnx"]),
        (f"@app.command()\ndef export(model):\n    {EXPORTS}", [TORCH], [], ["onnx"]),
        ("model.transcribe('a.wav', vad_filter=True)\n", [("faster-whisper", "1.1.1")], [], ["onnxruntime"]),
        (
            "model.transcribe('a.wav', vad_filter=True)\n",
            [("faster-whisper", "1.1.1"), ("onnxruntime-gpu", "1.23.2")],
            [],
            [],
        ),
        ("model.transcribe('a.wav', vad_filter=False)\n", [("faster-whisper", "1.1.1")], [], []),
        ("import torchvision\ntorchvision.io.read_video('a.mp4')\n", [("torchvision", "0.21.0")], [], ["av"]),
        ("\nfrom torchvision.io import read_image, read_video\n", [("torchvision", "0.21.0")], [], ["av"]),
        ("import torchvision\ntorchvision.io.read_image('a.png')\n", [("torchvision", "0.21.0")], [], []),
        ("table.to_excel('a.xlsx')\n", [("pandas", "2.2.3")], [], ["openpyxl"]),
        ("table.to_excel('a.xlsx')\n", [("pandas", "2.2.3"), ("xlsxwriter", "3.2.0")], [], []),
        ("pd.DataFrame({'a': [1]}).plot()\n", [("pandas", "2.2.3")], [], ["matplotlib"]),
        ("results[0].plot()\n", [("pandas", "2.2.3")], [], []),
        ("ImageDataGenerator(rotation_range=20, rescale=1)\n", [("keras", "3.9.0")], [], ["scipy"]),
        ("ImageDataGenerator(rescale=1 / 255)\n", [("keras", "3.9.0")], [], []),
        (SHOWS, [OPENCV], [QT_OF_OPENCV], ["opencv-python-headless"]),
        (SHOWS, [SERVERS], [QT_OF_OPENCV], []),
        (SHOWS, [OPENCV], [], []),
        (SHOWS.replace("PyQt5", "PyQt6"), [OPENCV], [QT_OF_OPENCV], []),
        (SHOWS.replace("import cv2", "import cv2, os\nos.environ.pop('QT_QPA_PLATFORM_PLUGIN_PATH')"), [OPENCV], [QT_OF_OPENCV], []),
        (SHOWS.replace("QApplication(", "QLabel("), [OPENCV], [QT_OF_OPENCV], []),
        (UPLOADS, [FASTAPI], [], ["python-multipart"]),
        (UPLOADS, [FASTAPI, ("multipart", "1.2.1")], [], ["python-multipart"]),
        (UPLOADS, [FASTAPI, ("python-multipart", "0.0.20")], [], []),
        (UPLOADS.replace(" = File(...)", ""), [FASTAPI], [], ["python-multipart"]),
        (UPLOADS.replace("image: UploadFile = File(...)", "name: Annotated[str, Form()]"), [FASTAPI], [], ["python-multipart"]),
        (UPLOADS.replace("image: UploadFile = File(...)", "request: Request"), [FASTAPI], [], []),
        (UPLOADS.replace("@app.post('/detect')\n", ""), [FASTAPI], [], []),
    ],
)  # fmt: skip
def test_what_a_call_needs(
    program: str,
    installed: list[tuple[str, str]],
    files: list[str],
    lacks: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locations, "working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    for name, version in installed:
        info = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
        write(tmp_path, f"{info}/METADATA", f"Name: {name}\nVersion: {version}\n")
        write(tmp_path, f"{info}/RECORD", "")
    for file in files:
        write(
            tmp_path,
            file,
            "os.environ['QT_QPA_PLATFORM_PLUGIN_PATH'] = ''\n" if file == QT_OF_OPENCV else "#!/bin/sh\n",
        ).chmod(0o755)
    its = python(
        prefix="/env",
        site_packages=(SITE,),
        distributions=tuple(Distribution(name=n, version=v, location=SITE) for n, v in installed),
    )
    asked = request(tmp_path, {"HOME": "/home/ada", "PATH": "/usr/bin"}, pythons=(its,))
    found = [*lacking_for_calls(its, asked, Sysroot(system="linux", root=str(tmp_path)))]
    assert [one.name for one in found] == lacks
    assert all(one.called.startswith("/home/ada/work/main.py:") for one in found)


@pytest.mark.parametrize(
    ("program", "installed", "files", "lacks"),
    [
        ("import whisper\nwhisper.load_model('small').transcribe('a.mp3')\n", "openai-whisper", [], ["ffmpeg"]),
        (
            "import whisper\nwhisper.load_model('small').transcribe('a.mp3')\n",
            "openai-whisper",
            ["C:/tools/ffmpeg.exe"],
            [],
        ),
        (
            "import whisper\nwhisper.load_model('small').transcribe('a.mp3')\n",
            "openai-whisper",
            ["C:/work/ffmpeg.exe"],
            [],
        ),
        (
            "import whisper\nwhisper.load_model('small').transcribe('a.mp3')\n",
            "openai-whisper",
            ["C:/env/Library/bin/ffmpeg.exe"],
            [],
        ),
        (
            "import os, whisper\nos.environ['PATH'] += ';D:\\\\ffmpeg'\nm.transcribe('a.mp3')\n",
            "openai-whisper",
            [],
            [],
        ),
        ("import whisper\nwhisper.load_model('small').transcribe(samples)\n", "openai-whisper", [], []),
        ("model.transcribe('a.mp3')\n", "faster-whisper", [], []),
        ("table.to_excel('a.xlsx')\n", "pandas", [], ["openpyxl"]),
        ("torchaudio.load('a.wav')\n", "torchaudio", [], ["soundfile"]),
        ("os.add_dll_directory(r'C:\\f')\ntorchaudio.load('a.wav')\n", "torchaudio", [], []),
        ("torchaudio.load('a.wav')\n", "torchaudio", ["C:/env/Library/bin/avdevice-60.dll"], []),
        ("pytesseract.image_to_string(page)\n", "pytesseract", [], ["tesseract"]),
        (
            "pytesseract.pytesseract.tesseract_cmd = r'C:\\t.exe'\npytesseract.image_to_string(page)\n",
            "pytesseract",
            [],
            [],
        ),
        ("from graphviz import Digraph\ng = Digraph()\ng.render('a')\n", "graphviz", [], ["dot"]),
        ("from graphviz import Digraph\ng = Digraph()\nprint(g.source)\nx.view(3)\n", "graphviz", [], []),
        ("convert_from_path('a.pdf')\n", "pdf2image", [], ["pdfinfo"]),
        ("convert_from_path('a.pdf', poppler_path=r'C:\\p')\n", "pdf2image", [], []),
        ("AudioSegment.from_mp3('a.mp3')\n", "pydub", [], ["ffmpeg"]),
        ("AudioSegment.from_file('a.wav')\n", "pydub", [], []),
        ("sound.export('a.mp3', format='mp3')\n", "pydub", [], ["ffmpeg"]),
        ("sound.export('a.wav', format='wav')\nmodel.export(format='onnx')\n", "pydub", [], []),
        ("ffmpeg.input('a.mp4').output('b.wav').run()\n", "ffmpeg-python", [], ["ffmpeg"]),
        ("import torch\ndist.init_process_group('nccl')\n", "torch", [], ["nccl"]),
        ("import torch\ndist.init_process_group(backend='gloo')\n", "torch", [], []),
        ("import torch\nif os.name == 'posix':\n    dist.init_process_group('nccl')\n", "torch", [], []),
        ("import git\n", "GitPython", [], ["git"]),
        ("import git\n", "GitPython", ["C:/tools/git.exe"], []),
        ("model = torch.compile(model)\n", "torch", [], ["cl"]),
        ("import torch\nops = load_inline(name='a', cpp_sources=CODE)\n", "torch", ["C:/tools/ninja.exe"], ["cl"]),
        (
            "import torch\nops = load_inline(name='a', cpp_sources=CODE)\n",
            "torch",
            ["C:/tools/ninja.exe", "C:/tools/cl.exe"],
            [],
        ),
        ("model = torch.compile(model, backend='eager')\n", "torch", [], []),
        ("if args.fast:\n    model = torch.compile(model)\n", "torch", [], []),
    ],
)
def test_what_a_call_needs_on_windows(
    program: str, installed: str, files: list[str], lacks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CreateProcess finds a program in the working folder, too."""
    site = "C:/env/Lib/site-packages"
    monkeypatch.setattr(locations, "working_folder", lambda _where: r"C:\work")
    write(tmp_path, "C:/work/main.py", program)
    info = f"{site}/{installed.replace('-', '_')}-2.2.3.dist-info"
    write(tmp_path, f"{info}/METADATA", f"Name: {installed}\nVersion: 2.2.3\n")
    write(tmp_path, f"{info}/RECORD", "")
    for file in files:
        write(tmp_path, file, "MZ")
    its = python(
        prefix=r"C:\env",
        site_packages=(site.replace("/", "\\"),),
        distributions=(Distribution(name=installed, version="2.2.3"),),
    )
    asked = request(tmp_path, {"Path": r"C:\Windows;C:\tools"}, system="windows", pythons=(its,))
    found = [*lacking_for_calls(its, asked, Sysroot(system="windows", root=str(tmp_path)))]
    assert [one.name for one in found] == lacks


@pytest.mark.parametrize(
    ("file", "content", "state"),
    [
        ("C:/tools/ffmpeg.exe", "", "damaged"),
        ("C:/tools/ffmpeg.exe", "MZ", None),
        (
            "C:/Users/ada/AppData/Local/Microsoft/WindowsApps/ffmpeg.exe",
            "",
            None,
        ),  # the Store's aliases have no content
        ("C:/elsewhere/ffmpeg.exe", "", "absent"),
    ],
)
def test_a_program_without_content_is_no_program(
    file: str, content: str, state: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locations, "working_folder", lambda _where: r"C:\work")
    site = "C:/env/Lib/site-packages"
    write(tmp_path, "C:/work/main.py", "import whisper\nwhisper.load_model('small').transcribe('a.mp3')\n")
    write(tmp_path, f"{site}/openai_whisper-2.2.3.dist-info/METADATA", "Name: openai-whisper\nVersion: 2.2.3\n")
    write(tmp_path, f"{site}/openai_whisper-2.2.3.dist-info/RECORD", "")
    write(tmp_path, file, content)
    its = python(
        prefix=r"C:\env",
        site_packages=(site.replace("/", "\\"),),
        distributions=(Distribution(name="openai-whisper", version="2.2.3"),),
    )
    path = r"C:\Windows;C:\tools;C:\Users\ada\AppData\Local\Microsoft\WindowsApps"
    asked = request(tmp_path, {"Path": path}, system="windows", pythons=(its,))
    found = [*lacking_for_calls(its, asked, Sysroot(system="windows", root=str(tmp_path)))]
    assert [one.state for one in found] == ([state] if state else [])


AUTO = "IMAGEMAGICK_BINARY = os.getenv('IMAGEMAGICK_BINARY', 'auto-detect')\n"


@pytest.mark.parametrize(
    ("config", "file", "first", "told"),
    [
        (AUTO, "C:/tools/other.exe", "", True),
        (AUTO, "C:/Program Files/ImageMagick-7.1.1-Q16/magick.exe", "", False),
        (AUTO, "C:/tools/magick.exe", "", False),
        (AUTO, "C:/tools/other.exe", "moviepy.config.change_settings({'IMAGEMAGICK_BINARY': 'D:/m.exe'})\n", False),
        ("IMAGEMAGICK_BINARY = r'D:\\magick.exe'\n", "C:/tools/other.exe", "", False),
    ],
)
def test_moviepy_looks_for_imagemagick_where_its_installer_put_it(
    config: str, file: str, first: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locations, "working_folder", lambda _where: r"C:\work")
    site = "C:/env/Lib/site-packages"
    write(tmp_path, "C:/work/main.py", f"import moviepy.editor\n{first}moviepy.editor.TextClip('a')\n")
    write(tmp_path, f"{site}/moviepy-1.0.3.dist-info/METADATA", "Name: moviepy\nVersion: 1.0.3\n")
    write(tmp_path, f"{site}/moviepy-1.0.3.dist-info/RECORD", "")
    write(tmp_path, f"{site}/moviepy/config_defaults.py", config)
    write(tmp_path, file, "MZ")
    its = python(
        prefix=r"C:\env",
        site_packages=(site.replace("/", "\\"),),
        distributions=(Distribution(name="moviepy", version="1.0.3"),),
    )
    env = {"Path": r"C:\Windows;C:\tools", "ProgramFiles": r"C:\Program Files"}
    asked = request(tmp_path, env, system="windows", pythons=(its,))
    found = [*lacking_for_calls(its, asked, Sysroot(system="windows", root=str(tmp_path)))]
    assert [one.name for one in found] == ["imagemagick"] * told
