"""All letters of the corpus, by name; each is made when it is first asked for."""

from collections.abc import Callable, Mapping
from functools import cache

from tests.content.golden import made, mailouts, written
from tests.content.golden.specimen import Specimen

_MADE: Mapping[str, Callable[[], Specimen]] = {
    "notion-every-block.alice": mailouts.every,
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
