"""The pages that mend it after SECRET_KEY was replaced and nothing stored can be read any more."""

import pytest
from django.conf import LazySettings

from postledger.accounts import integrations, provider_accounts, senders
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import ProviderAccount, Workspace
from tests import cast
from tests.web.dashboard import examples, visitors
from tests.web.dashboard.reading import read
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db

NOTION = "settings/integrations/notion/"
WHY = "cannot be unsealed: they were sealed under another SECRET_KEY"


@pytest.fixture
def anna() -> Person:
    return visitors.sign_in(cast.sender().workspace_id, name="Anna")


def replace_key(settings: LazySettings, who: Person) -> None:
    settings.SECRET_KEY = "another secret, of which nothing stored knows"
    who.client.force_login(who.user)  # sessions ended with the key


def test_an_integration_that_cannot_be_read_is_entered_anew(
    anna: Person, settings: LazySettings
) -> None:
    integrations.set_integration(
        anna.workspace_id,
        IntegrationKind.NOTION,
        changes={"token": "ntn_1", "mailouts": "0" * 32},
        actor="a",
    )
    replace_key(settings, anna)

    shown = anna.get(NOTION)
    without_token = anna.post(NOTION, token="", mailouts="1" * 32, errors_database="")
    assert (shown.status_code, without_token.status_code) == (200, 422)
    assert WHY in read(shown)
    assert "This field is required." in read(without_token)

    entered = anna.post(NOTION, token="ntn_2", mailouts="1" * 32, errors_database="")

    stored = integrations.notion(anna.workspace_id)
    assert entered.status_code == 302
    assert stored is not None
    assert (stored.token, stored.mailouts.replace("-", "")) == ("ntn_2", "1" * 32)
    assert WHY not in read(anna.get(NOTION))


def test_reports_of_an_account_that_cannot_be_read_say_why(
    anna: Person, settings: LazySettings
) -> None:
    values = examples.new_ses_sender(Workspace.objects.get(pk=anna.workspace_id))
    path = f"senders/{values['sender_id']}/reports/"
    replace_key(settings, anna)

    answers = [anna.get(path), anna.post(path, way="queue")]

    assert [answer.status_code for answer in answers] == [200, 422]
    assert all(WHY in read(answer) for answer in answers)
    assert not any("Show the policy" in read(answer) for answer in answers)


def test_a_selector_of_an_account_that_cannot_be_read_is_refused_beside_its_field(
    anna: Person, settings: LazySettings
) -> None:
    account_id = provider_accounts.create_account(
        anna.workspace_id, name="relay", kind="smtp", settings={"host": "127.0.0.1"}, actor="a"
    )
    sender_id = senders.create_sender(
        anna.workspace_id, address="x@acme.example", account_id=account_id, actor="a"
    )
    sealed = bytes(ProviderAccount.objects.get(pk=account_id).sealed_settings)
    replace_key(settings, anna)

    answer = anna.post(f"senders/{sender_id}/selector/", selector="mail")

    assert answer.status_code == 422
    assert WHY in read(answer)
    assert 'value="mail"' in answer.content.decode()
    assert bytes(ProviderAccount.objects.get(pk=account_id).sealed_settings) == sealed
