"""The form that connects a provider: the settings of each kind, and errors beside their fields."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, override

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts import setting_errors
from postledger.accounts.provider_accounts import Settings
from postledger.lib import event_loops
from postledger.lib.check_results import Level
from postledger.providers import registry
from postledger.providers.base import Finding
from postledger.web.dashboard.forms import AddressField, PageForm, WholeNumberField
from postledger.web.shared.sentences import translate

# The fields of each kind; they are named as its settings are, except for those below.
FIELDS: Final[Mapping[str, Sequence[str]]] = {
    registry.SANDBOX: (),
    "smtp": ("host", "port", "tls", "username", "password"),
    "ses": (
        "region",
        "access_key_id",
        "secret_access_key",
        "configuration_set",
        "endpoint",
    ),
    "sendgrid": ("api_key", "sendgrid_region", "endpoint"),
}
_SETTINGS = {"sendgrid_region": "region"}
_KEYS = ("access_key_id", "secret_access_key")
_REQUIRED = {"smtp": "host", "ses": "region", "sendgrid": "api_key"}
_SECRETS = frozenset({"password", "secret_access_key", "api_key"})
# What a provider says of these is mended at the address, or by choosing another.
_ABOUT_ADDRESS = frozenset({"identity", "dkim", "mail-from"})
# Their remedy says all that is to be done.
_TOLD_WHOLE = frozenset({"answer", "encryption", "name"})
# Where SES is offered; any other region can be written too.
REGIONS = (
    *("af-south-1", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1"),
    *("ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ca-central-1", "eu-central-1"),
    *("eu-central-2", "eu-north-1", "eu-south-1", "eu-west-1", "eu-west-2", "eu-west-3"),
    *("il-central-1", "me-central-1", "me-south-1", "sa-east-1", "us-east-1", "us-east-2"),
    *("us-west-1", "us-west-2"),
)


class ProviderForm(PageForm):
    kind = forms.ChoiceField(choices=[(kind, kind) for kind in FIELDS])
    address = AddressField(
        label=gettext_lazy("Sender address"),
        help_text=gettext_lazy("Your emails come from it."),
        widget=forms.EmailInput({"autocomplete": "off"}),
    )
    host = forms.CharField(
        label=gettext_lazy("Server"),
        max_length=253,
        required=False,
        help_text=gettext_lazy("As smtp.example.com."),
    )
    port = WholeNumberField(
        label=gettext_lazy("Port"),
        example="587",
        required=False,
        help_text=gettext_lazy("Empty for the usual one."),
    )
    tls = forms.ChoiceField(
        label=gettext_lazy("Encryption"),
        choices=[
            ("starttls", gettext_lazy("STARTTLS, usually port 587")),
            ("implicit", gettext_lazy("TLS from the start, usually port 465")),
            ("none", gettext_lazy("None, usually port 25")),
        ],
        required=False,
    )
    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=255,
        required=False,
        help_text=gettext_lazy("Empty if the server asks for none."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        max_length=1000,
        strip=False,
        required=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    region = forms.CharField(
        label=gettext_lazy("Region"),
        max_length=40,
        required=False,
        help_text=gettext_lazy("As eu-west-1."),
        widget=forms.TextInput({"list": "regions", "autocomplete": "off"}),
    )
    access_key_id = forms.CharField(
        label=gettext_lazy("Access key id"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("Empty to use the credentials of this machine."),
        widget=forms.TextInput({"class": "input mono", "autocomplete": "off"}),
    )
    secret_access_key = forms.CharField(
        label=gettext_lazy("Secret access key"),
        max_length=500,
        required=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    api_key = forms.CharField(
        label=gettext_lazy("API key"),
        max_length=500,
        required=False,
        help_text=gettext_lazy("It needs the permission Mail Send."),
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )
    sendgrid_region = forms.ChoiceField(
        label=gettext_lazy("Region"),
        choices=[("global", gettext_lazy("Global")), ("eu", gettext_lazy("European Union"))],
        required=False,
        help_text=gettext_lazy("Of your account at SendGrid."),
    )
    configuration_set = forms.CharField(
        label=gettext_lazy("Configuration set"),
        max_length=64,
        required=False,
        help_text=gettext_lazy("It has SES report bounces and complaints."),
    )
    endpoint = forms.CharField(
        label=gettext_lazy("Endpoint"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("Only for a fake on this machine."),
    )

    def read_settings(self) -> dict[str, object]:
        """The settings of the chosen kind; what was left empty stays unset."""
        values = self.cleaned_data
        names = [name for name in FIELDS[values["kind"]] if values.get(name)]
        return {_SETTINGS.get(name, name): values[name] for name in names}

    @override
    def clean(self) -> dict[str, Any] | None:
        kind = self.cleaned_data.get("kind", registry.SANDBOX)
        required = _REQUIRED.get(kind)
        if required and not self.cleaned_data.get(required):
            self.add_error(required, _("Fill this in."))
        elif kind == "ses" and (missing := self._find_missing_key()):
            self.add_error(missing, _("Both keys belong together: enter both, or neither."))
        elif not self.errors:
            module, settings = registry.load_module(kind), self.read_settings()
            for error in setting_errors.find_setting_errors(lambda: module.build(settings)):
                field = error.name if error.name in self.fields else None
                self.add_error(field, _write_sentence(translate(error.message)))
        return super().clean()

    def _find_missing_key(self) -> str:
        """The one of the two keys that was not entered, if only one was."""
        missing = [name for name in _KEYS if not self.cleaned_data.get(name)]
        return missing[0] if len(missing) == 1 else ""

    def ask_for_secret(self, *, may_ignore: bool) -> None:
        """Says that a secret has to be typed again: no page repeats it."""
        again = _("Type it again: a page repeats no secret.")
        text = _("Enter it again, then connect it all the same.") if may_ignore else again
        for name in _SECRETS & set(FIELDS.get(self.data.get("kind", ""), ())):
            if self.errors and self.data.get(name) and name not in self.errors:
                self.add_error(name, text)

    def check_provider(self, settings: Settings) -> Sequence[Finding]:
        """Asks the provider, within seconds, and returns what keeps it from sending."""
        values = self.cleaned_data
        module = registry.load_module(values["kind"])
        findings = event_loops.run_bounded(module.check(settings, [values["address"]]))
        return [finding for finding in findings if finding.level is Level.PROBLEM]

    def refuse_findings(self, problems: Sequence[Finding]) -> None:
        """Puts each problem beside the field that a person has to change."""
        for finding in problems:
            field = _find_field(finding, FIELDS[self.cleaned_data["kind"]])
            parts = [translate(finding.message), translate(finding.remedy)]
            if is_setting(finding) and finding.subject not in _TOLD_WHOLE:
                parts.insert(1, _("Correct it and check again."))
            self.add_error(field, " ".join(filter(None, parts)))


def _write_sentence(text: str) -> str:
    """What stands in the middle of a sentence elsewhere."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def is_setting(finding: Finding) -> bool:
    """Whether what was entered is wrong, and not the state of the account at the provider."""
    return bool(finding.settings or finding.secrets)


def _find_field(finding: Finding, fields: Sequence[str]) -> str | None:
    """The secret if it may be wrong: it is the one that cannot be read again."""
    named = [*finding.settings, *finding.secrets]
    known = [name for name in fields if _SETTINGS.get(name, name) in named]
    if known:
        return next((name for name in known if name in _SECRETS), known[0])
    return "address" if finding.subject in _ABOUT_ADDRESS else None
