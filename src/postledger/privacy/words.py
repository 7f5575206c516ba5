"""What mail to many said to one person: its letter is filled in again, as it was for sending."""

from dataclasses import replace

from postledger.contacts import links
from postledger.content import letters
from postledger.deliveries.mailed import Mailed
from postledger.dispatch.rounds import compose
from postledger.lib.errors import RefusedError


class Reader:
    """Reads the mail of one workspace."""

    def __init__(self, workspace_id: int) -> None:
        self._workspace_id = workspace_id
        self._leaving = links.leaving(workspace_id)

    def words(self, mail: Mailed) -> Mailed:
        """The mail with its words; one that could not be made has no more than a subject."""
        try:
            return self._filled(mail) if mail.letter else mail
        except RefusedError:
            return mail

    def _filled(self, mail: Mailed) -> Mailed:
        letter = letters.find(self._workspace_id, digest=mail.letter)
        if letter is None:
            return mail
        link = ""
        if self._leaving.is_complete:
            link = self._leaving.url(mail.address, list_key=mail.list_key)
        filled = letter.fill(compose.values_of(mail.address, mail.variables, link=link))
        _, text = letter.whole(filled)
        return replace(mail, subject=filled.subject, text=text)
