"""After a restart: what was set up is there again, and events that were not finished go on."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tools.fakes.events import event_books
from tools.fakes.events.publisher import Publisher
from tools.fakes.events.reports import ReportedMail


def resume[M: ReportedMail[Any]](
    publisher: Publisher[M, Any],
    path: Path,
    read_mail: Callable[[Mapping[str, Any]], M],
    restore: Callable[[Mapping[str, Any]], None],
) -> None:
    """An event whose end the journal does not know is published again; at worst, once more."""
    books = event_books.read(path, read_mail)
    if books.set_up is not None:
        restore(books.set_up)
    for mail_books in books.mails.values():
        for report, only in mail_books.unfinished():
            publisher.take_up(mail_books.mail, report, only)
