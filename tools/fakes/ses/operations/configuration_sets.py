"""Configuration sets; their options are kept as they came."""

from tools.fakes.http.routing import Call, Route
from tools.fakes.ses.account import Account, ConfigurationSet
from tools.fakes.ses.documents import required_text, structure, text
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.operations.paging import cut_page
from tools.fakes.ses.send_email import check_configuration_set_name

MAX_SETS = 10_000
_OPTIONS = (
    "TrackingOptions",
    "DeliveryOptions",
    "ReputationOptions",
    "SendingOptions",
    "Tags",
    "SuppressionOptions",
    "VdmOptions",
    "ArchivingOptions",
    "MessageSecurityOptions",
)
_DEFAULTS = {
    "ReputationOptions": {"ReputationMetricsEnabled": False},
    "SendingOptions": {"SendingEnabled": True},
}


def find_set(account: Account, call: Call) -> ConfigurationSet:
    """The set that the path names."""
    name = call.parameters["ConfigurationSetName"]
    configuration_set = account.configuration_sets.get(name)
    if configuration_set is None:
        raise SesError("NotFoundException", f"Configuration set <{name}> does not exist.")
    return configuration_set


def _create(account: Account, call: Call) -> object:
    name = check_configuration_set_name(required_text(call.document, "ConfigurationSetName"))
    if name in account.configuration_sets:
        raise SesError("AlreadyExistsException", f"Configuration set <{name}> already exists.")
    if len(account.configuration_sets) >= MAX_SETS:
        raise SesError("LimitExceededException", f"There can be {MAX_SETS} configuration sets.")
    options = {key: call.document[key] for key in _OPTIONS if key in call.document}
    account.configuration_sets[name] = ConfigurationSet(name, options)
    return {}


def _get(account: Account, call: Call) -> object:
    configuration_set = find_set(account, call)
    return {
        "ConfigurationSetName": configuration_set.name,
        **_DEFAULTS,
        **configuration_set.options,
    }


def _list(account: Account, call: Call) -> object:
    wanted = text(structure(call.document, "Filter"), "CONFIGURATION_SET_NAME_CONTAINS")
    names = [name for name in sorted(account.configuration_sets) if wanted in name]
    page, token = cut_page(names, text(call.document, "NextToken"), call.document.get("PageSize"))
    return {"ConfigurationSets": page, **token}


def _delete(account: Account, call: Call) -> object:
    del account.configuration_sets[find_set(account, call).name]
    return {}


ROUTES = (
    Route("CreateConfigurationSet", "POST", "configuration-sets", _create),
    Route("ListConfigurationSets", "POST", "list-configuration-sets", _list),
    Route("GetConfigurationSet", "GET", "configuration-sets/{ConfigurationSetName}", _get),
    Route("DeleteConfigurationSet", "DELETE", "configuration-sets/{ConfigurationSetName}", _delete),
)
