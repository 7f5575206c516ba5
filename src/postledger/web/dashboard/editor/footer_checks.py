"""In which language the footer of a draft is shown, and why."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from postledger.content.rendering import footer
from postledger.content.versions import Version
from postledger.lib.errors import RefusedError
from postledger.mailing import content_source
from postledger.mailing.content_source import ContentSource, InlineSource, TemplateSource
from postledger.web.dashboard.editor.checks import OK, Check


def check_language(workspace_id: int, content: ContentSource) -> Iterator[Check]:
    """A footer has the language of the text above it, whatever the contact reads."""
    match content:
        case InlineSource(locale=locale):
            text = _("The language of the text is %(locale)s; you choose it beside the plain text.")
            yield _tell_word(footer.find_word(locale), text % {"locale": locale})
        case TemplateSource():
            try:
                version = content_source.find_template(workspace_id, content)
            except RefusedError:
                return  # the content says why it cannot be read
            yield _tell_words(version)
        case _:
            text = _("Letters of articles and of Notion pages have an English footer.")
            yield _tell_word(footer.find_word("en"), text)


def _tell_word(word: str, text: str) -> Check:
    title = _("The link in the footer reads “%(word)s”")
    return Check(OK, title % {"word": word}, text)


def _tell_words(version: Version) -> Check:
    words = [f"“{footer.find_word(locale)}” ({locale})" for locale in version.locales()]
    title = _("The link in the footer reads %(words)s") % {"words": ", ".join(words)}
    text = _("Readers get the text of the template in their language, and its footer.")
    if version.fallback_locale:
        text = _(
            "Readers get the text of the template in their language, others the one in %(locale)s,"
            " each with its footer."
        ) % {"locale": version.fallback_locale}
    return Check(OK, title, text)
