"""Whether the database has the tables of this version, and room for this month and the next."""

from collections.abc import Iterator

from postledger.deliveries import partitions
from postledger.lib import ids
from postledger.observability import schema
from postledger.workers.doctor.findings import Finding, ok, problem, warning


def migrations() -> Iterator[Finding]:
    unapplied = schema.unapplied()
    if unapplied:
        found = f"Migrations were not run: {len(unapplied)} in all, the first is {unapplied[0]}."
        yield problem("migrations", found, "Run postledger migrate.")
    else:
        yield ok("migrations", "Every migration was run.")


def months() -> Iterator[Finding]:
    this = partitions.this_month()
    remedy = "Run postledger partitions, and again every month."
    if not partitions.exists(this):
        found = f"The ledger has no partitions for {ids.month_name(this)}: nothing can be planned."
        yield problem("partitions", found, remedy)
    elif not partitions.exists(this + 1):
        found = f"The ledger has no partitions for the next month, {ids.month_name(this + 1)}."
        yield warning("partitions", found, remedy)
    else:
        yield ok("partitions", "The ledger has room for this month and the next.")
