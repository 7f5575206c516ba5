"""Notifications whose contact got another address while they waited go to the new one.

Whether that address may be mailed is asked afterwards, as of any other.
"""

from collections.abc import Mapping

from postledger.contacts import queries as contact_queries
from postledger.deliveries import ledger
from postledger.deliveries.entries import Claim, StreamKind
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.rounds.round_input import RoundInput


def find_moved(stream: StreamFacts, read: RoundInput) -> Mapping[int, int]:
    """The contacts that have another address than their notification, by its position. Pure.

    The mail of a run keeps the address that it was planned for, which is its key. A contact that is
    gone has no other address.
    """
    if stream.kind is not StreamKind.TOPIC:
        return {}
    addresses = read.standings.contacts
    return {
        item.position: item.contact_id
        for item in read.recipients
        if item.contact_id is not None
        and addresses.get(item.contact_id, item.address.lower()) != item.address.lower()
    }


def follow(stream: StreamFacts, claim: Claim, moved: Mapping[int, int]) -> None:
    """Readdresses these notifications; one that was tried before keeps its address."""
    addresses = contact_queries.find_addresses(stream.workspace_id, list(moved.values()))
    wanted = {at: addresses[id_] for at, id_ in moved.items() if id_ in addresses}
    ledger.readdress(claim, stream.id, wanted)
