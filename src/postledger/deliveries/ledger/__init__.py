"""The only writer of the ledger's tables: every change of a delivery is one of these verbs."""
# mypy: implicit-reexport
# ruff: noqa: F401

from postledger.deliveries.ledger.amending import bring_forward, readdress
from postledger.deliveries.ledger.arming import Armed, arm
from postledger.deliveries.ledger.bodies import add_letters, digest_body, shared_position
from postledger.deliveries.ledger.cancelling import cancel_delivery, supersede
from postledger.deliveries.ledger.claiming import (
    claim,
    claim_suspect,
    end_alone,
    has_suspects,
    wait,
    wait_apart,
)
from postledger.deliveries.ledger.closing import drain, give_up
from postledger.deliveries.ledger.dead_addresses import (
    DeadAddress,
    note_dead_addresses,
    take_dead_addresses,
)
from postledger.deliveries.ledger.decisions import discard, requeue, resolve
from postledger.deliveries.ledger.enqueueing import enqueue
from postledger.deliveries.ledger.erasing import (
    ERASED,
    ErasedMail,
    erase,
    erase_again,
    forget_values,
)
from postledger.deliveries.ledger.evidence import record, record_log
from postledger.deliveries.ledger.feedback import find_known_feedback, take_feedback
from postledger.deliveries.ledger.fence import (
    Epoch,
    FellAgainError,
    Identity,
    Witness,
    check_epoch,
    current_epoch,
    fenced_streams,
    first_identity,
    identity,
    lift_all,
    lift_stream,
    note_consent_restored,
    put_all_in_doubt,
    put_in_doubt,
    retire_marks,
)
from postledger.deliveries.ledger.holds.limit_holds import (
    LimitCause,
    end_limit_holds,
    hold_for_limits,
)
from postledger.deliveries.ledger.holds.probes import end_probe
from postledger.deliveries.ledger.holds.sender_holds import (
    SETTINGS_READ_WITHIN,
    forget_broken_provider,
    hold_broken_provider,
    hold_sender,
    release_sender,
    retry_senders,
)
from postledger.deliveries.ledger.holds.stream_holds import cancel, hold, release
from postledger.deliveries.ledger.months import MonthInUseError, drop_month, refuse_drop
from postledger.deliveries.ledger.opening import StreamClosedError, open_stream
from postledger.deliveries.ledger.planning import Planned, plan
from postledger.deliveries.ledger.rotation import next_streams, retire_idle_streams
from postledger.deliveries.ledger.secret_bodies import forget_secrets
from postledger.deliveries.ledger.settling import settle
from postledger.deliveries.ledger.upkeep import (
    Swept,
    fold,
    forget_ended_holds,
    forget_old_pace,
    sweep,
)
