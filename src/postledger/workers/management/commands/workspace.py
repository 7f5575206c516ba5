"""`postledger workspace`: makes and lists workspaces."""

from typing import override

from postledger.accounts import actions, queries
from postledger.accounts.queries import Organisation
from postledger.campaigns import testing
from postledger.workers import nouns


class Command(nouns.NounCommand):
    help = "Makes and lists workspaces."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        create = verb("create", self._create, "Makes a workspace.")
        create.add_argument("name")
        footer = verb("footer", self._footer, "Says what the footers of its mail say.")
        footer.add_argument("name")
        footer.add_argument("--org-name", metavar="TEXT", help="who sends")
        footer.add_argument("--org-address", metavar="TEXT", help="the postal address")
        footer.add_argument("--unsubscribe-url", metavar="URL", help="the page that ends it")
        tests = verb("tests", self._tests, "Says, or shows, whom tests of campaigns go to.")
        tests.add_argument("name")
        tests.add_argument("addresses", nargs="?", help='between commas; "" for nobody')
        zone = verb("zone", self._zone, "Says in which time zone its contacts are, unless told.")
        zone.add_argument("name")
        zone.add_argument("zone", help="as the IANA names it, like Europe/Lisbon")
        verb("list", self._list, "Lists all workspaces.")

    def _create(self, *, name: str, **_: object) -> None:
        actions.create_workspace(name, actor=nouns.actor())
        self.stdout.write(f"Created the workspace {name}.")

    def _footer(
        self,
        *,
        name: str,
        org_name: str | None,
        org_address: str | None,
        unsubscribe_url: str | None,
        **_: object,
    ) -> None:
        workspace = nouns.workspace(name)
        known = queries.organisation(workspace.id)
        changed = Organisation(
            known.name if org_name is None else org_name,
            known.address if org_address is None else org_address,
            known.unsubscribe_base_url if unsubscribe_url is None else unsubscribe_url,
        )
        actions.set_organisation(workspace.id, changed, actor=nouns.actor())
        self.stdout.write(f"{changed.name or 'no name'} — {changed.address or 'no address'}")
        self.stdout.write(f"Unsubscribe: {changed.unsubscribe_base_url or 'no page'}")

    def _tests(self, *, name: str, addresses: str | None, **_: object) -> None:
        workspace = nouns.workspace(name)
        if addresses is not None:
            named = testing.addresses(addresses) if addresses.strip() else ()
            actions.set_test_emails(workspace.id, ", ".join(named), actor=nouns.actor())
        written = queries.test_emails(workspace.id)
        if not written.strip():
            self.stdout.write("Tests of campaigns have no addresses of their own here.")
            return
        for address in testing.addresses(written):
            self.stdout.write(address)

    def _zone(self, *, name: str, zone: str, **_: object) -> None:
        workspace = nouns.workspace(name)
        actions.set_time_zone(workspace.id, zone, actor=nouns.actor())
        self.stdout.write(f"Contacts without a time zone of their own are in {zone}.")

    def _list(self, **_: object) -> None:
        found = queries.workspaces()
        if not found:
            self.stdout.write("There is no workspace yet; postledger workspace create makes one.")
        for workspace in found:
            self.stdout.write(f"{workspace.name}  since {workspace.created_at:%Y-%m-%d}")
