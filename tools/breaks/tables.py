"""All breaks, by group."""

from collections.abc import Mapping, Sequence

from tools.breaks import consent, guards, ledger_rules, sending
from tools.breaks.breaks import Break

GROUPS: Mapping[str, Sequence[Break]] = {
    "consent": consent.BREAKS,
    "sending": sending.BREAKS,
    "guards": guards.BREAKS,
    "ledger": ledger_rules.BREAKS,
}
