"""What is checked of the sender of a draft: its hold, its provider, its quota and its DNS."""

from collections.abc import Iterator
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from postledger.accounts import sender_dns, sending_limits
from postledger.accounts.models import Sender
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.deliveries.entries import Hold
from postledger.deliveries.explanations import why
from postledger.deliveries.reasons import TRIED_AGAIN_REASONS
from postledger.web.dashboard import formats
from postledger.web.dashboard.editor.checks import OK, WARNING, Check
from postledger.web.dashboard.senders import dns_words
from postledger.web.shared.sentences import translate


def check_answer(sender: Sender) -> Iterator[Check]:
    """A provider that was connected although its check failed may take nothing at all."""
    if sender.account is not None and sender.account.is_unchecked:
        title = _("Nobody saw the provider of the sender take an email")
        text = _(
            "It was connected without being checked. Test it on the page of the sender, or send"
            " yourself a test."
        )
        url = reverse("sender", args=[sender.workspace_id, sender.pk])
        yield Check(WARNING, title, text, url)


def check_hold(sender: Sender, hold: Hold | None) -> Iterator[Check]:
    """A hold with an end is no warning where the forecast counts with it."""
    if hold is None:
        return
    title = _("Nothing would be sent until somebody releases the sender")
    if hold.until is not None:
        title = _("The sender is held: nothing would be sent until its provider answers")
    if hold.until is None or hold.reason in TRIED_AGAIN_REASONS:
        text = translate(why.explain_hold(hold).sentence)
        url = reverse("sender", args=[sender.workspace_id, sender.pk])
        yield Check(WARNING, title, text, url)


def check_quota(sender: Sender, counts: RecipientCounts) -> Iterator[Check]:
    if sender.account is None:
        title = _("The sender %(address)s has no provider") % {"address": sender.address}
        text = _("Its emails would wait until somebody connects one.")
        yield Check(WARNING, title, text, "#sender")
        return
    quota = sending_limits.describe(sender).quota
    if quota is None:
        return
    values = {"left": formats.count(quota.remaining), "number": formats.count(counts.number)}
    if quota.remaining < counts.number:
        title = _("The provider takes %(left)s more emails now, and %(number)s are to go")
        text = _("The rest waits until it takes more; the forecast says when.")
        yield Check(WARNING, title % values, text, "#forecast")
    else:
        yield Check(OK, _("The provider takes %(left)s more emails now") % values)


def check_dns(sender: Sender, *, now: datetime) -> Iterator[Check]:
    """What was looked up some minutes ago: the page waits for nobody.

    A wrong record is a warning here: mail is sent all the same, and receivers decide.
    """
    report = sender_dns.recall_report(sender, now=now)
    url = reverse("sender", args=[sender.workspace_id, sender.pk])
    for line in dns_words.describe_verdicts(sender, report.verdicts) if report else ():
        level = WARNING if line.level else OK
        yield Check(level, line.title, url=f"{url}#dns" if level else "")


def find_dns_url(sender: Sender, *, now: datetime) -> str:
    if not sender_dns.is_looked_up(sender) or sender_dns.recall_report(sender, now=now):
        return ""
    return reverse("sender_dns", args=[sender.workspace_id, sender.pk])
