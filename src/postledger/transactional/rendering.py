"""Renders the template and the footer that a request only names."""

from dataclasses import dataclass, replace

from postledger.accounts import queries as accounts
from postledger.contacts import unsubscribe_links
from postledger.content import isolation, letters, templates
from postledger.content.brandings import find_branding
from postledger.content.isolation import ContentTooCostlyError
from postledger.content.letters import LetterCache
from postledger.content.locales import MissingLocaleError
from postledger.content.rendering import footer as footers
from postledger.content.rendering.branding import Branding
from postledger.content.rendering.compiled_template import MissingVariableError
from postledger.content.rendering.footer import FooterEnvMissingError
from postledger.content.rendering.html import checks, html_allow_list, text_to_html
from postledger.content.rendering.letter import Letter
from postledger.content.rendering.liquid.liquid import Budget
from postledger.content.rendering.source import Source, make_script
from postledger.content.templates import TemplateUnknownError
from postledger.content.versions import Version
from postledger.lib.errors import RefusedError, TooManyRequestsError
from postledger.transactional.requests import (
    MailIssue,
    MailRequest,
    MailWarning,
    TemplateReference,
    Validation,
)

_LONGEST_NAME = 64  # of a variable that a template can declare

_MOST_UNITS = 10_000_000  # for all mails of a request: a few seconds
_SEARCHED_TAG_COST = 50


class RequestTooCostlyError(ContentTooCostlyError):
    """Says something about all mails of a request together, and nothing about one of them."""


@dataclass(slots=True)
class RequestBudget:
    """What the mails of one request have cost to render, in the units of `liquid.Budget`."""

    spent: int = 0

    def charge(self, cost: int) -> None:
        self.spent += cost
        if self.spent > _MOST_UNITS:
            raise RequestTooCostlyError(
                "The mails of this request take too much work to render together. Send fewer mails"
                " in one request, or use fewer loops, filters and tags in their templates."
            )


def render(
    workspace_id: int, mail: MailRequest, budget: RequestBudget, *, is_test: bool = False
) -> MailRequest | list[MailIssue]:
    """The request with its content and its footer, or the issue that prevents it.

    Raises RequestTooCostlyError once the mails of a request have cost too much.
    """
    if mail.template is not None and (mail.subject or mail.html or mail.text):
        detail = "Names a template and has inline content; give one of the two."
        return [MailIssue(Validation.INVALID_PAYLOAD, "template", detail)]
    try:
        link = None
        if mail.list_key is not None:
            link = _unsubscribe_link(workspace_id, mail.to, mail.list_key, is_test=is_test)
        if mail.template is not None:
            mail = _render_template(workspace_id, mail, mail.template, link, budget)
        elif not mail.html:
            mail = _render_text(mail)
        return mail if link is None else _add_footer(workspace_id, mail, link)
    except (TooManyRequestsError, RequestTooCostlyError):
        raise  # says nothing about the mail
    except RefusedError as error:
        return [MailIssue(*_locate(error), str(error))]


def _locate(error: RefusedError) -> tuple[Validation, str]:
    match error:
        case TextTooLargeError():
            return Validation.INVALID_TEMPLATE, "text"
        case FooterEnvMissingError():
            return Validation.INVALID_PAYLOAD, "list_key"
        case TemplateUnknownError():
            return Validation.INVALID_PAYLOAD, "template.id"
        case MissingLocaleError():
            return Validation.TEMPLATE_MISSING_LOCALE, "template.locale"
        case MissingVariableError(name=name):
            return Validation.TEMPLATE_MISSING_VARIABLE, f"template.variables.{name}"
        case _:
            return Validation.INVALID_TEMPLATE, "template"


def _unsubscribe_link(workspace_id: int, address: str, list_key: str, *, is_test: bool) -> str:
    """For a test key the page without a token: it must not get one that works."""
    links = unsubscribe_links.workspace_links(workspace_id)
    return links.base_url if is_test else links.url(address, list_key=list_key)


def _render_template(
    workspace_id: int,
    mail: MailRequest,
    reference: TemplateReference,
    link: str | None,
    budget: RequestBudget,
) -> MailRequest:
    version = templates.find_version(workspace_id, key=reference.key, number=reference.version)
    source = version.text(reference.locale)
    letter = _compile(workspace_id, source, version)
    values = {"name": mail.to_name, **reference.variables, "email": mail.to}
    if link is not None:
        values["unsubscribe_url"] = link
    mail_budget = Budget()
    try:
        filled = letter.fill(values, mail_budget)
    finally:
        budget.charge(mail_budget.spent)
    html, text = letter.join(filled)
    if not html_allow_list.is_plain(html):
        budget.charge(_SEARCHED_TAG_COST * html.count("<"))
    digest = letters.keep(workspace_id, letter.script)
    return replace(
        mail,
        subject=filled.subject,
        html=html,
        text=text,
        letter=digest,
        template=replace(reference, locale=source.locale),  # that of the text it was made from
        warnings=warn_of_variables(letter, reference),
    )


def warn_of_variables(letter: Letter, reference: TemplateReference) -> tuple[MailWarning, ...]:
    """A warning for each variable that the template does not know; 20 at most."""
    unknown = letter.find_unknown(reference.variables)
    return tuple(
        MailWarning(
            "unknown_variable",
            f"template.variables.{name[:_LONGEST_NAME]}",
            "The template does not know this variable, so the mail does not show it. Correct its"
            " name, or declare it in a new version of the template.",
        )
        for name in unknown[: checks.MOST_FINDINGS]
    )


class TextTooLargeError(RefusedError):
    code = "html_too_large"


def _render_text(mail: MailRequest) -> MailRequest:
    """A mail without HTML gets HTML that reads as its text does."""
    html = text_to_html.from_text(mail.text)
    size = len(html.encode(errors="surrogatepass"))
    if size > checks.MAX_HTML_BYTES:
        raise TextTooLargeError(
            f"html_too_large: As HTML the text has {size} bytes, and a mail may have at most"
            f" {checks.MAX_HTML_BYTES}. Shorten it."
        )
    return replace(mail, html=html)


_letters = LetterCache[tuple[int, Source, Branding, tuple[str, ...], tuple[str, ...]]]()


def _compile(workspace_id: int, source: Source, version: Version) -> Letter:
    """A letter that was made before is the same: a version never changes."""
    required, optional = version.required, version.optional
    branding = find_branding(workspace_id)
    key = workspace_id, source, branding, required, optional
    letter = _letters.get(key)
    if letter is None:
        script = isolation.render(
            workspace_id,
            make_script,
            source,
            required=required,
            optional=optional,
            branding=branding,
        )
        letter = Letter(script)
        _letters.put(key, letter)
    return letter


def _add_footer(workspace_id: int, mail: MailRequest, link: str) -> MailRequest:
    footer = letters.require_footer(accounts.organisation(workspace_id))
    html, text = footer.render(link, locale=mail.template.locale if mail.template else "en")
    return replace(
        mail,
        html=footers.insert(mail.html, html),
        text=mail.text + text if mail.text else "",
        headers={
            **mail.headers,
            "List-Unsubscribe": f"<{link}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )
