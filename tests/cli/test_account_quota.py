"""Quotas and rates of accounts by command, and what the doctor says of quotas."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import override

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from pytest_django import Settings

from postledger.accounts import provider_accounts, queries, sealing, workspaces
from postledger.accounts.models import AccountQuota, AuditEntry, ProviderAccount, Sender
from postledger.cli.doctor.quotas import check_quotas
from postledger.lib.check_results import Level
from tests import cast
from tests.cli import installations
from tests.cli.installations import doctor
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import SENDING_KEY

pytestmark = pytest.mark.django_db

TOKEN = "made-up-token"


class Credits:
    """A service that says how many mails are left to who has the token."""

    left: object = 4200
    url = ""

    @contextmanager
    def serving(self) -> Iterator["Credits"]:
        credits_ = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_known = self.headers["Authorization"] == f"Bearer {TOKEN}"
                body = json.dumps({"data": [{"left": credits_.left}]}).encode()
                self.send_response(200 if is_known else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            @override
            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/credits?key=url-secret"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@pytest.fixture
def credits_() -> Iterator[Credits]:
    with Credits().serving() as serving:
        yield serving


@pytest.fixture
def relay() -> ProviderAccount:
    """The account of acme's sender."""
    installations.attach_account(port=1)
    return ProviderAccount.objects.get(name="relay")


@pytest.fixture(autouse=True)
def _without_redis(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


def run(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("account", *arguments, stdout=out)
    return out.getvalue().splitlines()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    return str(refused.value)


def test_a_quota_that_the_key_may_not_read_is_told_and_is_no_error() -> None:
    sender = cast.sender("acme")
    with serving_in_thread(FakeSendGrid()) as fake:
        account_id = provider_accounts.create_account(
            sender.workspace_id,
            name="sendgrid",
            kind="sendgrid",
            settings={"api_key": SENDING_KEY, "endpoint": fake.endpoint},
            actor="test",
        )
        lines = run("quota", "acme", "sendgrid")

    assert lines[0] == 'The quota of account "sendgrid" is not known: its mail goes without it.'
    assert "permission user.credits.read" in lines[1]
    assert SENDING_KEY not in str(lines)
    assert not [line for line in run("list", "acme") if "not read" in line]
    Sender.objects.update(account_id=account_id)
    assert [result.level for result in check_quotas()] == [Level.OK]


def source(credits_: Credits, folder: Path, token: str = TOKEN) -> list[str]:
    (folder / "token").write_text(f"{token}\n")
    secret = f"token={folder / 'token'}"
    where = ["--url", credits_.url, "--path", "data.0.left", "--secret", secret]
    return ["quota", "acme", "relay", *where]


def test_the_quota_of_an_smtp_account_is_read_at_a_url_until_it_is_removed(
    relay: ProviderAccount, credits_: Credits, tmp_path: Path
) -> None:
    first, second = run(*source(credits_, tmp_path))

    assert first == 'The quota of account "relay": 4,200 mails left.'
    assert second.startswith("Read 20")
    outgoing = queries.outgoing(cast.sender().pk)
    assert outgoing
    assert outgoing.limits.quota
    assert outgoing.limits.quota.remaining == 4200

    credits_.left = "many"  # a failure leaves the last figure
    refusal("quota", "acme", "relay")
    [line] = run("list", "acme")
    assert "quota: 4,200 mails left" in line
    assert "quota not read since" in line

    credits_.left = 0
    assert run("quota", "acme", "relay")[0] == 'The quota of account "relay": 0 mails left.'

    former = AccountQuota.objects.get().sync_id
    assert run("quota", "acme", "relay", "--remove") == [
        'The quota of account "relay" is read no more.'
    ]
    outgoing = queries.outgoing(cast.sender().pk)
    assert outgoing
    assert outgoing.limits.quota is None
    assert "name a URL where it can be read" in refusal("quota", "acme", "relay")
    before = ProviderAccount.objects.get().sealed_quota_source
    credits_.left = 7
    run(*source(credits_, tmp_path))
    row = AccountQuota.objects.get()
    assert (before, row.remaining, row.sync_id) == (None, 7, former + 1)


def test_the_source_is_stored_sealed_for_its_workspace_and_resealed(
    relay: ProviderAccount, credits_: Credits, tmp_path: Path, settings: Settings
) -> None:
    run(*source(credits_, tmp_path))

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(a)::text FROM accounts_provideraccount AS a")
        [(row,)] = cursor.fetchall()
    stored = ProviderAccount.objects.get(pk=relay.pk)
    assert stored.sealed_quota_source is not None
    assert TOKEN.encode() not in bytes(stored.sealed_quota_source)
    assert TOKEN.encode().hex() not in row
    noted = list(AuditEntry.objects.filter(action__contains="quota").values_list("data", flat=True))
    assert noted == [{}]

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-secret-key-of-sufficient-length-for-tests-0123456789"
    run("reseal")
    settings.SECRET_KEY_FALLBACKS = []
    opened = sealing.unseal_quota_source(ProviderAccount.objects.get(pk=relay.pk))
    assert opened
    assert opened["token"] == TOKEN


def test_a_reading_that_fails_says_why_and_repeats_no_secret(
    relay: ProviderAccount,
    credits_: Credits,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = StringIO()
    with pytest.raises(CommandError, match="could not be read"):
        call_command("account", *source(credits_, tmp_path, token="wrong-token"), stdout=out)

    printed = f"{out.getvalue()}{''.join(run('list', 'acme'))}{caplog.text}{capsys.readouterr()}"
    assert "was never read: its mail goes without it" in printed
    assert "the quota's URL, 127.0.0.1, answers with the status 401." in printed
    assert "quota not read since 20" in printed
    assert "wrong-token" not in printed
    assert "url-secret" not in printed


def test_a_wrong_source_is_refused_without_its_values(
    relay: ProviderAccount, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("a\nb")
    text = refusal(
        *("quota", "acme", "relay", "--url", "http://api.example.com/?key=url-secret"),
        *("--secret", f"token={tmp_path / 'token'}"),
    )

    assert "url: write it as https://" in text
    assert "path: this is required" in text
    assert "url-secret" not in text
    assert "a\nb" not in text
    assert ProviderAccount.objects.get().sealed_quota_source is None
    provider_accounts.create_account(
        relay.workspace_id, name="ses", kind="ses", settings={"region": "eu-west-1"}, actor="test"
    )
    own = refusal("quota", "acme", "ses", "--url", "https://api.example.com/", "--path", "left")
    assert "says its quota itself" in own


def test_the_account_of_another_workspace_is_unknown(relay: ProviderAccount) -> None:
    globex = workspaces.create_workspace("globex", actor="test")

    for more in (["quota"], ["quota", "--remove"], ["rate", "5"]):
        command, *rest = more
        assert "has no account" in refusal(command, "globex", "relay", *rest)
    with pytest.raises(provider_accounts.AccountUnknownError):
        provider_accounts.set_rate(globex, account_id=relay.pk, rate=5, actor="test")
    with pytest.raises(provider_accounts.AccountUnknownError):
        provider_accounts.set_quota_source(globex, account_id=relay.pk, source=None, actor="test")
    assert ProviderAccount.objects.get().rate_per_second is None


def test_a_rate_is_set_and_taken_back(relay: ProviderAccount) -> None:
    for rate in ("-1", "nan", "inf", "fast", "1e-320", "10001"):
        assert "such as 5 or 0.5" in refusal("rate", "acme", "relay", rate)
    assert "No mail would ever go" in refusal("rate", "acme", "relay", "0")

    assert run("rate", "acme", "relay", "2.5") == [
        'Account "relay" sends at most 2.5 mails a second.'
    ]
    outgoing = queries.outgoing(cast.sender().pk)
    assert outgoing
    assert outgoing.limits.account_rate == 2.5
    assert "  at most 2.5 a second" in run("list", "acme")[0]

    assert run("rate", "acme", "relay", "none") == [
        'Account "relay" sends as fast as its provider says.'
    ]
    assert ProviderAccount.objects.get().rate_per_second is None


def test_the_doctor_names_a_quota_that_was_not_read_for_long(relay: ProviderAccount) -> None:
    AccountQuota.objects.create(
        account=relay, failed_since=Now() - timedelta(minutes=2), error="It did not answer."
    )
    assert doctor().level("quotas") == "ok"
    AccountQuota.objects.update(failed_since=Now() - timedelta(hours=3))

    report = doctor()

    assert report.level("quotas") == "warning"
    assert "The quota of account relay of acme could not be read for 3 hours" in report.output
    assert "postledger account quota acme relay" in report.text("quotas")
    Sender.objects.update(account=None)  # nobody uses it
    assert doctor().level("quotas") == "ok"
