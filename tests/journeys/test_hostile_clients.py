"""A web process of its own, and clients that would exhaust it or lie to it."""

import http.client
import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from tests.journeys import rig, stage

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    port = rig.free_port()
    extra = {"PROXY_COUNT": "1", "PUBLIC_RATE": "5/hour"}
    with rig.installation(tmp_path, stage.database(), **extra) as installed:
        installed.web(port)
        yield port


@pytest.fixture
def token() -> str:
    workspace_id = stage.sender("acme").workspace_id
    return keys.create_key(workspace_id, name="shop", scopes=list(Scope), actor="test").token


def status_of(port: int, path: str, headers: list[tuple[str, str]]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=rig.PATIENCE)
    connection.putrequest("GET", path)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_slow_clients_keep_nobody_from_being_served(port: int) -> None:
    head = "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000\r\n\r\n{{"
    with ExitStack() as stack:
        for path in ("/v1/campaigns/send", "/v1/email/send", "/subscribe/1/news") * 10:
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            slow.sendall(head.format(path).encode())
        time.sleep(2)

        # Within the time that a body has.
        assert rig.answers(f"http://127.0.0.1:{port}/live")
        assert status_of(port, "/v1/openapi.json", []) == 200


def first_line(connection: socket.socket) -> bytes:
    connection.settimeout(rig.PATIENCE)
    return connection.makefile("rb").readline()


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


def test_what_breaks_the_rules_of_http_is_refused(port: int) -> None:
    for rest, status in (
        (b"X-A: " + b"a" * 100_000 + b"\r\n\r\n", b"431"),
        (b'Content-Type: a/b; x="' + b";" * 60_000 + b"\r\n\r\n", b"431"),
        (b"Content-Length: " + b"0" * 5000 + b"3\r\n\r\na=b", b"400"),
        (CHUNKED + b"zzz\r\na=b\r\n", b"400"),
        (CHUNKED + b"3\r\na=bXX\r\n0\r\n\r\n", b"400"),
    ):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"POST /v1/campaigns/send HTTP/1.1\r\nHost: 127.0.0.1\r\n" + rest)

            assert first_line(connection).split()[1] == status, rest[:40]


def test_slow_bodies_of_one_network_beyond_its_share_lose_their_connection(port: int) -> None:
    head = b"POST /v1/campaigns/send HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000\r\n\r\n{"
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(65)
        ]
        for client in clients:
            client.sendall(head)
        [refused, *_], _, _ = select.select(clients, [], [], rig.PATIENCE)

        answer = refused.makefile("rb").read()  # to the end of the connection

    assert answer.startswith(b"HTTP/1.1 429 ")


def test_no_alias_of_a_header_gives_a_visitor_another_address(port: int) -> None:
    client = f"2001:db8:{uuid4().hex[:4]}:{uuid4().hex[:4]}::1"
    statuses = []
    for number in range(8):
        forged = ("X_Forwarded_For", f"203.0.113.{number}")
        proxied = [("X-Forwarded-For", client), forged, ("X-A", "a"), ("X-B", "b")]
        headers = proxied if number % 2 else proxied[::-1]
        statuses.append(status_of(port, "/subscribe/1/news", headers))

    assert statuses == [404] * 5 + [429] * 3


def test_a_large_body_of_a_known_key_arrives_whole(port: int, token: str) -> None:
    mail = {"to": "a@example.com", "subject": "x", "html": "<p>x</p>", "text": "x" * 300_000}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=rig.PATIENCE)
    answers = []
    for is_chunked in (False, True):
        body = json.dumps(mail).encode()
        pieces = iter([body[:100_000], body[100_000:]])
        connection.request(
            "POST",
            "/v1/email/send",
            pieces if is_chunked else body,
            headers,
            encode_chunked=is_chunked,
        )
        response = connection.getresponse()
        answers.append((response.status, json.loads(response.read())["status"]))
    connection.close()

    assert answers == [(202, "RECEIVED")] * 2
