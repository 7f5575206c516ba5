"""A program that a generator wrote from the description sends a mail to a live server."""

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from postledger.deliveries import queries
from postledger.lib.ids import DeliveryId
from tests.journeys import rig, stage

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PATIENCE = 600
# The generator takes a file as any bytes.
CONFIG = """
content_type_overrides:
  text/csv: application/octet-stream
  application/vnd.openxmlformats-officedocument.spreadsheetml.sheet: application/octet-stream
"""
PROGRAM = """
import sys

from shop import AuthenticatedClient
from shop.api.email import get_mail, send_mail
from shop.models import AcceptedRequest, MailIn, MailOut, Problem

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
mail = MailIn(to="alice@example.com", subject="Hello", text="It works.", tags=["receipt"])
accepted = send_mail.sync(client=client, body=mail, idempotency_key="order-5")
assert isinstance(accepted, AcceptedRequest), accepted
shown = get_mail.sync(accepted.id, client=client)
assert isinstance(shown, MailOut), shown
assert (shown.id, shown.subject, shown.tags) == (accepted.id, "Hello", ["receipt"]), shown
refused = send_mail.sync(client=client, body=MailIn(to="nobody", subject="a", text="a"))
assert isinstance(refused, Problem), refused
print(accepted.id, refused.code)
"""


def generate(folder: Path, url: str) -> None:
    with urllib.request.urlopen(f"{url}/v1/openapi.json", timeout=PATIENCE) as response:  # noqa: S310  our own server
        (folder / "openapi.json").write_bytes(response.read())
    (folder / "config.yml").write_text(CONFIG)
    subprocess.run(
        [
            *(rig.COMMANDS / "openapi-python-client", "generate", "--meta", "none"),
            *("--path", folder / "openapi.json", "--output-path", folder / "shop"),
            *("--config", folder / "config.yml", "--fail-on-warning"),
        ],
        check=True,
        timeout=PATIENCE,
    )


def test_a_generated_client_sends_a_mail_and_understands_a_refusal(tmp_path: Path) -> None:
    workspace_id = stage.sender("acme").workspace_id
    token = keys.create_key(workspace_id, name="shop", scopes=list(Scope), actor="test").token
    port = rig.free_port()
    url = f"http://127.0.0.1:{port}"
    with rig.installation(tmp_path, stage.database()) as installed:
        installed.web(port)
        generate(tmp_path, url)
        printed = subprocess.run(
            [sys.executable, "-c", PROGRAM, url, token],
            cwd=tmp_path,
            check=True,
            timeout=PATIENCE,
            capture_output=True,
            text=True,
        ).stdout

    mail_id, code = printed.split()
    id_ = DeliveryId.parse(mail_id)
    assert id_
    delivery = queries.find_delivery(id_.stream_id, id_.position)
    assert delivery
    assert delivery.address == "alice@example.com"
    assert code == "INVALID_EMAIL"
