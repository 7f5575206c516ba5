"""Reads a request of mail/send and checks it: by Twilio's schema, and by what that does not say."""

import hashlib
import json
from collections.abc import Iterator, Mapping

from tools.fakes.http.routing import Document
from tools.fakes.sendgrid import content_checks, documents, schema
from tools.fakes.sendgrid.errors import Issue, bad_request
from tools.fakes.sendgrid.mail import Mail

MAX_RECIPIENTS = 1000
MAX_CUSTOM_ARGS = 10_000  # bytes, of one personalization
_FORBIDDEN = frozenset(' ()<>[]\\,;:"')  # in an address


def read_mail(body: bytes) -> Mail:
    document = documents.parse(body)
    issues = schema.find_issues(document) or list(_find_issues(document))
    if issues:
        raise bad_request(*issues)
    personalizations: list[Document] = document["personalizations"]
    senders = [document["from"], *(entry["from"] for entry in personalizations if "from" in entry)]
    reached = [(address, entry) for entry in personalizations for address in _list_addresses(entry)]
    return Mail(
        senders=tuple(sender["email"] for sender in senders),
        recipients=tuple(address for address, _ in reached),
        custom_args=tuple(entry.get("custom_args", {}) for _, entry in reached),
        categories=tuple(document.get("categories", ())),
        document=document,
        sha256=hashlib.sha256(body).hexdigest(),
        size=len(body),
        is_sandboxed=_is_sandboxed(document),
    )


def _is_sandboxed(document: Document) -> bool:
    settings: Document = document.get("mail_settings", {})
    return settings.get("sandbox_mode", {}).get("enable") is True


def _find_issues(document: Document) -> Iterator[Issue]:
    personalizations: list[Document] = document["personalizations"]
    if not personalizations:
        yield Issue("You must have at least one personalization.", "personalizations")
    if sum(len(_list_addresses(entry)) for entry in personalizations) > MAX_RECIPIENTS:
        yield Issue(
            f"There is a limit of {MAX_RECIPIENTS} total recipients (to + cc + bcc) per request.",
            "personalizations",
        )
    yield from _check_address(document["from"], "from")
    for number, personalization in enumerate(personalizations):
        yield from _check_personalization(personalization, f"personalizations.{number}")
    yield from _check_subject(document)
    yield from _check_reply_to(document)
    if "custom_args" in document:
        yield Issue("This fake takes custom_args of personalizations only.", "custom_args")
    yield from content_checks.find_issues(document)


def _check_personalization(personalization: Document, field: str) -> Iterator[Issue]:
    if not personalization["to"]:
        yield Issue(
            "The to array is required for all personalization objects, and must have at least one"
            " email object with a valid email address.",
            f"{field}.to",
        )
    if "from" in personalization:
        yield from _check_address(personalization["from"], f"{field}.from")
    seen = set()
    for kind in ("to", "cc", "bcc"):
        for number, entry in enumerate(personalization.get(kind, ())):
            yield from _check_address(entry, f"{field}.{kind}.{number}")
            if entry["email"].lower() in seen:
                yield Issue(
                    "Each email address in the personalization block should be unique between to,"
                    f" cc, and bcc. We found the first duplicate instance of [{entry['email']}] in"
                    f" the {field}.{kind} field.",
                    field,
                )
            seen.add(entry["email"].lower())
    yield from content_checks.check_headers(personalization, f"{field}.")
    yield from _check_custom_args(personalization.get("custom_args", {}), f"{field}.custom_args")


def _check_address(entry: Document, field: str) -> Iterator[Issue]:
    address: str = entry["email"]
    if not address.isascii() or not address.isprintable() or _FORBIDDEN.intersection(address):
        yield Issue("Does not contain a valid address.", f"{field}.email")
    if not content_checks.is_one_line(entry.get("name", "")):
        yield Issue("The name must not have control characters.", f"{field}.name")


def _check_custom_args(custom_args: Mapping[str, object], field: str) -> Iterator[Issue]:
    if not all(isinstance(value, str) for value in custom_args.values()):
        yield Issue("The custom_args must be an object of strings.", field)
    if len(json.dumps(custom_args, ensure_ascii=False).encode()) > MAX_CUSTOM_ARGS:
        yield Issue(f"The custom_args can be no more than {MAX_CUSTOM_ARGS} bytes.", field)


def _check_subject(document: Document) -> Iterator[Issue]:
    entries: list[Document] = [document, *document["personalizations"]]
    subjects = [entry.get("subject", "") for entry in entries]
    if not subjects[0] and not all(subjects[1:]):
        yield Issue(
            "The subject is required. You can get around this requirement if you use a template"
            " with a subject defined or if every personalization has a subject defined.",
            "subject",
        )
    if not all(map(content_checks.is_one_line, subjects)):
        yield Issue("The subject must not have control characters.", "subject")


def _check_reply_to(document: Document) -> Iterator[Issue]:
    if "reply_to" in document and "reply_to_list" in document:
        yield Issue("Only one of reply_to and reply_to_list may be used.", "reply_to_list")
    if "reply_to" in document:
        yield from _check_address(document["reply_to"], "reply_to")
    for number, entry in enumerate(document.get("reply_to_list", ())):
        yield from _check_address(entry, f"reply_to_list.{number}")


def _list_addresses(personalization: Document) -> list[str]:
    return [
        entry["email"] for kind in ("to", "cc", "bcc") for entry in personalization.get(kind, ())
    ]
