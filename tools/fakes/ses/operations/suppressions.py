"""The account's list of suppressed destinations."""

from datetime import UTC, datetime
from typing import Any

from tools.fakes.http.routing import Call, Route
from tools.fakes.ses.account import Account, Suppression
from tools.fakes.ses.addresses import read_address
from tools.fakes.ses.documents import required_text
from tools.fakes.ses.errors import SesError, bad_request
from tools.fakes.ses.operations.paging import cut_page

REASONS = ("BOUNCE", "COMPLAINT")


def check_reason(reason: str) -> str:
    if reason not in REASONS:
        raise bad_request(f"Reason must be one of {', '.join(REASONS)}.")
    return reason


def _put(account: Account, call: Call) -> object:
    address = read_address(required_text(call.document, "EmailAddress")).lower()
    reason = check_reason(required_text(call.document, "Reason"))
    account.suppressions[address] = Suppression(reason, call.now)
    return {}


def _get(account: Account, call: Call) -> object:
    address = _find_address(account, call)
    return {"SuppressedDestination": _describe(address, account.suppressions[address])}


def _delete(account: Account, call: Call) -> object:
    del account.suppressions[_find_address(account, call)]
    return {}


def _list(account: Account, call: Call) -> object:
    reasons = call.query.get("Reason", REASONS)
    since = _read_time(call, "StartDate", datetime.min.replace(tzinfo=UTC))
    until = _read_time(call, "EndDate", datetime.max.replace(tzinfo=UTC))
    chosen = [
        _describe(address, suppression)
        for address, suppression in sorted(account.suppressions.items())
        if suppression.reason in reasons and since <= suppression.updated_at <= until
    ]
    page, token = cut_page(chosen, call.first("NextToken"), call.first("PageSize") or None)
    return {"SuppressedDestinationSummaries": page, **token}


def _find_address(account: Account, call: Call) -> str:
    address = call.parameters["EmailAddress"].lower()
    if address not in account.suppressions:
        raise SesError(
            "NotFoundException", f"Email address {address} does not exist on your suppression list."
        )
    return address


def _describe(address: str, suppression: Suppression) -> dict[str, Any]:
    return {
        "EmailAddress": address,
        "Reason": suppression.reason,
        "LastUpdateTime": suppression.updated_at.timestamp(),
    }


def _read_time(call: Call, name: str, missing: datetime) -> datetime:
    given = call.first(name)
    if not given:
        return missing
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise bad_request(f"{name} is not a time.") from None


ROUTES = (
    Route("PutSuppressedDestination", "PUT", "suppression/addresses", _put),
    Route("ListSuppressedDestinations", "GET", "suppression/addresses", _list),
    Route("GetSuppressedDestination", "GET", "suppression/addresses/{EmailAddress}", _get),
    Route("DeleteSuppressedDestination", "DELETE", "suppression/addresses/{EmailAddress}", _delete),
)
