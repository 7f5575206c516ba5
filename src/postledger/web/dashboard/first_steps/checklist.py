"""What is left to do until the first campaign, told from facts alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from allauth.mfa.utils import is_mfa_enabled
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
    senders: tuple[str, ...]  # whose mail reaches people, by a provider that was checked
    unchecked: str  # an address whose provider was not
    nameless: tuple[int, str] | None  # the id and the address of a sender without a name
    has_sandbox: bool  # the sandbox takes mail meanwhile
    has_accepted: bool
    has_simulator: bool  # a provider's; else none reports bounces, and the sandbox proves nothing
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
class _Task:
    """Something to do: why, and on which page."""

    icon: str
    title: Promise
    why: Promise | str
    page: str
    action: Promise

    def make_item(self, pages: Mapping[str, str], *, is_done: bool, done: str = "") -> Item:
        title, why, action = str(self.title), str(self.why), str(self.action)
        if is_done:
            return Item(self.icon, title, is_done=True, text=done)
        url = pages.get(self.page, "")
        return Item(self.icon, title, is_done=False, text=why, url=url, action=action)


_SECOND_FACTOR = _Task(
    "key",
    gettext_lazy("Protect your account with a second factor"),
    gettext_lazy("An authenticator app or a passkey. A stolen password alone opens nothing then."),
    "security",
    gettext_lazy("Set it up"),
)
_WORKSPACE_NAME = _Task(
    "pen",
    gettext_lazy("Give the workspace a name"),
    gettext_lazy("It is called default until then, on every page and in commands."),
    "settings",
    gettext_lazy("Name it"),
)
_PROVIDER = _Task(
    "at",
    gettext_lazy("Connect a provider"),
    gettext_lazy("The sandbox takes your emails: nothing leaves this machine."),
    "start_provider",
    gettext_lazy("Connect"),
)
_UNCHECKED = _Task(
    "at",
    gettext_lazy("Connect a provider"),
    gettext_lazy("%(address)s is connected, but nobody saw its provider take an email."),
    "senders",
    gettext_lazy("Test it"),
)
_FIRST_EMAIL = _Task(
    "mail",
    gettext_lazy("Send yourself an email, and watch it arrive"),
    "",
    "start_email",
    gettext_lazy("Send it"),
)
_SENDER_NAME = _Task(
    "pen",
    gettext_lazy("Give the sender a name"),
    gettext_lazy("Readers see only %(address)s until it has one."),
    "sender_edit",
    gettext_lazy("Name it"),
)
_REPORTS = _Task(
    "again",
    gettext_lazy("See that reports come back: deliveries, bounces, complaints"),
    gettext_lazy("An email to your provider's simulator, whose reports have to come back."),
    "senders",
    gettext_lazy("Test it"),
)
_CONTACTS = _Task(
    "upload",
    gettext_lazy("Import your contacts, dry run first"),
    gettext_lazy("A CSV file or a workbook. Nothing changes before you have seen what would."),
    "imports",
    gettext_lazy("Import"),
)
_FOOTER = _Task(
    "file",
    gettext_lazy("Set the footer: your name and postal address"),
    gettext_lazy("Laws ask for it under every campaign."),
    "branding",
    gettext_lazy("Set it"),
)


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
        senders=tuple(sender.address for sender in connected if not _is_unchecked(sender)),
        unchecked=next((sender.address for sender in connected if _is_unchecked(sender)), ""),
        nameless=next(
            ((own.pk, own.address) for own in connected or senders if not own.name), None
        ),
        has_sandbox=len(senders) > len(connected),
        has_accepted=begun.has_accepted,
        has_simulator=any(map(_has_simulator, connected)),
        has_report=begun.has_report,
        has_contacts=Contact.objects.filter(workspace=workspace, deleted_at=None).exists(),
        has_footer=_has_footer(queries.organisation(workspace.pk)),
    )


def _has_footer(organisation: Organisation) -> bool:
    return bool(organisation.name and organisation.address and organisation.unsubscribe_page)


def _has_simulator(sender: Sender) -> bool:
    return sender.account is not None and loop_test.has_simulator(sender.account.kind)


def _is_unchecked(sender: Sender) -> bool:
    return sender.account is not None and sender.account.is_unchecked


def _find_owner(workspace: Workspace) -> str:
    owners = Member.objects.filter(
        workspace=workspace, role=Role.OWNER.value, removed_at=None, user__isnull=False
    )
    return owners.order_by("pk").values_list("email", flat=True).first() or ""


def list_items(facts: Facts, pages: Mapping[str, str]) -> list[Item]:
    """`pages` are those that the person who looks may open, by name."""
    has_sender = bool(facts.senders or facts.unchecked or facts.has_sandbox)
    address = facts.nameless[1] if facts.nameless else ""
    provider = _PROVIDER if facts.has_sandbox else replace(_PROVIDER, why="")
    if facts.unchecked:
        provider = replace(_UNCHECKED, why=_UNCHECKED.why % {"address": facts.unchecked})
    sender_name = replace(_SENDER_NAME, why=_SENDER_NAME.why % {"address": address})
    items = [
        Item("check", _("Create the owner"), bool(facts.owner), facts.owner),
        _SECOND_FACTOR.make_item(pages, is_done=facts.has_two_factor),
        _WORKSPACE_NAME.make_item(pages, is_done=facts.has_own_name),
        provider.make_item(pages, is_done=bool(facts.senders), done=", ".join(facts.senders)),
        _FIRST_EMAIL.make_item(pages, is_done=facts.has_accepted),
        sender_name.make_item(pages, is_done=not address and has_sender),
    ]
    if facts.has_simulator:
        done = _("Your provider reports what happens.")
        items.append(_REPORTS.make_item(pages, is_done=facts.has_report, done=done))
    return [
        *items,
        _CONTACTS.make_item(pages, is_done=facts.has_contacts),
        _FOOTER.make_item(pages, is_done=facts.has_footer),
    ]
