"""All letters of the corpus, by name; each is made when it is first asked for."""

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from tests.content.golden import made, specimen, written
from tests.content.golden.specimen import Specimen

FOLDER = Path(__file__).parent / "letters"

_LARGEST = 40_000
_MADE: Mapping[str, Callable[[], Specimen]] = {
    "notion-every-block.alice": made.notion_page,
    "slices-tools.alice": made.cleveland,
    "slices-tools.bob": made.columbus,
    "open-seat.en.alice": made.open_seat_en,
    "open-seat.ru.bob": made.open_seat_ru,
    "open-seat.pt.charlie": made.open_seat_pt,
    "long-word.en.alice": made.long_word,
    "long-newsletter.en.alice": made.long_newsletter,
}
NAMES = sorted([*written.names(), *_MADE])


@cache
def find(name: str) -> Specimen:
    return _MADE[name]() if name in _MADE else written.find(name)


def make_file(name: str) -> tuple[str, bytes]:
    """The golden file: the bytes of the letter, or only their digest where they are many."""
    wire = specimen.wire(find(name))
    if len(wire) > _LARGEST:
        return f"{name}.sha256", f"{sha256(wire).hexdigest()}\n".encode()
    return f"{name}.eml", wire
