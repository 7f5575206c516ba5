"""A mail as its reader gets it: its letter filled in again, and the digests of both compared.

Filling in is a pure function of the letter and the reader's values, and both are kept. So what is
shown is what every try was made from, but for the tokens of links.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from postledger.contacts import unsubscribe_links
from postledger.content import letters, previews
from postledger.content.rendering import preheader
from postledger.deliveries import queries
from postledger.deliveries.queries import MailContent
from postledger.dispatch.rounds import compose
from postledger.lib import sentences
from postledger.lib.errors import RefusedError

# Whoever has the token of a link can act for the person, and others look at the mail too.
_TOKEN = re.compile(r"(?:(?<=token=)|(?<=token%3d))[\w.%=-]++", re.IGNORECASE)


class Absence(StrEnum):
    """Why a mail cannot be shown."""

    ERASED = "erased"  # its reader was erased, and with them all they got
    SECRET = "secret"  # noqa: S105  it has a link in it that only its reader may see
    NOT_KEPT = "not_kept"  # its content is not in the books, or not any more
    LETTER_GONE = "letter_gone"  # the letter that it is filled in from does not exist any more
    CHANGED = "changed"  # what is stored is not what was stored at first
    NOT_MADE = "not_made"  # the letter cannot be filled in, or could not just now


@dataclass(frozen=True, slots=True)
class PastLetter:
    """A mail that was made again from what its digests vouch for."""

    subject: str
    html: str
    text: str

    @property
    def preheader(self) -> str:
        return preheader.find(self.html)


@dataclass(frozen=True, slots=True)
class NoLetter:
    absence: Absence
    detail: str = ""


def make_again(workspace_id: int, stream_id: int, position: int) -> PastLetter | NoLetter:
    """The mail at a position of a workspace's own stream, without the tokens of its links."""
    content = queries.find_content(stream_id, position)
    absence = _find_absence(content)
    if absence is not None or content is None or content.body is None:
        return NoLetter(absence or Absence.NOT_KEPT)
    body = content.body
    if body.html or body.text:
        return PastLetter(body.subject, hide_tokens(body.html), hide_tokens(body.text))
    if not body.letter:
        return NoLetter(Absence.NOT_KEPT)
    return _fill_again(workspace_id, content, body.letter)


def _find_absence(content: MailContent | None) -> Absence | None:
    if content is None:
        return Absence.NOT_KEPT
    if content.is_erased:
        return Absence.ERASED
    if content.body is None:
        return Absence.NOT_KEPT
    if content.body.secret_until is not None:
        return Absence.SECRET
    return None if content.is_unchanged else Absence.CHANGED


def _fill_again(workspace_id: int, content: MailContent, digest: str) -> PastLetter | NoLetter:
    script = letters.read_script(workspace_id, digest=digest)
    if script is None:
        return NoLetter(Absence.LETTER_GONE)
    if script.digest().hex() != digest:
        return NoLetter(Absence.CHANGED)
    links = unsubscribe_links.workspace_links(workspace_id)
    values = compose.letter_values(
        content.address,
        content.variables,
        link=links.base_url,
        manage_link=links.preferences_url,
    )
    try:
        preview = previews.preview_script(workspace_id, script, values=values, footer=None)
    except RefusedError as refused:
        return NoLetter(Absence.NOT_MADE, refused.sentence)
    if preview.mail is None:
        return NoLetter(
            Absence.NOT_MADE, sentences.join(fault.remedy for fault in preview.faults())
        )
    mail = preview.mail
    return PastLetter(mail.subject, hide_tokens(mail.html), hide_tokens(mail.text))


def hide_tokens(text: str) -> str:
    return _TOKEN.sub("", text)
