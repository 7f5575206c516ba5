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


@pytest.mark.slow
def test_a_proxy_count_that_does_not_fit_is_reported(settings: LazySettings) -> None:
    for forwarded, settings.PROXY_COUNT, level, words in (
        (0, 0, Level.OK, "as PROXY_COUNT says"),
        (2, 2, Level.OK, "as PROXY_COUNT says"),
        (1, 0, Level.WARNING, "all visitors of a proxy count as one"),
        (0, 1, Level.WARNING, "can forge their address"),
    ):
        with answering({"ready": True, "forwarded": forwarded}) as settings.PUBLIC_URL:
            [result] = web.check_proxies()
        assert (result.level, words in result.message) == (level, True), words
        assert bool(result.remedy) == (level is Level.WARNING), words


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
def test_a_public_url_of_this_machine_is_reported_where_mail_reaches_people(
    settings: LazySettings,
) -> None:
    installations.attach_account()
    for settings.PUBLIC_URL, level in {
        "http://localhost:8000": Level.WARNING,
        "http://127.0.0.9/x": Level.WARNING,
        "http://[::1]:8000": Level.WARNING,
        "https://mail.acme.example": Level.OK,
        "https://localhost.acme.example": Level.OK,
        "": Level.OK,
    }.items():
        [result] = web.check_public_url()
        assert result.level is level, settings.PUBLIC_URL
    sandbox = provider_accounts.create_account(
        cast.sender().workspace_id, name="own", kind="sandbox", settings={}, actor="alice"
    )
    Sender.objects.update(account=sandbox)
    settings.PUBLIC_URL = "http://localhost:8000"
    [result] = web.check_public_url()
    assert result.level is Level.OK
