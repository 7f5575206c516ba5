"""Whether this database may send mail: restored, promoted and copied ones may not."""

from collections.abc import Iterator

from django.conf import settings

from postledger.deliveries import ledger
from postledger.deliveries.ledger import Epoch
from postledger.workers.doctor.findings import Finding, ok, problem, warning


def look() -> Iterator[Finding]:
    yield judge(ledger.current_epoch(), is_sending=settings.DISPATCH_OPTIONS.is_sending)


def judge(epoch: Epoch, *, is_sending: bool) -> Finding:
    if not epoch.is_here:
        found = "This database was restored, promoted or copied: nothing will be sent from it."
        return problem("fence", found, "Start a worker, then run postledger fence show.")
    if epoch.is_fenced:
        found = "The fence is down: mail waits until a person lifts it."
        return problem("fence", found, "postledger fence show says what is lost and what to do.")
    if not is_sending:
        found = "SENDING is off: no worker sends anything."
        return warning("fence", found, "Set SENDING to on where mail is to be sent.")
    return ok("fence", f"This is the database that mail is sent from (epoch {epoch.number}).")
