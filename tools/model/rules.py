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
    VERSION_FIRST = "version-first"  # 2: composing reads the version before it reads the deliveries
    SETTLE_BATCH = "settle-batch"  # 3: settle moves only the batch it still holds
    SETTLE_WAITING = "settle-waiting"  # 3: settle writes only waiting deliveries with an older try
    WINDOW = "window"  # 4: one armed window per batch, starting at lo
    TRY = "try"  # 5: the try rises with every batch and is not the count of attempts
    LATE_ACCEPTED = "late-accepted"  # 6: a late acceptance beats every other state
    LATE_DENIED = "late-denied"  # 6: a late denial speaks only for the try it is about
    STICKY = "sticky"  # 7: an open doubt outlives later refusals and cancels
    DEADLINE = "deadline"  # 8: no provider call starts that could outlast the lease
    ORPHANS = "orphans"  # 9: send again waits until no bytes can be under way
    ORPHANS_NOT_SENT = "orphans-not-sent"  # 9: so does requeue, of what was counted as not sent
    CANCEL = "cancel"  # 10: the drain leaves leased batches alone
    CLICKS = "clicks"  # 11: a click acts only on the delivery its page has shown
    COVERED = "covered"  # 11: no click makes a delivery wait that a live batch still covers
    COVERED_DENIED = "covered-denied"  # 6: nor does a late denial
    SPLIT = "split"  # 12: the parent shrinks before the child exists
    CANCEL_UNARMED = "cancel-unarmed"  # 15: no mail is cancelled that is armed
    CANCEL_DOUBT = "cancel-doubt"  # 15: nor one with a doubtful try
    VALUES_UNARMED = "values-unarmed"  # 16: only a mail that was never armed gets new values
    SUPERSEDE_UNARMED = "supersede-unarmed"  # 17: only a failure that was never armed is superseded
    SUPERSEDE_ENDS = "supersede-ends"  # 17: it ends before its recipient is planned again
    GIVE_UP_LEASE = "give-up-lease"  # 18: mail of a blocked sender fails only in unleased batches
    GIVE_UP_BLOCK = "give-up-block"  # 18: and only while the block stands
    READDRESS_LEASE = "readdress-lease"  # 19: only a lease that armed nothing changes an address
    READDRESS_UNTRIED = "readdress-untried"  # 19: and only if nothing was ever handed over
    TOKEN = "token"  # fencing tokens come from a sequence, so no two leases are alike
    SWEEP = "sweep"  # an armed window without an answer is in doubt, never waiting

    ALONE = "alone"  # 13: a batch that lost a worker is claimed alone
    COMPOSE_ALONE = "compose-alone"  # 13: while nothing else of its process is being composed
    ROUNDS_ALONE = "rounds-alone"  # 13: and no round of another claim begins until it is armed
    ALONE_COUNTS = "alone-counts"  # 13: only what was lost alone counts as the batch's own fault
    ALONE_ENDS = "alone-ends"  # 13: the first arm ends the lone claim, whatever is left of it
    ARM_RESETS = "arm-resets"  # 13: an arm forgets what was lost before it
    HALVE = "halve"  # 13: a batch of several is halved, only a batch of one fails
    ONE_STARTS_ANEW = "one-starts-anew"  # 13: a half of one mail has lost nothing yet
    EPOCH_NOTICE = "epoch-notice"  # 14: no verb before the process compared its new connection
    EPOCH_GATE = "epoch-gate"  # 14: nothing is claimed or armed until a person lifts the fence
    EPOCH_FENCE = "epoch-fence"  # 14: what was due in the lost time is in doubt before that
    EPOCH_GAP = "epoch-gap"  # 14: the lost time ends when the epoch begins, not before
    EPOCH_FORWARD = "epoch-forward"  # 14: what a release may have brought forward was due too
    EPOCH_SNOOZE = "epoch-snooze"  # 14: so was what a recipient may have brought forward
    EPOCH_UPKEEP = "epoch-upkeep"  # 14: sweep and drain wait until that is done
    EPOCH_ARM = "epoch-arm"  # 14: arm only with a claim of this epoch
    EPOCH_SETTLE = "epoch-settle"  # 14: a settle of another epoch is evidence only
    EPOCH_WAIT = "epoch-wait"  # 14: nor does another epoch's claim give work back
    EPOCH_TOKEN = "epoch-token"  # 14: lease tokens leap
    EPOCH_TRY = "epoch-try"  # 14: tries of deliveries put in doubt leap
    EPOCH_TRY_ENDED = "epoch-try-ended"  # 14: so do those of deliveries restored failed or in doubt
    EPOCH_POSITION = "epoch-position"  # 14: positions leap
    EPOCH_NUMBER = "epoch-number"  # 14: no epoch number is used twice, nor its leaps
    EPOCH_EVIDENCE = "epoch-evidence"  # 14: earlier evidence finds no delivery planned since
    EPOCH_ACCEPTED = "epoch-accepted"  # 14: an earlier acceptance beats every other state
    EPOCH_DENIED = "epoch-denied"  # 14: an earlier denial ends no doubt
    EPOCH_GRACE = "epoch-grace"  # 14: send again and requeue wait for the earlier epoch's bytes
    PLANNED_AFTER = "planned-after"  # 14: whom a restored run plans then starts in doubt
    EPOCH_CANCEL = "epoch-cancel"  # 14: no mail is cancelled that the lost time may have sent
    EPOCH_SUPERSEDE = "epoch-supersede"  # 14: no failure of before the restore is superseded


ALL = frozenset(Rule)

# Left out alone, none of these breaks a claim in any small configuration.
# Two conditions of arm cover each other, and without both a claim breaks:
# - A stale worker that arms may not own the lease, but a lease on a row that was swept has run
#   out; on a row that was claimed anew its window is the one the new owner would have armed.
# - A worker that arms after lease_until, yet before the sweep, renews a lease it still owns, and
#   it takes its own time before that arm, so the deadline holds all the same.
# So do two that keep a barred delivery with an open doubt, in doubt again, from waiting twice:
# - A late denial finds no such delivery under a live batch: only send again makes one wait with a
#   doubt, in a batch of its own, and a verdict leaves nothing of that window, so it is passed over.
# - A window that is armed with nothing left to send does no harm while denials spare its mails.
# The token is in none of the numbered rules: two leases with one token are told apart by what the
# sweep has changed, as arm asks for the lo it composed from, settle for the lo and armed_to that
# it armed.
# Three stand behind the fence:
# - Old claims find nothing to arm, and tokens that come again nothing to settle: the fence deletes
#   every batch that may have been claimed in the lost time, and batch numbers leap as well.
# - Evidence of an earlier epoch finds no delivery of a later one while positions leap. Without both
#   a mail is accepted that never went, sooner than without the leap alone.
BACKSTOPS = frozenset(
    {
        Rule.ARM_LEASE,
        Rule.ARM_FRESH,
        Rule.PASS_OVER,
        Rule.COVERED_DENIED,
        Rule.TOKEN,
        Rule.EPOCH_ARM,
        Rule.EPOCH_TOKEN,
        Rule.EPOCH_EVIDENCE,
    }
)
