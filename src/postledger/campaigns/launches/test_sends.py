"""Tests of a campaign: to a few named addresses, never to its audience."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import structlog

from postledger.campaigns.models import Run
from postledger.contacts import queries
from postledger.contacts.models import Contact
from postledger.content.rendering.letter import TO_NAME
from postledger.deliveries import ledger
from postledger.deliveries.entries import NewDelivery
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.mailing import snapshot, stream_letters
from postledger.mailing.models import Variant
from postledger.mailing.snapshot import ByLocale, LetterChoice
from postledger.providers import addresses

MAX_ADDRESSES = 100
# Of words that are no address so many are named, and so much of each.
_NAMED, _LONGEST_NAMED = 5, 254

_SEPARATOR = re.compile(r"[,;\s]+")
_log = structlog.get_logger(__name__)


class NoTestAddressError(RefusedError):
    code = "test_emails_empty"


class WrongTestAddressError(RefusedError):
    code = "test_address_invalid"


class TooManyTestAddressesError(RefusedError):
    code = "test_addresses_too_many"


class NoTestLetterError(RefusedError):
    code = "test_letter_missing"


def parse_addresses(text: str) -> tuple[str, ...]:
    """The addresses in a text, each once, in their order; invalid ones are logged and left out."""
    parsed, invalid = _split_addresses(text)
    if invalid:
        _log.warning("test_addresses_invalid", count=len(invalid))
    if not parsed:
        raise NoTestAddressError(
            say(
                "There is no address to send a test to. Name some, or set the workspace's test"
                " addresses in its settings or with postledger workspace tests."
            )
        )
    if len(parsed) > MAX_ADDRESSES:
        _log.warning("test_addresses_too_many", count=len(parsed) - MAX_ADDRESSES)
    return parsed[:MAX_ADDRESSES]


def refuse_wrong_addresses(text: str, *, known: Iterable[str]) -> None:
    """Refuses what a person wrote if it has an invalid address, or too many: nobody is left out.

    Invalid is a domain without an ending, too, unless one of the known addresses has it.
    """
    parsed, invalid = _split_addresses(text)
    invalid += [address for address in parsed if addresses.lacks_ending(address, known=known)]
    if invalid:
        raise WrongTestAddressError(
            say(
                "Not an email address: %(addresses)s. Write each address as name@example.com, with"
                " a comma between two.",
                addresses=", ".join(word[:_LONGEST_NAMED] for word in invalid[:_NAMED]),
            )
        )
    if len(parsed) > MAX_ADDRESSES:
        raise TooManyTestAddressesError(
            say(
                "A test goes to %(most)s addresses at most, and these are %(number)s. Leave some"
                " out.",
                most=MAX_ADDRESSES,
                number=len(parsed),
            )
        )


def _split_addresses(text: str) -> tuple[tuple[str, ...], list[str]]:
    """The addresses in a text, each once, and the words that are none."""
    parsed: dict[str, str] = {}
    invalid: list[str] = []
    for word in filter(None, _SEPARATOR.split(text)):
        try:
            address = addresses.canonical(word)
        except addresses.InvalidAddressError:
            invalid.append(word)
        else:
            parsed.setdefault(address.lower(), address)
    return tuple(parsed.values()), invalid


def plan_test(
    run: Run,
    choice: LetterChoice,
    test_addresses: tuple[str, ...],
    test_contact: Contact | None = None,
) -> None:
    """Writes the mails of a test in the caller's transaction.

    All recipients get the values of `test_contact`. Without one, a contact gets its own values;
    other recipients, and all in the sandbox, get each variable's name. Addresses without a letter
    are counted as excluded.
    """
    contacts = _find_contacts(run, test_addresses, test_contact)
    locales = queries.list_locales(
        run.workspace_id,
        contact_ids=[contact.pk for contact in contacts.values()],
        list_key=run.list_key or None,
    )
    variants = {
        address: _variant(run, choice, contacts.get(address.lower()), locales)
        for address in test_addresses
    }
    letters = stream_letters.resolve_letters(
        run.letter_stream, choice, set(variants.values()), launched_at=run.launched_at
    )
    lines = [
        NewDelivery(
            address,
            dedupe_key=address.lower(),
            variables=_values(choice, contacts.get(address.lower())),
            letter=number,
        )
        for address in sorted(test_addresses, key=str.lower)
        if (number := letters[variants[address]]) is not None
    ]
    without_letter = Variant.objects.filter(stream_id=run.stream_id, letter=None)
    codes = dict(without_letter.values_list("variant", "code"))
    excluded = Counter(codes[variant] for variant in variants.values() if variant in codes)
    if not lines:
        raise NoTestLetterError(
            say(
                "There is no letter for any of these addresses (%(reasons)s): the content is for"
                " other places or languages. Name a contact that gets it, or add content for"
                " everybody.",
                reasons=", ".join(sorted(excluded)),
            )
        )
    Run.objects.filter(pk=run.pk).update(excluded=excluded)
    ledger.enqueue(run.stream_id, lines)


def _find_contacts(
    run: Run, test_addresses: tuple[str, ...], test_contact: Contact | None
) -> Mapping[str, Contact]:
    """Whose values each address gets, by lower-case address."""
    if test_contact is not None:
        return {address.lower(): test_contact for address in test_addresses}
    return {} if run.is_sandboxed else queries.find_contacts(run.workspace_id, test_addresses)


def _variant(
    run: Run, choice: LetterChoice, contact: Contact | None, locales: Mapping[int, str]
) -> str:
    if isinstance(choice, ByLocale):
        if contact is None:
            return choice.fallback or next(iter(choice.numbers))
        return locales.get(contact.pk, "")
    places = set(snapshot.list_places(choice, now=run.launched_at))
    return " ".join(sorted(places.intersection(contact.ocd_ids))) if contact else ""


def _values(choice: LetterChoice, contact: Contact | None) -> dict[str, object]:
    if contact is None:
        # A name in brackets is for eyes, and no name of a mailbox.
        return {**{name: f"[{name}]" for name in ("name", *choice.names)}, TO_NAME: ""}
    given = contact.attributes
    values = {name: given[name] for name in choice.names if name in given}
    from_name = {"from_name": contact.from_name} if contact.from_name else {}
    return {**values, "name": contact.name, **from_name}
