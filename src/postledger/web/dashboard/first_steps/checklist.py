"""What is left to do until the first campaign, told from facts alone."""

from dataclasses import dataclass

from allauth.mfa.utils import is_mfa_enabled
from django.urls import reverse
from django.utils.translation import gettext as _

from postledger.accounts import queries, workspaces
from postledger.accounts.models import Member, Sender, Workspace
from postledger.accounts.people.roles import Permission, Role
from postledger.accounts.queries import Organisation
from postledger.contacts.models import Contact
from postledger.deliveries import sender_setup
from postledger.deliveries.queries import beginnings
from postledger.feedback import loop_test
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.first_steps import steps

_PAGES = {
    "start_provider": Permission.SET_UP,
    "start_email": Permission.SET_UP,
    "senders": Permission.SET_UP,
    "imports": Permission.MANAGE_CONTACTS,
    "branding": Permission.WRITE_CONTENT,
    "settings": Permission.MANAGE_MEMBERS,
}


@dataclass(frozen=True, slots=True)
class Facts:
    owner: str  # an address
    has_two_factor: bool  # the person who looks
    has_own_name: bool  # the workspace, no more that of the first one
    senders: tuple[str, ...]  # whose mail reaches people
    nameless: tuple[int, str] | None  # the id and the address of a sender without a name
    has_sandbox: bool  # the sandbox takes mail meanwhile
    has_accepted: bool
    has_simulator: bool  # of a sender's provider; else nothing reports bounces
    has_report: bool
    has_contacts: bool
    has_footer: bool


@dataclass(frozen=True, slots=True)
class Item:
    icon: str
    title: str
    is_done: bool
    text: str = ""
    url: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class Checklist:
    items: list[Item]

    @property
    def done_count(self) -> int:
        return sum(item.is_done for item in self.items)

    @property
    def is_open(self) -> bool:
        return self.done_count < len(self.items)


def build_checklist(visitor: Visitor) -> Checklist:
    """The checklist of a workspace, for a page or for the part `components/checklist.html`."""
    workspace_id = visitor.workspace.pk
    pages = {"security": reverse("security")} | {
        name: reverse(name, args=[workspace_id])
        for name, permission in _PAGES.items()
        if visitor.may(permission)
    }
    facts = _read_facts(visitor)
    if facts.nameless is not None and visitor.may(Permission.SET_UP):
        pages["sender_edit"] = reverse("sender_edit", args=[workspace_id, facts.nameless[0]])
    return Checklist(list_items(facts, pages))


def _read_facts(visitor: Visitor) -> Facts:
    workspace = visitor.workspace
    senders = steps.list_usable(workspace.pk)
    connected = [sender for sender in senders if sender_setup.reaches_people(sender)]
    begun = beginnings.read_beginnings(workspace.pk)
    return Facts(
        owner=_find_owner(workspace),
        has_two_factor=is_mfa_enabled(visitor.user),
        has_own_name=workspace.name != workspaces.FIRST_NAME,
        senders=tuple(sender.address for sender in connected),
        nameless=next(
            ((own.pk, own.address) for own in connected or senders if not own.name), None
        ),
        has_sandbox=len(senders) > len(connected),
        has_accepted=begun.has_accepted,
        has_simulator=any(map(_has_simulator, connected or senders)),
        has_report=begun.has_report,
        has_contacts=Contact.objects.filter(workspace=workspace, deleted_at=None).exists(),
        has_footer=_has_footer(queries.organisation(workspace.pk)),
    )


def _has_footer(organisation: Organisation) -> bool:
    return bool(organisation.name and organisation.address and organisation.unsubscribe_page)


def _has_simulator(sender: Sender) -> bool:
    return sender.account is not None and loop_test.has_simulator(sender.account.kind)


def _find_owner(workspace: Workspace) -> str:
    owners = Member.objects.filter(
        workspace=workspace, role=Role.OWNER.value, removed_at=None, user__isnull=False
    )
    return owners.order_by("pk").values_list("email", flat=True).first() or ""


def list_items(facts: Facts, pages: dict[str, str]) -> list[Item]:
    """`pages` are those that the person who looks may open, by name."""
    items = [
        Item("check", _("Create the owner"), bool(facts.owner), facts.owner),
        _two_factor(facts, pages),
        _workspace_name(facts, pages),
        _provider(facts, pages),
        _first_email(facts, pages),
        _sender_name(facts, pages),
    ]
    if facts.has_simulator:
        items.append(_feedback(facts, pages))
    return [*items, _contacts(facts, pages), _footer(facts, pages)]


def _two_factor(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("Protect your account with a second factor")
    if facts.has_two_factor:
        return Item("key", title, is_done=True)
    text = _("An authenticator app or a passkey. A stolen password alone opens nothing then.")
    return Item(
        "key", title, is_done=False, text=text, url=pages["security"], action=_("Set it up")
    )


def _workspace_name(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("Give the workspace a name")
    if facts.has_own_name:
        return Item("pen", title, is_done=True)
    text = _("It is called default until then, on every page and in commands.")
    url = pages.get("settings", "")
    return Item("pen", title, is_done=False, text=text, url=url, action=_("Name it"))


def _provider(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("Connect a provider")
    if facts.senders:
        return Item("at", title, is_done=True, text=", ".join(facts.senders))
    text = _("The sandbox takes your emails: nothing leaves this machine.")
    return Item(
        "at",
        title,
        is_done=False,
        text=text if facts.has_sandbox else "",
        url=pages.get("start_provider", ""),
        action=_("Connect"),
    )


def _first_email(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("Send yourself an email, and watch it arrive")
    return Item(
        "mail",
        title,
        is_done=facts.has_accepted,
        url="" if facts.has_accepted else pages.get("start_email", ""),
        action=_("Send it"),
    )


def _sender_name(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("Give the sender a name")
    if facts.nameless is None:
        return Item("pen", title, is_done=bool(facts.senders or facts.has_sandbox))
    text = _("Readers see only %(address)s until it has one.") % {"address": facts.nameless[1]}
    url = pages.get("sender_edit", "")
    return Item("pen", title, is_done=False, text=text, url=url, action=_("Name it"))


def _feedback(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("See that reports come back: deliveries, bounces, complaints")
    if facts.has_report:
        return Item("again", title, is_done=True, text=_("Your provider reports what happens."))
    text = _("An email to your provider's simulator, whose reports have to come back.")
    url = pages.get("senders", "")
    return Item("again", title, is_done=False, text=text, url=url, action=_("Test it"))


def _contacts(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("Import your contacts, dry run first")
    if facts.has_contacts:
        return Item("upload", title, is_done=True)
    text = _("A CSV file or a workbook. Nothing changes before you have seen what would.")
    url = pages.get("imports", "")
    return Item("upload", title, is_done=False, text=text, url=url, action=_("Import"))


def _footer(facts: Facts, pages: dict[str, str]) -> Item:
    title = _("Set the footer: your name and postal address")
    if facts.has_footer:
        return Item("file", title, is_done=True)
    text = _("Laws ask for it under every campaign.")
    url = pages.get("branding", "")
    return Item("file", title, is_done=False, text=text, url=url, action=_("Set it"))
