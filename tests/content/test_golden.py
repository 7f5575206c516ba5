"""The corpus: every letter is, byte for byte, the mail that somebody has looked at.

`python -m tests.content.golden` writes the golden files anew.
"""

from tests.content.golden import corpus, markup, specimen
from tests.providers import strict


def test_a_letter_gives_the_bytes_of_its_golden_file() -> None:
    files = dict(map(corpus.make_file, corpus.NAMES))

    assert {path.name for path in corpus.FOLDER.glob("[!.]*")} == set(files)
    for name, content in files.items():
        assert content == (corpus.FOLDER / name).read_bytes(), name


def test_a_letter_is_sound_for_readers_that_forgive_nothing() -> None:
    """What is written anew as a golden file has no fault that a look would miss."""
    for name in corpus.NAMES:
        letter = corpus.find(name)
        document = markup.read(specimen.fill_letter(letter).html)
        raw = strict.read(specimen.wire(letter))

        assert document.faults == [], name
        assert document.unreachable() == [], name
        assert raw.body.isascii(), name
        assert max(map(len, raw.body.split(b"\r\n"))) <= 76, name
