"""Questions that are answered twice, or after somebody else: nothing happens that was not shown."""

import pytest

from postledger.accounts.models import AuditEntry
from postledger.contacts.actions import suppression
from postledger.contacts.models import Contact, List, Suppression
from postledger.contacts.states import ContactState, SuppressionReason
from tests import cast
from tests.contacts import people
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

MIRA = "mira@example.com"
CHANGED = "This has changed meanwhile."


@pytest.fixture
def anna() -> Person:
    return visitors.sign_in(cast.sender().workspace_id, name="Anna")


@pytest.fixture
def bob(anna: Person) -> Person:
    return visitors.sign_in(anna.workspace_id, name="Bob")


@pytest.fixture
def mira(anna: Person) -> int:
    people.news(anna.workspace_id)
    return people.member(anna.workspace_id, MIRA)


def suppress_by_hand(who: Person, key: str | None = None) -> None:
    suppression.suppress(
        who.workspace_id,
        address=MIRA,
        list_key=key,
        reason=SuppressionReason.BY_HAND,
        note="",
        actor=who.actor,
    )


@pytest.mark.parametrize("key", ["general", "news"])
@pytest.mark.parametrize("page", ["contact", "suppression"])
def test_a_second_click_lifts_no_unsubscribe(page: str, key: str, anna: Person, mira: int) -> None:
    people.leave(anna.workspace_id, MIRA, key)
    suppress_by_hand(anna, None if key == "general" else key)
    kept = Suppression.objects.get()
    path = f"contacts/{mira}/restore/" if page == "contact" else f"suppressions/{kept.pk}/lift/"
    scope = f"by_hand {key}"
    assert f'value="{scope}"' in anna.read(path)

    first, second = (anna.post(path, scope=scope, reason="Wrote to us") for _time in range(2))

    assert (first.status_code, second.status_code) == (302, 422)
    kept.refresh_from_db()
    assert kept.reason == SuppressionReason.UNSUBSCRIBED
    again = second.content.decode()
    assert CHANGED in again
    assert "They unsubscribed" in again, "the question is asked anew, about what remains"
    assert 'value="Wrote to us"' in again
    assert f'value="unsubscribed {key}"' in again


def test_a_new_unsubscribe_is_not_lifted_by_an_older_page(
    anna: Person, bob: Person, mira: int
) -> None:
    suppress_by_hand(anna)
    path, scope = f"contacts/{mira}/restore/", "by_hand general"
    assert f'value="{scope}"' in anna.read(path)
    bob.post(path, scope=scope, reason="A mistake")
    people.leave(anna.workspace_id, MIRA)

    late = anna.post(path, scope=scope, reason="A mistake")

    assert late.status_code == 422
    assert people.state(mira) is ContactState.UNSUBSCRIBED


def test_a_state_without_a_suppression_is_restored_once(anna: Person, mira: int) -> None:
    """Rows that were brought along have states, and no suppressions beside them."""
    Contact.objects.filter(pk=mira).update(state="bounced")
    path, scope = f"contacts/{mira}/restore/", "state general"
    assert f'value="{scope}"' in anna.read(path)

    anna.post(path, scope=scope, reason="Mended")
    assert people.state(mira) is ContactState.ACTIVE

    people.leave(anna.workspace_id, MIRA)
    assert anna.post(path, scope=scope, reason="Mended").status_code == 422
    assert people.state(mira) is ContactState.UNSUBSCRIBED


def test_a_list_that_two_archive_or_restore_is_so_once(anna: Person, bob: Person) -> None:
    people.news(anna.workspace_id)
    for verb, first, second in (
        ("archive", "Archived.", "It is archived already."),
        ("restore", "It is in use again.", "It is in use already."),
    ):
        path = f"lists/news/{verb}/"
        for who, words in ((anna, first), (bob, second)):
            answer = who.client.post(who.url(path), follow=True)
            assert words in answer.content.decode()
        assert (List.objects.get().archived_at is not None) is (verb == "archive")
        assert AuditEntry.objects.filter(action=f"list.{verb}d").count() == 1, verb
