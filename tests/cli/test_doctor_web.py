"""The doctor asks the web process, as a visitor does, how many proxies it is behind."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, override

import pytest
from django.conf import LazySettings

from postledger.accounts import provider_accounts
from postledger.accounts.models import Sender
from postledger.cli.doctor import web
from postledger.lib.check_results import Level
from tests import cast
from tests.cli import installations

SETTINGS: dict[str, dict[str, str]] = {"smtp": {"host": "127.0.0.1"}, "sandbox": {}}


@contextmanager
def answering(body: Any) -> Iterator[str]:
    """A web process that answers at /ready, or another server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/base/ready" else 404)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        @override
        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/base/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("forwarded", "proxy_count", "level", "words"),
    [
        (0, 0, Level.OK, "as PROXY_COUNT says"),
        (2, 2, Level.OK, "as PROXY_COUNT says"),
        (1, 0, Level.WARNING, "all visitors of a proxy count as one"),
        (0, 1, Level.WARNING, "can forge their address"),
    ],
)
def test_a_proxy_count_that_does_not_fit_is_reported(
    forwarded: int, proxy_count: int, level: Level, words: str, settings: LazySettings
) -> None:
    settings.PROXY_COUNT = proxy_count
    with answering({"ready": True, "forwarded": forwarded}) as settings.PUBLIC_URL:
        [result] = web.check_proxies()

    assert (result.level, words in result.message) == (level, True)
    assert bool(result.remedy) == (level is Level.WARNING)


def test_another_server_or_nobody_at_the_public_url_is_reported(settings: LazySettings) -> None:
    bodies: tuple[object, ...] = ({"ready": True}, [], {"forwarded": None})
    for body in bodies:
        with answering(body) as settings.PUBLIC_URL:
            [result] = web.check_proxies()
        assert (result.level, "does not answer" in result.message) == (Level.WARNING, True), body
    settings.PUBLIC_URL = f"http://{installations.DEAD}"
    [result] = web.check_proxies()
    assert (result.level, "correct PUBLIC_URL" in result.remedy) == (Level.WARNING, True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("url", "kind", "level"),
    [
        ("http://localhost:8000", "smtp", Level.WARNING),
        ("http://127.0.0.9/x", "smtp", Level.WARNING),
        ("http://[::1]:8000", "smtp", Level.WARNING),
        ("http://localhost:8000", "sandbox", Level.OK),
        ("https://mail.acme.example", "smtp", Level.OK),
        ("https://localhost.acme.example", "smtp", Level.OK),
        ("", "smtp", Level.OK),
    ],
)
def test_a_public_url_of_this_machine_is_reported_where_mail_reaches_people(
    url: str, kind: str, level: Level, settings: LazySettings
) -> None:
    sender = cast.sender()
    account_id = provider_accounts.create_account(
        sender.workspace_id, name="own", kind=kind, settings=SETTINGS[kind], actor="alice"
    )
    Sender.objects.filter(pk=sender.pk).update(account=account_id)
    settings.PUBLIC_URL = url

    [result] = web.check_public_url()

    assert result.level is level


def test_metrics_that_nobody_can_read_are_told(settings: LazySettings) -> None:
    settings.METRICS_TOKEN = ""
    assert "is off" in next(iter(web.check_metrics())).message

    settings.METRICS_TOKEN = "only-for-prometheus"
    assert "requires" in next(iter(web.check_metrics())).message
