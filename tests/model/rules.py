"""The rules of the ledger, each one a switch the checker can leave out."""

from enum import StrEnum


class Rule(StrEnum):
    """One condition of the protocol; the number in each comment is the rule it belongs to."""

    ARM_LEASE = "arm-lease"  # 1: arm only with the lease that is on the row
    ARM_FRESH = "arm-fresh"  # 1: arm only before the lease has run out
    ARM_HOLD = "arm-hold"  # 1: arm nothing once a hold or a cancel has committed
    ARM_GATES = "arm-gates"  # 1: verdicts of the gates commit together with the arm
    PASS_OVER = "pass-over"  # 1: a window the gates leave nothing of is passed over, not armed
    VERSION = "version"  # 2: a result given without the lease invalidates what was composed
    VERSION_FIRST = "version-first"  # 2: composing reads the version before it reads the lines
    SETTLE_BATCH = "settle-batch"  # 3: settle moves only the batch it still holds
    SETTLE_WAITING = "settle-waiting"  # 3: settle writes only waiting lines with an older try
    WINDOW = "window"  # 4: one armed window per batch, starting at lo
    TRY = "try"  # 5: the try rises with every batch and is not the count of attempts
    LATE_ACCEPTED = "late-accepted"  # 6: a late acceptance beats every other state
    LATE_DENIED = "late-denied"  # 6: a late denial speaks only for the try it is about
    STICKY = "sticky"  # 7: an open doubt outlives later refusals and cancels
    DEADLINE = "deadline"  # 8: no provider call starts that could outlast the lease
    ORPHANS = "orphans"  # 9: send again waits until no bytes can be under way
    ORPHANS_NOT_SENT = "orphans-not-sent"  # 9: so does requeue, of what was counted as not sent
    CANCEL = "cancel"  # 10: the drain leaves leased batches alone
    CLICKS = "clicks"  # 11: a click acts only on the line its page has shown
    COVERED = "covered"  # 11: no click makes a line wait that a live batch still covers
    COVERED_DENIED = "covered-denied"  # 6: nor does a late denial
    SPLIT = "split"  # 12: the parent shrinks before the child exists
    TOKEN = "token"  # fencing tokens come from a sequence, so no two leases are alike
    SWEEP = "sweep"  # an armed window without an answer is in doubt, never waiting


ALL = frozenset(Rule)

# Left out alone, none of these breaks a claim in any small configuration.
# Two conditions of arm cover each other, and without both a claim breaks:
# - A stale worker that arms may not own the lease, but a lease on a row that was swept has run
#   out; on a row that was claimed anew its window is the one the new owner would have armed.
# - A worker that arms after lease_until, yet before the sweep, renews a lease it still owns, and
#   it takes its own time before that arm, so the deadline holds all the same.
# So do two that keep a barred line with an open doubt, in doubt again, from waiting twice:
# - A late denial finds no such line under a live batch: only send again makes a line wait with a
#   doubt, in a batch of its own, and a verdict leaves nothing of that window, so it is passed over.
# - A window that is armed with nothing left to send does no harm while denials spare its lines.
# The last stands beside the twelve: two leases with one token are told apart by what the sweep
# has changed, as arm asks for the lo it composed from, settle for the lo and armed_to it armed.
BACKSTOPS = frozenset(
    {Rule.ARM_LEASE, Rule.ARM_FRESH, Rule.PASS_OVER, Rule.COVERED_DENIED, Rule.TOKEN}
)
