"""What a key may do, and what the account has: scopes, credits, senders, domains."""

from tools.fakes.http.exchanges import Answer
from tools.fakes.http.routing import Call, Route
from tools.fakes.sendgrid.account import Caller
from tools.fakes.sendgrid.answers import answer_document

USER_ID = 1234567


def _list_scopes(caller: Caller, _: Call) -> Answer:
    return answer_document({"scopes": sorted(caller.key.scopes)})


def _list_credits(caller: Caller, _: Call) -> Answer:
    left = caller.account.credits
    return answer_document(
        {
            "remain": left.remain,
            "total": left.total,
            "overage": left.overage,
            "used": left.used,
            "last_reset": left.last_reset.isoformat(),
            "next_reset": left.next_reset.isoformat(),
            "reset_frequency": "monthly",
        }
    )


def _list_senders(caller: Caller, call: Call) -> Answer:
    """Unverified ones, too; `lastSeenID` is the id of the last one of the page before."""
    results = [
        {
            "id": number,
            "nickname": address,
            "from_email": address,
            "from_name": "",
            "reply_to": address,
            "reply_to_name": "",
            "address": "1 Fake Street",
            "address2": "",
            "state": "",
            "city": "Denver",
            "country": "USA",
            "zip": "",
            "verified": is_verified,
            "locked": False,
        }
        for number, (address, is_verified) in enumerate(caller.account.senders.items(), 1)
    ]
    after = _read_number(call, "lastSeenID", 0)
    return answer_document({"results": results[after:][: _read_number(call, "limit", 50)]})


def _list_domains(caller: Caller, call: Call) -> Answer:
    domains = [
        _describe_domain(number, name, is_valid=is_valid)
        for number, (name, is_valid) in enumerate(caller.account.domains.items(), 1)
        if call.first("domain") in name
    ]
    begin = _read_number(call, "offset", 0)
    return answer_document(domains[begin:][: _read_number(call, "limit", 50)])


def _describe_domain(number: int, name: str, *, is_valid: bool) -> object:
    def record(host: str, data: str) -> object:
        return {
            "valid": is_valid,
            "type": "cname",
            "host": f"{host}.{name}",
            "data": f"{data}.u{USER_ID}.wl.sendgrid.net",
        }

    return {
        "id": number,
        "user_id": USER_ID,
        "subdomain": "em1234",
        "domain": name,
        "username": "fake",
        "ips": [],
        "custom_spf": False,
        "default": number == 1,
        "legacy": False,
        "automatic_security": True,
        "valid": is_valid,
        "dns": {
            "mail_cname": record("em1234", "em1234"),
            "dkim1": record("s1._domainkey", "s1.domainkey"),
            "dkim2": record("s2._domainkey", "s2.domainkey"),
        },
    }


def _read_number(call: Call, name: str, usual: int) -> int:
    text = call.first(name)
    return int(text) if text.isdecimal() else usual


ROUTES = (
    Route("ListScope", "GET", "scopes", _list_scopes),
    Route("ListCredit", "GET", "user/credits", _list_credits),
    Route("ListVerifiedSender", "GET", "verified_senders", _list_senders),
    Route("ListAuthenticatedDomain", "GET", "whitelabel/domains", _list_domains),
)
