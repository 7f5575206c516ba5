"""Who gets which slices, in which order, and under which headline."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.content import slices
from postledger.content.slices import Assembled, Slice, SubjectRequiredError

pytestmark = pytest.mark.slow

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)

US = "ocd-division/country:us"
OHIO = f"{US}/state:oh"
FRANKLIN = f"{OHIO}/county:franklin"
UPPER_ARLINGTON = f"{OHIO}/place:upper_arlington"
CUYAHOGA = f"{OHIO}/county:cuyahoga"
CLEVELAND = f"{OHIO}/place:cleveland"

IN_UPPER_ARLINGTON = frozenset({US, OHIO, FRANKLIN, UPPER_ARLINGTON})
IN_CLEVELAND = frozenset({US, OHIO, CUYAHOGA, CLEVELAND})
NOWHERE = frozenset[str]()

PLAIN = Slice(
    id=1,
    scope_ocd_id=None,
    section="News",
    section_order=0,
    sort_index=0,
    is_headline=False,
    title="",
    dek="",
    body_md="",
    published_from=None,
    published_until=None,
    is_published=True,
)


def headline(number: int, scope: str | None = None) -> Slice:
    title, dek = f"Title {number}", f"Dek {number}"
    return replace(PLAIN, id=number, scope_ocd_id=scope, is_headline=True, title=title, dek=dek)


def news(number: int, scope: str | None, body: str) -> Slice:
    return replace(PLAIN, id=number, scope_ocd_id=scope, body_md=body)


EDITION = [
    replace(headline(1), body_md="Welcome."),
    news(2, UPPER_ARLINGTON, "UA news."),
    news(3, FRANKLIN, "Franklin news."),
    news(4, OHIO, "OH news."),
    news(5, US, "US news."),
]


def chosen_ids(edition: list[Slice], ocd_ids: frozenset[str]) -> list[int]:
    return [piece.id for piece in slices.choose(edition, ocd_ids=ocd_ids, now=NOW)]


def test_a_reader_in_upper_arlington_gets_one_block_from_broad_to_narrow() -> None:
    letter = slices.assemble(EDITION, ocd_ids=IN_UPPER_ARLINGTON, now=NOW)

    assert letter == Assembled(
        title="Title 1",
        dek="Dek 1",
        body_md="Welcome.\n\nUS news.\n\nOH news.\n\nFranklin news.\n\nUA news.",
    )


def test_a_reader_in_cleveland_gets_the_slices_of_country_and_state_only() -> None:
    letter = slices.assemble(EDITION, ocd_ids=IN_CLEVELAND, now=NOW)

    assert letter.body_md == "Welcome.\n\nUS news.\n\nOH news."


def test_a_reader_of_no_place_gets_what_is_for_everybody_and_published() -> None:
    draft = replace(headline(9), is_published=False)

    assert slices.choose([draft, *EDITION], ocd_ids=NOWHERE, now=NOW) == EDITION[:1]


def test_a_slice_is_open_from_its_first_moment_and_before_its_last() -> None:
    for begins, ends, is_open in [
        (None, None, True),
        (NOW, None, True),
        (NOW + TICK, None, False),
        (None, NOW, False),
        (None, NOW + TICK, True),
        (NOW, NOW + TICK, True),
        (NOW - TICK, NOW, False),
    ]:
        timed = replace(headline(1), published_from=begins, published_until=ends)

        assert bool(slices.choose([timed], ocd_ids=NOWHERE, now=NOW)) is is_open, begins


def test_the_headline_is_the_narrowest_that_is_marked_as_one() -> None:
    edition = [headline(1), headline(2, US), headline(3, OHIO), headline(4, CLEVELAND)]

    assert slices.assemble(edition, ocd_ids=IN_UPPER_ARLINGTON, now=NOW).title == "Title 3"
    assert slices.assemble(edition, ocd_ids=IN_CLEVELAND, now=NOW).title == "Title 4"


def test_of_two_places_the_narrower_is_last_in_the_body_and_first_as_headline() -> None:
    for broad, narrow in [
        (None, "a"),
        ("aaaa", "a/b"),  # segments before length
        ("a/c", "a/bb"),  # length before text
        ("a/b", "a/c"),
    ]:
        edition = [headline(1, narrow), headline(2, broad)]
        everywhere = frozenset({broad or "", narrow})

        letter = slices.assemble(edition, ocd_ids=everywhere, now=NOW)

        assert chosen_ids(edition, everywhere) == [2, 1], broad
        assert letter.title == "Title 1", broad


def test_headlines_of_the_same_place_stand_in_the_order_of_section_index_and_id() -> None:
    for first, second in [
        ({"section_order": 1, "sort_index": 9, "id": 9}, {"section_order": 2}),
        ({"sort_index": 1, "id": 9}, {"sort_index": 2, "id": 2}),
        ({"id": 2}, {"id": 10}),
    ]:
        edition = [
            replace(headline(1, OHIO), title="Second", **second),  # type: ignore[arg-type]  # cases
            replace(headline(1, OHIO), title="First", **first),  # type: ignore[arg-type]  # cases
        ]

        assert slices.assemble(edition, ocd_ids=IN_CLEVELAND, now=NOW).title == "First", first


def test_without_a_headline_the_first_of_the_body_with_words_is_one() -> None:
    for words in [{"title": "First"}, {"dek": "First"}]:
        edition = [
            replace(PLAIN, id=1, scope_ocd_id=OHIO, title="Narrower"),
            replace(PLAIN, id=2, sort_index=2, title="Later"),
            replace(PLAIN, id=3, sort_index=1, **words),  # type: ignore[arg-type]  # cases
            replace(PLAIN, id=4, title=" \n", dek=" ", body_md="Silent."),
        ]

        letter = slices.assemble(edition, ocd_ids=IN_CLEVELAND, now=NOW)

        assert letter.title + letter.dek == "First", words


def test_without_a_title_and_a_dek_there_is_no_letter() -> None:
    cases: list[list[Slice]] = [
        [],
        [news(1, None, "Only a body.")],
        [headline(1, CLEVELAND)],  # of another place
        [replace(PLAIN, is_headline=True), replace(PLAIN, id=2, title="Not a headline")],
    ]
    for edition in cases:
        with pytest.raises(
            SubjectRequiredError, match="Give a title to a slice for everybody"
        ) as refused:
            slices.assemble(edition, ocd_ids=IN_UPPER_ARLINGTON, now=NOW)

        assert refused.value.code == "subject_required", edition


def test_the_body_is_ordered_by_section_then_place_then_index_then_id() -> None:
    edition = [
        replace(PLAIN, id=1, section_order=2, title="Title"),
        replace(PLAIN, id=2, section_order=1, scope_ocd_id=OHIO, sort_index=0),
        replace(PLAIN, id=3, section_order=1, sort_index=2),
        replace(PLAIN, id=5, section_order=1, sort_index=1),
        replace(PLAIN, id=4, section_order=1, sort_index=1),
    ]
    assert chosen_ids(edition, IN_CLEVELAND) == [4, 5, 3, 2, 1]

    # One blank line stands between two bodies, and none for an empty one.
    bodies = ["One.\n", " \n", "", "\r\n\n    code\n", "Three."]
    edition = [headline(9), *(news(number, None, body) for number, body in enumerate(bodies))]
    letter = slices.assemble(edition, ocd_ids=NOWHERE, now=NOW)
    assert letter.body_md == "One.\n\n    code\n\nThree."


def test_only_places_of_open_slices_make_a_difference() -> None:
    over = replace(news(6, CLEVELAND, "Over."), published_until=NOW)

    assert slices.open_scopes([*EDITION, over], now=NOW) == {US, OHIO, FRANKLIN, UPPER_ARLINGTON}


SCOPES = st.none() | st.sampled_from([US, OHIO, FRANKLIN, CUYAHOGA, UPPER_ARLINGTON, CLEVELAND])
PLACES = st.frozensets(SCOPES.filter(bool).map(str))
TIMES = st.none() | st.sampled_from([NOW - TICK, NOW, NOW + TICK])
EDITIONS = st.lists(
    st.builds(
        Slice,
        id=st.integers(1, 12),
        scope_ocd_id=SCOPES,
        section=st.just(""),
        section_order=st.integers(0, 1),
        sort_index=st.integers(0, 1),
        is_headline=st.booleans(),
        title=st.sampled_from(["", "A", "B"]),
        dek=st.sampled_from(["", "a"]),
        body_md=st.sampled_from(["", "x", "y\n"]),
        published_from=TIMES,
        published_until=TIMES,
        is_published=st.booleans(),
    ),
    unique_by=lambda found: found.id,
)


def letter_of(edition: list[Slice], ocd_ids: frozenset[str]) -> Assembled | None:
    try:
        return slices.assemble(edition, ocd_ids=ocd_ids, now=NOW)
    except SubjectRequiredError:
        return None


@given(EDITIONS, PLACES, st.randoms(use_true_random=False))
def test_the_order_in_which_slices_are_given_makes_no_difference(
    edition: list[Slice], ocd_ids: frozenset[str], dice: Random
) -> None:
    shuffled = dice.sample(edition, len(edition))

    assert letter_of(shuffled, ocd_ids) == letter_of(edition, ocd_ids)


@given(EDITIONS, PLACES, PLACES)
def test_readers_with_the_same_slices_get_the_same_letter(
    edition: list[Slice], one: frozenset[str], other: frozenset[str]
) -> None:
    chosen = [chosen_ids(edition, places) for places in (one, other)]
    letters = [letter_of(edition, places) for places in (one, other)]

    assert chosen[0] != chosen[1] or letters[0] == letters[1]


@given(EDITIONS, PLACES)
def test_a_readers_places_matter_only_where_there_are_slices(
    edition: list[Slice], ocd_ids: frozenset[str]
) -> None:
    few = ocd_ids & slices.open_scopes(edition, now=NOW)

    assert chosen_ids(edition, few) == chosen_ids(edition, ocd_ids)
    assert letter_of(edition, few) == letter_of(edition, ocd_ids)
