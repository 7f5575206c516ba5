"""Letters of the installation to the people who sign in to it, through the ledger as all mail."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from postledger.accounts import queries as accounts
from postledger.accounts.models import Sender
from postledger.content.rendering import footer, source
from postledger.content.rendering.letter import Letter, Script
from postledger.lib.errors import RefusedError
from postledger.transactional import actions, free_senders
from postledger.transactional.requests import MailRequest

# SES may rewrite links to count clicks, and would report each with its secret; `ses:no-track` keeps
# a link as it is.
_BODY = """\
<h1>{{ subject }}</h1>
{% for paragraph in paragraphs %}<p>{{ paragraph }}</p>
{% endfor %}{% if url != "" %}
<p><a class="button" ses:no-track href="{{ url }}"><span>{{ button }}</span></a></p>
{% endif %}{% for note in notes %}<p>{{ note }}</p>
{% endfor %}"""
_FOOTER = "<hr><p>{{ sender }}</p>"
_TEXT = """\
{% for paragraph in paragraphs %}{{ paragraph }}

{% endfor %}{% if url != "" %}{{ url }}

{% endif %}{% for note in notes %}{{ note }}

{% endfor %}--
{{ sender }}
"""
_NAMES = ("subject", "paragraphs", "url", "button", "notes", "sender")


class NoLetterSenderError(RefusedError):
    code = "no_letter_sender"


def send_letter(  # noqa: PLR0913  the parts of the letter, each by its name
    workspace_id: int,
    *,
    to: str,
    subject: str,
    paragraphs: Sequence[str],
    link_url: str = "",
    link_title: str = "",
    notes: Sequence[str] = (),
    secret_until: datetime | None,
    language: str,
    request_id: str = "",
    now: datetime,
) -> str:
    """Enqueues a letter, with one link or none, from a sender of the workspace; returns its id.

    The notes come after the link. With `secret_until` only the recipient ever sees the link, and
    the letter is not sent once the link has stopped working. Raises NoLetterSenderError where no
    sender can send it now.
    """
    sender = _choose_sender(workspace_id)
    organisation = accounts.organisation(workspace_id)
    letter = _make_letter(language)
    filled = letter.fill(
        {
            "subject": subject,
            "paragraphs": list(paragraphs),
            "url": link_url,
            "button": link_title,
            "notes": list(notes),
            "sender": " — ".join(filter(None, (organisation.name, organisation.address)))
            or sender.name
            or sender.address,
        }
    )
    html, text = letter.join(filled)
    mail = MailRequest(
        to=to,
        subject=filled.subject,
        html=html,
        text=text,
        sender=sender.address,
        tags=("postledger",),
        secret_until=secret_until,
    )
    return actions.accept(workspace_id, mails=[mail], request_id=request_id, now=now).ids[0]


def _choose_sender(workspace_id: int) -> Sender:
    sender = free_senders.find_free_sender(workspace_id)
    if sender is None:
        raise NoLetterSenderError(
            "No sender of this workspace can send the letter now: none has a provider account and"
            " is free of holds. Add a sender, or release one, and try again."
        )
    return sender


@cache
def _make_letter(language: str) -> Letter:
    """Made once for each of our few languages; it is our own content, so it needs no limits."""
    prepared = source.prepare_fragment(_BODY, _TEXT, locale=language)
    html = footer.insert(prepared.html, _FOOTER)
    return Letter(Script("{{ subject }}", html, prepared.text, required=_NAMES))
