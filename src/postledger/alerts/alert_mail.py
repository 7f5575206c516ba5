"""The mail that tells members of new alerts, in our layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import get_language, gettext, ngettext

from postledger.alerts.sentences import Sentences
from postledger.content.rendering import footer, source
from postledger.content.rendering.letter import Letter, Script

MOST_LISTED = 20

_LIST = """\
<h1>{{ title }}</h1>
{% for alert in alerts %}
<h2>{{ alert.title }}</h2>
<p>{{ alert.sentence }}</p>
<p>{{ alert.since }}</p>
<p>{{ alert.advice }}</p>
{% endfor %}
<p>{{ more }}</p>
"""
_BUTTON = '<p><a class="button" href="{{ url }}"><span>{{ look }}</span></a></p>\n'
_FOOTER = "<hr><p>{{ reason }}</p>"
_TEXT = """\
{% for alert in alerts %}{{ alert.title }}

{{ alert.sentence }}
{{ alert.since }}
{{ alert.advice }}

{% endfor %}{{ more }}
{{ look }}
{{ url }}

--
{{ reason }}
"""
_NAMES = ("subject", "title", "alerts", "more", "look", "url", "reason")


@dataclass(frozen=True, slots=True)
class ToldAlert:
    """One alert of the mail."""

    sentences: Sentences
    first_at: datetime


@dataclass(frozen=True, slots=True)
class AlertMail:
    subject: str
    html: str
    text: str


def render(alerts: Sequence[ToldAlert], *, workspace: str, time_zone: str, url: str) -> AlertMail:
    """One mail for all alerts; without an URL it names the place to look at in words."""
    letter = _make_letter(get_language() or "en", has_link=bool(url))
    count = len(alerts)
    unlisted = count - MOST_LISTED
    title = (
        alerts[0].sentences.title
        if count == 1
        else ngettext("%(count)d thing needs attention", "%(count)d things need attention", count)
        % {"count": count}
    )
    filled = letter.fill(
        {
            "subject": f"{workspace}: {title}",
            "title": title,
            "alerts": [_fill(alert, time_zone) for alert in alerts[:MOST_LISTED]],
            "more": gettext("And %(count)d more.") % {"count": unlisted} if unlisted > 0 else "",
            "look": gettext("Look at what needs attention")
            if url
            else gettext("Run postledger doctor on the server: it says what is wrong."),
            "url": url,
            "reason": gettext(
                "You get this mail because you decide about such things in the workspace"
                " %(workspace)s. Each is told once; it ends by itself when its cause ends."
            )
            % {"workspace": workspace},
        }
    )
    html, text = letter.join(filled)
    return AlertMail(filled.subject, html, text)


def _fill(alert: ToldAlert, time_zone: str) -> dict[str, str]:
    moment = date_format(alert.first_at.astimezone(ZoneInfo(time_zone)), "j F Y, H:i")
    return {
        "title": alert.sentences.title,
        "sentence": alert.sentences.sentence,
        "since": gettext("Since %(moment)s (%(zone)s).") % {"moment": moment, "zone": time_zone},
        "advice": alert.sentences.advice,
    }


@cache
def _make_letter(language: str, *, has_link: bool) -> Letter:
    """Made once for each of our few languages; it is our own content, so it needs no limits."""
    look = _BUTTON if has_link else "<p>{{ look }}</p>\n"
    prepared = source.prepare_fragment(_LIST + look, _TEXT, locale=language)
    html = footer.insert(prepared.html, _FOOTER)
    return Letter(Script("{{ subject }}", html, prepared.text, required=_NAMES))
