"""Which topic subscriptions an event is for."""

from hypothesis import given
from hypothesis import strategies as st

from postledger.notifications.topics.matching import digest_match, list_match_digests, read_match

FIELDS = ["termId", "campusCode", "indexNumber"]
OPENED = {"termId": "2026-fall", "campusCode": "NB", "indexNumber": "10023", "statusAfter": "Open"}


def test_an_event_matches_every_choice_of_its_fields() -> None:
    digests = list_match_digests(FIELDS, OPENED)
    assert len(digests) == len(set(digests)) == 8
    assert digest_match({}) in digests
    assert digest_match({"campusCode": "NB"}) in digests
    assert digest_match({"indexNumber": "10023", "termId": "2026-fall"}) in digests


def test_another_value_or_another_field_does_not_match() -> None:
    digests = list_match_digests(FIELDS, OPENED)
    assert digest_match({"campusCode": "NK"}) not in digests
    assert digest_match({"statusAfter": "Open"}) not in digests


def test_a_number_matches_its_digits_and_what_has_no_text_of_its_own_nothing() -> None:
    digests = list_match_digests(FIELDS, {"indexNumber": 10023})
    assert digest_match({"indexNumber": "10023"}) in digests
    data = {"termId": None, "campusCode": True, "indexNumber": 1.5}
    assert read_match(FIELDS, data) == {}
    assert list_match_digests(FIELDS, data) == [digest_match({})]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.text(max_size=3)),
    st.dictionaries(st.sampled_from("abcdef"), st.text(max_size=3)),
)
def test_digests_find_exactly_the_matches_whose_fields_all_agree(
    match: dict[str, str], data: dict[str, str]
) -> None:
    agrees = all(data.get(field) == value for field, value in match.items())
    assert (digest_match(match) in list_match_digests("abcdef", data)) is agrees
