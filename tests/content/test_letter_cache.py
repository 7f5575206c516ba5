"""The letters that a process remembers, which authors may make as large as they like."""

from postledger.content.letters import LetterCache
from postledger.content.rendering.letter import Letter, Script

SMALL = Letter(Script("News", "<p>Hello {{ name }}.</p>", "Hello."))
LARGE = Letter(Script("News", "<p>Hello {{ name | upcase }}.</p>" * 1_900, "Hello."))


def test_the_oldest_letters_make_room_for_new_ones_and_a_larger_one_is_alone() -> None:
    numbered = LetterCache[int](most_memory=10 * SMALL.memory)
    for number in range(15):
        numbered.put(number, SMALL)
    assert [numbered.get(number) for number in range(15)] == [None] * 5 + [SMALL] * 10

    cache = LetterCache[str](most_memory=10 * SMALL.memory)
    cache.put("small", SMALL)
    cache.put("large", LARGE)
    assert (cache.get("small"), cache.get("large")) == (None, LARGE)
    cache.put("small", SMALL)
    assert (cache.get("small"), cache.get("large")) == (SMALL, None)
