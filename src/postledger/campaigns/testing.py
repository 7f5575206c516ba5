"""Tests of a campaign: to a few addresses that somebody names, never to its audience."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

import structlog

from postledger.campaigns import frozen, variants
from postledger.campaigns.frozen import ByLocale, Frozen
from postledger.campaigns.models import Run, Variant
from postledger.contacts import roll
from postledger.contacts.roll import Reader
from postledger.deliveries import ledger
from postledger.deliveries.entries import Line
from postledger.lib.errors import RefusedError
from postledger.providers import addresses as addressing

MOST_ADDRESSES = 100

_BETWEEN = re.compile(r"[,;\s]+")
_log = structlog.get_logger(__name__)


class NoTestAddressError(RefusedError):
    code: ClassVar[str] = "test_emails_empty"


class NoTestLetterError(RefusedError):
    code: ClassVar[str] = "test_letter_missing"


def addresses(written: str) -> tuple[str, ...]:
    """The addresses in a text, each once, in their order; what is none is left out and logged."""
    found: dict[str, str] = {}
    invalid = 0
    for word in filter(None, _BETWEEN.split(written)):
        try:
            address = addressing.canonical(word)
        except addressing.InvalidAddressError:
            invalid += 1
            continue
        found.setdefault(address.lower(), address)
    if invalid:
        _log.warning("addresses for tests were left out: they are not addresses", count=invalid)
    if not found:
        raise NoTestAddressError(
            "There is no address that a test could go to. Name some, or set those of the workspace"
            " with postledger workspace tests."
        )
    if len(found) > MOST_ADDRESSES:
        too_many = len(found) - MOST_ADDRESSES
        _log.warning("addresses for tests were left out: there are too many", count=too_many)
    return tuple(found.values())[:MOST_ADDRESSES]


def plan(run: Run, chosen: Frozen, given: tuple[str, ...]) -> None:
    """Writes a test's mails, in the caller's transaction; readers who are contacts are addressed
    as such, of others every value is shown by its name. Those for whom there is no letter are
    counted.
    """
    readers = roll.readers(run.workspace_id, given)
    meant = {address: _variant(run, chosen, readers.get(address.lower())) for address in given}
    letters = variants.resolve(run, chosen, set(meant.values()))
    lines = [
        Line(
            address,
            dedupe_key=address.lower(),
            variables=_values(chosen, readers.get(address.lower())),
            letter=number,
        )
        for address in sorted(given, key=str.lower)
        if (number := letters[meant[address]]) is not None
    ]
    excluded = _excluded(run, meant.values())
    if not lines:
        raise _no_letter(excluded)
    Run.objects.filter(pk=run.pk).update(excluded=excluded)
    ledger.enqueue(run.stream_id, lines)


def _excluded(run: Run, meant: Iterable[str]) -> dict[str, int]:
    """How many have no letter, by why."""
    unserved = Variant.objects.filter(run=run, letter=None)
    why = dict(unserved.values_list("variant", "code"))
    return Counter(why[variant] for variant in meant if variant in why)


def _no_letter(codes: Iterable[str]) -> NoTestLetterError:
    return NoTestLetterError(
        f"There is no letter for any of these addresses ({', '.join(sorted(codes))}): what the"
        " campaign says is for readers of other places or languages. Name a contact to whom it"
        " goes, or let it say something for everybody."
    )


def _variant(run: Run, chosen: Frozen, reader: Reader | None) -> str:
    if isinstance(chosen, ByLocale):
        return reader.locale if reader else chosen.fallback or next(iter(chosen.numbers))
    told_apart = set(frozen.scopes(chosen, now=run.launched_at))
    return " ".join(sorted(told_apart.intersection(reader.ocd_ids))) if reader else ""


def _values(chosen: Frozen, reader: Reader | None) -> dict[str, object]:
    if reader is None:
        return {name: f"[{name}]" for name in ("name", *chosen.names)}
    known = {name: reader.attributes[name] for name in chosen.names if name in reader.attributes}
    from_name = {"from_name": reader.from_name} if reader.from_name else {}
    return {**known, "name": reader.name, **from_name}
