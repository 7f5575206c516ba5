"""The letters of a topic's stream: one for each language of a template's version.

A letter is made once, and again when its template or the workspace's footer or branding is another:
the variant of a letter names the version, the language and a digest of all of them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256

from django.db.models import Max

from postledger.accounts import queries as accounts
from postledger.content import isolation, letters, locales
from postledger.content.brandings import find_branding
from postledger.content.locales import MissingLocaleError
from postledger.content.rendering import letter
from postledger.content.rendering.branding import Branding
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.source import make_script
from postledger.content.versions import Version
from postledger.mailing import content_source, stream_letters
from postledger.mailing.content_source import TemplateSource
from postledger.mailing.models import LetterStream, Variant
from postledger.notifications.models import Topic
from postledger.notifications.topics import streams as topic_streams

# No letter has it, so no mail that names it is ever made: it is the last number of a delivery.
NO_LETTER = 32_767


@dataclass(frozen=True, slots=True)
class TopicText:
    """A version of a topic's template, and the footer and the branding that its letters get."""

    version: Version
    footer: Footer
    branding: Branding
    fallback_locale: str

    def choose_locale(self, locale: str) -> str | None:
        """The language of the version that serves a reader; None if none does."""
        available = self.version.locales()
        try:
            return locales.choose(locale, available=available, fallback=self.fallback_locale)
        except MissingLocaleError:
            return None

    def name_variant(self, locale: str) -> str:
        digest = sha256(repr((self.version, self.footer, self.branding)).encode()).hexdigest()
        return f"{self.version.number}/{locale}/{digest}"


def read_text(topic: Topic, *, template: str, version: int | None) -> TopicText:
    """The text of a version, the newest for None; refused where it or the footer is missing."""
    source = TemplateSource(template, version)
    text = content_source.find_template(topic.workspace_id, source)
    footer = letters.require_footer(accounts.organisation(topic.workspace_id))
    branding = find_branding(topic.workspace_id)
    return TopicText(text, footer, branding, topic.fallback_locale or text.fallback_locale)


def resolve_letters(
    topic: Topic, stream_id: int, text: TopicText, wanted: Collection[str]
) -> Mapping[str, int | None]:
    """The number of the letter for each of these languages, None where no text serves it.

    Missing letters are made. Call it with the topic's row locked.
    """
    served = {locale: text.choose_locale(locale) for locale in wanted}
    variants = {locale: text.name_variant(locale) for locale in set(served.values()) if locale}
    stored = Variant.objects.filter(
        stream_id=stream_id, digest__in=map(stream_letters.digest_variant, variants.values())
    )
    numbers = dict(stored.values_list("variant", "letter"))
    stream = topic_streams.make_letter_stream(topic, stream_id)
    for locale, variant in sorted(variants.items()):
        if variant not in numbers:
            numbers[variant] = _add_letter(stream, variant, text, locale)
    return {
        locale: None if chosen is None else numbers[variants[chosen]]
        for locale, chosen in served.items()
    }


def _add_letter(stream: LetterStream, variant: str, text: TopicText, locale: str) -> int:
    script = isolation.render(
        stream.workspace_id,
        make_script,
        text.version.text(locale),
        required=text.version.required,
        optional=text.version.optional,
        footer=text.footer,
        branding=text.branding,
    )
    isolation.render(stream.workspace_id, letter.check, script)
    highest = Variant.objects.filter(stream_id=stream.id).aggregate(highest=Max("letter"))
    number = -1 if highest["highest"] is None else highest["highest"]
    stream_letters.add_letter(stream, number + 1, script)
    Variant.objects.create(
        stream_id=stream.id,
        digest=stream_letters.digest_variant(variant),
        variant=variant,
        letter=number + 1,
    )
    return number + 1
