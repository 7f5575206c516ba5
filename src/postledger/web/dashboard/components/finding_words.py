"""What checks found in content, in the words of pages and in the reader's language."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from django import template
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.content.rendering.footer import FooterEnvMissingError
from postledger.content.rendering.html.checks import MOST_TOLD, Finding, FindingsError
from postledger.lib.errors import RefusedError
from postledger.web.shared.sentences import translate

register = template.Library()

# The fields of a text, as its form names them.
_PLACES: Mapping[str, Promise | str] = {
    "subject": gettext_lazy("Subject"),
    "preheader": gettext_lazy("Preheader"),
    "body": gettext_lazy("Text"),
    "text": gettext_lazy("Plain text of your own"),
    "footer": gettext_lazy("Footer"),
    "sender": gettext_lazy("Sender"),
    "locale": gettext_lazy("Language"),
    "page": gettext_lazy("Page"),
    "html": "HTML",
}
# Where pages have other words than the API; other remedies are translated.
_REMEDIES: Mapping[str, Promise] = {
    "subject_missing": gettext_lazy("The email has no subject yet. Write one."),
    "html_missing": gettext_lazy("The email has no text yet. Write one."),
    "unknown_variable": gettext_lazy(
        "The text uses %(place)s, which is not declared. Add it to the required or the optional"
        " variables, or correct its name."
    ),
    "slice_value_unknown": gettext_lazy(
        "A slice uses %(place)s, which no email has a value for. Slices can use name, email,"
        " from_name and unsubscribe_url: change the slice."
    ),
    "template_missing_variable": gettext_lazy("%(place)s has no value, and it may not be empty."),
    "link_unreachable": gettext_lazy(
        "Begin the link with https:// or mailto:. A relative link does not work in an email."
    ),
    "script_url": gettext_lazy("Replace the javascript: link by the address of a page."),
    "footer_env_missing": gettext_lazy(
        "It is not complete. The organisation and its postal address are entered under Branding,"
        " and the unsubscribe page by an owner in the settings."
    ),
}
# They name the variable themselves.
_NAMING = ("unknown_variable", "slice_value_unknown")
NO_SECRET = gettext_lazy(
    "The operator has to set UNSUBSCRIBE_SECRET: no unsubscribe link works without."
)


@register.filter
def place(finding: Finding) -> str:
    """Where it is: a field of the form with the line in it, or the name of a variable."""
    field, _comma, line = finding.place.partition(", line ")
    if field not in _PLACES:
        return translate(finding.place)
    if not line:
        return str(_PLACES[field])
    return _("%(place)s, line %(line)s") % {"place": _PLACES[field], "line": line}


@register.filter
def remedy(finding: Finding) -> str:
    """What to do about it."""
    if finding.code == "footer_env_missing" and not settings.UNSUBSCRIBE_SECRET:
        return str(NO_SECRET)
    words = _REMEDIES.get(finding.code)
    return str(words) % {"place": finding.place} if words else translate(finding.remedy)


def describe_refusal(error: RefusedError) -> str:
    """What a service says; where content was refused, what was found in it."""
    match error:
        case FindingsError():
            return " ".join(map(describe_finding, error.findings[:MOST_TOLD]))
        case FooterEnvMissingError():
            return describe_finding(Finding(error.code, "footer", error.sentence))
        case _:
            return translate(error)


def describe_finding(finding: Finding) -> str:
    """Both in one sentence."""
    if finding.code in _NAMING:
        return remedy(finding)
    return f"{place(finding)}: {remedy(finding)}"


def name_for_slices(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same for the author of an article, who can declare nothing."""
    return tuple(
        replace(finding, code="slice_value_unknown")
        if finding.code == "unknown_variable"
        else finding
        for finding in findings
    )
