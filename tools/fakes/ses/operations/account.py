"""The account: its state, its quota, and which reasons suppress."""

from tools.fakes.http.routing import Call, Route
from tools.fakes.ses.account import Account
from tools.fakes.ses.documents import texts
from tools.fakes.ses.operations.suppressions import check_reason


def _get(account: Account, call: Call) -> object:
    return {
        "DedicatedIpAutoWarmupEnabled": False,
        "EnforcementStatus": account.enforcement_status,
        "ProductionAccessEnabled": account.has_production_access,
        "SendingEnabled": account.is_sending_enabled,
        "SendQuota": {
            "Max24HourSend": float(account.quota.max_24_hour_send),
            "MaxSendRate": float(account.quota.max_send_rate),
            "SentLast24Hours": float(account.quota.report_sent(call.now)),
        },
        "SuppressionAttributes": {"SuppressedReasons": account.suppressed_reasons},
    }


def _put_reasons(account: Account, call: Call) -> object:
    account.suppressed_reasons = [
        check_reason(reason) for reason in texts(call.document, "SuppressedReasons")
    ]
    return {}


ROUTES = (
    Route("GetAccount", "GET", "account", _get),
    Route("PutAccountSuppressionAttributes", "PUT", "account/suppression", _put_reasons),
)
