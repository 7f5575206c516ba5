"""Puts in what a request only names: the words of its template, and its footer."""

from dataclasses import replace
from functools import lru_cache

from postledger.accounts import queries as accounts
from postledger.contacts import links
from postledger.content import footer as footers
from postledger.content import footing, letters, scripts, templates
from postledger.content.footer import FooterEnvMissingError
from postledger.content.letter import Letter
from postledger.content.locales import MissingLocaleError
from postledger.content.program import MissingVariableError
from postledger.content.source import Source
from postledger.content.templates import TemplateUnknownError
from postledger.lib.errors import RefusedError
from postledger.transactional.values import Flaw, MailRequest, Named, Validation


class WordsTwiceError(RefusedError):
    code = "words_twice"


def filled(workspace_id: int, mail: MailRequest) -> MailRequest | list[Flaw]:
    """The request with its words, or why there are none."""
    try:
        if mail.template is not None:
            mail = _filled(workspace_id, mail, mail.template)
        return mail if mail.list_key is None else _with_footer(workspace_id, mail)
    except RefusedError as refused:
        return [_flaw(refused)]


def _flaw(refused: RefusedError) -> Flaw:
    match refused:
        case FooterEnvMissingError():
            return Flaw(Validation.INVALID_PAYLOAD, "list_key", str(refused))
        case WordsTwiceError():
            return Flaw(Validation.INVALID_PAYLOAD, "template", str(refused))
        case TemplateUnknownError():
            return Flaw(Validation.INVALID_PAYLOAD, "template.id", str(refused))
        case MissingLocaleError():
            return Flaw(Validation.TEMPLATE_MISSING_LOCALE, "template.locale", str(refused))
        case MissingVariableError(name=name):
            place = f"template.variables.{name}"
            return Flaw(Validation.TEMPLATE_MISSING_VARIABLE, place, str(refused))
        case _:
            return Flaw(Validation.INVALID_TEMPLATE, "template", str(refused))


def _filled(workspace_id: int, mail: MailRequest, named: Named) -> MailRequest:
    if mail.subject or mail.html or mail.text:
        raise WordsTwiceError("It names a template and has words of its own; give one of the two.")
    found = templates.find(workspace_id, key=named.key, version=named.version, locale=named.locale)
    letter = _letter(found.text, found.required, found.optional)
    values = {"name": mail.to_name, **named.variables, "email": mail.to}
    if mail.list_key is not None:
        values["unsubscribe_url"] = links.leaving(workspace_id).url(mail.to, list_key=mail.list_key)
    filled = letter.fill(values)
    html, plain = letter.whole(filled)
    return replace(
        mail,
        subject=filled.subject,
        html=html,
        text=plain,
        letter=letters.keep(workspace_id, letter.script),
    )


@lru_cache(maxsize=256)
def _letter(source: Source, required: tuple[str, ...], optional: tuple[str, ...]) -> Letter:
    """Made once in a process: a version never changes."""
    return Letter(scripts.of_source(source, required=required, optional=optional))


def _with_footer(workspace_id: int, mail: MailRequest) -> MailRequest:
    footer = footing.of(accounts.organisation(workspace_id))
    link = links.leaving(workspace_id).url(mail.to, list_key=mail.list_key or "")
    html, text = footers.written(footer, link)
    return replace(
        mail,
        html=footers.placed(mail.html, html),
        text=mail.text + text if mail.text else "",
        headers={
            **mail.headers,
            "List-Unsubscribe": f"<{link}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )
