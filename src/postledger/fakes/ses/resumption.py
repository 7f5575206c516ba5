"""After a restart: what was set up is there again, and events that were not finished go on."""

from pathlib import Path

from postledger.fakes.ses import event_books, set_up
from postledger.fakes.ses.account import Account
from postledger.fakes.ses.events.publisher import Publisher


def resume(publisher: Publisher, account: Account, path: Path) -> None:
    """An event whose end the journal does not know is published again; at worst, once more."""
    books = event_books.read(path)
    if books.set_up is not None:
        set_up.restore(books.set_up, account, publisher)
    for mail_books in books.mails.values():
        for report, only in mail_books.unfinished():
            publisher.take_up(mail_books.mail, report, only)
