"""Workspaces whose mail goes to the fake SES of a drill, set up by the commands that people use."""

from dataclasses import dataclass
from io import StringIO

from django.core.management import call_command

from postledger.accounts import workspaces
from postledger.accounts.models import Sender
from postledger.accounts.queries import Organisation
from tools.drill import ses
from tools.drill.drill import Drill
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY


@dataclass(frozen=True, slots=True)
class Tenant:
    name: str
    workspace_id: int
    sender_id: int
    address: str


def create(drill: Drill, name: str) -> Tenant:
    """A workspace that SES reports to, by the web process."""
    url = f"http://127.0.0.1:{drill.fleet.web_port}/ses-events"
    workspace_id = workspaces.create_workspace(name, actor="proof")
    workspaces.set_organisation(
        workspace_id,
        Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe"),
        actor="proof",
    )
    secret = drill.folder / "secret"
    secret.write_text(SECRET_ACCESS_KEY)
    address = f"news@{name}.{ses.NAME}.example"
    call_command(
        *("ses", "connect", name, "ses", "--region", "us-east-1", "--from", address),
        *("--endpoint", f"http://127.0.0.1:{drill.ses.port}"),
        *("--access-key-id", ACCESS_KEY_ID, "--secret", f"secret_access_key={secret}"),
        *("--create", "--url", url),
        stdout=StringIO(),  # what it tells people, once for each tenant
    )
    sender = Sender.objects.get(workspace_id=workspace_id)
    return Tenant(name, workspace_id, sender.pk, address)
