"""What words say: below every exact message, shown as what it is, and silent about anything else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import resources
from core.explain import explain, render_text
from core.explain.engine import NEXT_LOOK, NOTHING_TEXT
from core.explain.ranking import conditions_hold, matching_clues, rank_causes
from core.explain.reading import read_text
from core.explain.words import believe_words, word_features
from core.knowledge.causes import cause_rows
from core.knowledge.messages import known_clues
from core.knowledge.words import word_table
from tests import learn_words
from tests.explain import written
from tests.explain.threads import all_threads
from tests.machines import wheel_machine

TABLE = Path(resources.__path__[0], "knowledge", "words.json")
MAX_BYTES = 1_400_000
UNSEEN_NOISE = (
    "Peel the potatoes, cut them into slices and put them into a buttered dish. Pour the cream over them.",
    "Wir treffen uns am Samstag um drei am Bahnhof und gehen dann zusammen in den Zoo.",
    "2026-02-03 11:12:13 WARN com.example.Billing - invoice 4711 could not be sent, mailbox full",
    "mysqldump: Got error: 1049: Unknown database 'shop' when selecting the database",
    "gradle: Could not resolve all files for configuration ':app:debugCompileClasspath'.",
    "postfix/smtpd[991]: connect from unknown[10.1.2.3]; NOQUEUE: reject: RCPT from unknown",
    "The moon was full, and nobody in the village slept well that night.",
    "error TS2322: Type 'string' is not assignable to type 'number'.",
    "php: PHP Fatal error: Uncaught Error: Call to undefined function mb_strlen()",
    "java.lang.OutOfMemoryError: Java heap space",
    "kernel: Out of memory: Killed process 4711 (firefox) total-vm:8123456kB",
)
BARE = "my tensorflow job gives different answers from those on the other computer, and it never ends"


def test_a_version_is_a_feature_with_the_word_that_it_is_joined_to() -> None:
    features = word_features(read_text("torch 2.7.1+cu118 has no kernel for sm_120, Python 3.12"))
    assert {"v:2.7", "v:cu118", "v:sm120", "v:3.12"} <= features


def test_the_table_is_small_and_names_known_causes() -> None:
    table = word_table()
    assert TABLE.stat().st_size < MAX_BYTES
    assert table.causes == tuple(row.cause for row in cause_rows())
    assert table.digest
    assert all(0 <= at < len(table.causes) for row in table.features.values() for at in row[2][::2])


def test_the_table_is_learned_from_the_sources_as_they_are() -> None:
    assert word_table().digest == learn_words.source_digest(), (
        "Threads, help pages, clues or messages changed since words.json was learned from them: renew it with "
        "python -m tests.learn_words --write, then the tables with python -m tests.measure_explain --write."
    )


@pytest.mark.parametrize("text", [*UNSEEN_NOISE, *(json.loads(x) for x in learn_words.NOISE.read_text().splitlines())])
def test_texts_about_anything_else_name_no_cause(text: str) -> None:
    told = explain(text)
    assert told.sentence == NOTHING_TEXT
    assert told.causes == ()
    absent = re.search(r"ModuleNotFoundError: No module named '(\w+)'", text)
    assert f"module {absent[1]}." in told.decide if absent else told.decide == NEXT_LOOK


def test_an_answer_by_words_is_shown_as_such_and_leads_on() -> None:
    told = explain(BARE)
    assert not matching_clues(read_text(BARE))
    first = told.causes[0]
    assert first.by_words
    assert not first.because
    assert first.verdict == "open"
    assert first.steps
    assert first.score <= 0.6
    shown = render_text(told)
    assert "No exact message was recognised." in shown
    assert first.cause in shown
    assert told.decide


def test_words_never_outvote_an_exact_message() -> None:
    clues = known_clues().clues
    for thread in all_threads(learn_words.LEARNED)[::7]:
        reading = read_text(thread.paste)
        exact = [c for c in clues if c.exact and conditions_hold(c.when, reading.marks)]
        named = {cause for c in exact for cause, weight in c.causes.items() if weight > 0}
        assert not named or rank_causes(reading)[0][0] in named, thread.url


def test_a_cause_that_words_name_before_the_clues_is_shown_as_such_and_has_steps() -> None:
    told = [explain(t.paste) for t in all_threads(learn_words.LEARNED)[::7]]
    by_words = [e for e in told if e.causes and e.causes[0].by_words and any(r.because for r in e.causes)]
    assert by_words
    assert all(e.causes[0].steps and "No exact message" not in e.sentence for e in by_words)


def test_words_alone_prove_nothing_on_a_machine() -> None:
    assert {r.verdict for r in explain(BARE, wheel_machine()).causes if r.by_words} <= {"open", "refuted"}


def test_the_words_of_texts_that_it_has_not_seen_name_the_cause() -> None:
    threads = all_threads(learn_words.LEARNED)
    seen = [t for t in threads if learn_words.fold(t.source)]
    table = learn_words.learn([*learn_words.of_threads(seen), *learn_words.of_knowledge(), *learn_words.of_noise()])
    judged = [learn_words.judge(table, read_text(t.text), t.cause) for t in threads if not learn_words.fold(t.source)]
    assert sum(j.place <= 5 for j in judged) / len(judged) >= 0.7
    common = Counter(t.cause for t in seen).most_common(5)
    assert sum(j.place <= 5 for j in judged) > 3 * sum(j.cause in dict(common) for j in judged) / 2


def test_the_table_is_not_read_before_a_text_is_explained() -> None:
    look = (
        "import core.explain, core.knowledge.tables as t; names = []; old = t._read_file; "
        "t._read_file = lambda n, f: (names.append(n), old(n, f))[1]; "
        "import core.doctor.scan; assert 'words' not in names; "
        "core.explain.explain('CUDA out of memory'); assert 'words' in names"
    )
    subprocess.run([sys.executable, "-c", look], check=True)


def test_a_healthy_nvidia_smi_says_what_it_shows() -> None:
    told = explain(SMI)
    assert "570.86.10" in told.sentence
    assert "NVIDIA GeForce RTX 4090" in told.sentence
    assert "12.8" in told.sentence
    assert not any(r.by_words or r.verdict == "proved" for r in told.causes)
    assert "collect_env" in told.decide
    assert "works" not in explain(SMI.replace("42C", "ERR!")).sentence


SMI = """\
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0 Off |                  Off |
|  0%   42C    P8              18W / 450W |     569MiB /  24564MiB |      0%      Default |
|                                         |                        |                  N/A |
"""


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("802", "fabric_manager_not_running"),
        ("0x7e", "cuda_not_on_search_path"),
        ("804", "driver_too_old"),
        ("35", "driver_too_old"),
    ],
)
def test_a_number_alone_is_read_as_its_message(code: str, cause: str) -> None:
    told = explain(code)
    assert told.codes
    assert told.causes[0].cause == cause


def test_believing_knows_what_a_text_is_about() -> None:
    assert believe_words(read_text("cudnn64_8.dll not found, onnxruntime falls back to the CPU")).about > 5
    assert believe_words(read_text(UNSEEN_NOISE[0])).about < 5


LISTED = """\
UserWarning: Found GPU0 NVIDIA GeForce GTX 1080 Ti which is of compute capability (CC) 6.1.
The following list shows the CCs this version of PyTorch was built for and the hardware CCs it supports:
- 7.5 which supports hardware CC >=7.5,<8.0
- 9.0 which supports hardware CC >=9.0,<10.0
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "ImportError: libgfortran.so.5: cannot open shared object file: No such file or directory",
            "system_library_missing",
        ),
        (f"PyTorch {LISTED}", "gpu_arch_too_old"),
        (f"PyTorch {LISTED}".replace("1080 Ti", "5090").replace("6.1", "12.0"), "gpu_arch_too_new"),
        ("I have a 4 GB card and every run is OOM with torch", "gpu_memory_exhausted"),
        ("MacBook with M1 Max: could not select device driver nvidia with capabilities: [[gpu]]", "other_maker_gpu"),
        ("RuntimeError: No module named 'triton', torch inductor", "build_tools_missing"),
    ],
)
def test_classes_that_had_no_clue_are_named(text: str, cause: str) -> None:
    assert explain(text).causes[0].cause == cause


def test_a_known_library_is_not_one_of_the_system() -> None:
    assert (
        "missing:other-library" not in read_text("libcudart.so.12: cannot open shared object file: No such file").marks
    )


def test_a_draft_of_written_texts_names_causes_systems_and_programs() -> None:
    draft = "= nccl_failed linux vLLM 0.6\none\ntext\n--\nanother\n= no_nvidia_gpu\nthird\n"
    assert [(w.cause, w.text, w.system, w.framework) for w in written.read_draft(draft)] == [
        ("nccl_failed", "one\ntext", "linux", "vLLM 0.6"),
        ("nccl_failed", "another", "linux", "vLLM 0.6"),
        ("no_nvidia_gpu", "third", "unknown", ""),
    ]
    with pytest.raises(ValueError, match="no_such_cause"):
        written.read_draft("= no_such_cause\ntext")


def test_written_texts_are_none_of_the_threads_and_name_known_causes() -> None:
    texts = [w.text for w in written.all_written()]
    assert len(set(texts)) == len(texts)
    assert not {*texts} & {t.text for t in all_threads()}
    assert {w.cause for w in written.all_written()} <= {*word_table().causes}
