"""What is checked of the time of a draft: whether it is past, and its hours."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.campaigns.drafts import recipients
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.contacts.audience import FilterTooCostlyError
from postledger.mailing import send_times
from postledger.web.dashboard import formats
from postledger.web.dashboard.editor.checks import PROBLEM, WARNING, Check


def check_time(campaign: CampaignFacts, *, now: datetime) -> Iterator[Check]:
    at = campaign.timing.at
    if at is not None and now - send_times.MAX_DISTANCE <= at <= now:
        yield _refuse_past()


def _refuse_past() -> Check:
    text = _("Mail would go at once. Choose a later time, or Now.")
    return Check(PROBLEM, _("The chosen time is past"), text, "#sender")


def check_local_time(
    workspace_id: int,
    campaign: CampaignFacts,
    counts: RecipientCounts,
    *,
    now: datetime,
    patience: timedelta,
) -> Iterator[Check]:
    """Warns if it is past for some recipients, and refuses it if it is past for all of them."""
    try:
        number = recipients.count_late(workspace_id, campaign, now=now, patience=patience)
    except FilterTooCostlyError:
        title = _("The chosen time may be past for some recipients: counting them took too long")
        yield Check(WARNING, title, _tell_late(campaign), "#sender")
        return
    if number and number == counts.number:
        yield _refuse_past()
    elif number:
        title = ngettext(
            "The chosen time is past for %(number)s recipient",
            "The chosen time is past for %(number)s recipients",
            number,
        ) % {"number": formats.count(number)}
        yield Check(WARNING, title, _tell_late(campaign), "#sender")


def _tell_late(campaign: CampaignFacts) -> str:
    if campaign.delivery_window is not None:
        return _("Where it is later than that, mail goes at once within the working hours.")
    return _("Where it is later than that, mail goes at once. Choose a later time to avoid it.")


def check_hours(campaign: CampaignFacts) -> Iterator[Check]:
    for opens, closes in campaign.delivery_window.spans if campaign.delivery_window else ():
        if closes <= opens:
            title = _("The working hours are from %(opens)s until %(closes)s of the next day")
            text = _("Change From or To if they are to end on the same day.")
            values = {"opens": f"{opens:%H:%M}", "closes": f"{closes:%H:%M}"}
            yield Check(WARNING, title % values, text, "#sender")
