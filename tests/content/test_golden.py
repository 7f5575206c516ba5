"""The corpus: every letter is, byte for byte, the mail that somebody has looked at.

`python -m tests.content.golden --write` writes the golden files anew.
"""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tests.content.golden import corpus, files, markup, specimen
from tests.providers import strict

ROOT = Path(__file__).parents[2]


def test_a_letter_gives_the_bytes_of_its_golden_file() -> None:
    for name in corpus.NAMES:
        file, content = files.pack_letter(name, specimen.wire(corpus.find(name)))

        assert content == (files.FOLDER / file).read_bytes(), name


def test_every_golden_file_is_of_a_letter() -> None:
    names = {path.stem for path in files.FOLDER.iterdir() if path.suffix in {".eml", ".sha256"}}

    assert names == set(corpus.NAMES)


def test_a_letter_is_sound_for_readers_that_forgive_nothing() -> None:
    """What is written anew as a golden file has no fault that a look would miss."""
    for name in corpus.NAMES:
        letter = corpus.find(name)

        document = markup.read(specimen.fill_letter(letter).html)

        assert document.faults == [], name
        assert document.unreachable() == [], name
        raw = strict.read(specimen.wire(letter))
        assert raw.body.isascii(), name
        assert max(map(len, raw.body.split(b"\r\n"))) <= 76, name


@pytest.mark.slow
def test_another_process_gives_the_same_bytes() -> None:
    made = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.content.golden"],
        env={**os.environ, "PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout

    here = {name: specimen.wire(corpus.find(name)) for name in corpus.NAMES}
    assert json.loads(made) == {name: sha256(wire).hexdigest() for name, wire in here.items()}
