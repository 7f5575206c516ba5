"""For each regular expression of the source a text that is hard on it: it repeats what the pattern
reads, and withholds what would end it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

from postledger.content.rendering.html import html_tokens


@dataclass(frozen=True, slots=True)
class Attack:
    pump: str
    start: str = ""
    end: str = "!"
    # The locals that the pattern is made of, where it is made in a function.
    names: Mapping[str, object] = field(default_factory=dict)
    # The function that applies the pattern, where it stops at the first match of some kind.
    through: Callable[[str], object] | None = None

    def text(self, size: int) -> str:
        return self.start + self.pump * (size // len(self.pump) + 1) + self.end


def _read_tags(text: str) -> None:
    for _ in html_tokens.tags_of_every_reading(text):
        pass


_MARK = r"(q0123456789ab(?P<number>\d{6})z)"
_MARKED = SimpleNamespace(_prefix="q0123456789ab")
_LONG_REFERENCE = "0" * 36

ATTACKS: Mapping[str, Attack] = {
    "accounts.keys: _TOKEN": Attack("a", "pl_live_aaaaaaaa."),
    "accounts.working_hours: _SPAN": Attack("09:00-"),
    "accounts.workspaces: _PAGE_URL": Attack("a/", "https://a"),
    "campaigns.drafts.draft_checks: _TAG": Attack("a-"),
    "campaigns.runs.report: _UNSAFE": Attack("!", end="a"),
    "campaigns.launches.test_sends: _SEPARATOR": Attack(", ;", end="a"),
    "cli.arguments: _DURATION": Attack("0"),
    "cli.drill.reading: address": Attack("a", names={"domain": "example.com"}),
    "cli.drill.smtp_server: _ID": Attack("X-Postledger-Id: a", "\n"),
    "cli.drill.smtp_server: _TO": Attack("a@", "To: a<", " "),
    "cli.drill.smtp_server: _MARK": Attack("[[for a"),
    "cli.management.commands.fence: _ONE_CLICK": Attack("?token=&", "POST "),
    "config.env_file: _PLAIN": Attack("a"),
    "contacts.csv_columns: _ESCAPED": Attack(";\"'' "),
    "contacts.csv_columns: _FORMULA": Attack(";\"'' "),
    "contacts.details: _LOCALE": Attack("a"),
    "contacts.details: _OCD_ID": Attack("a", "ocd-"),
    "contacts.lists: KEY_PATTERN": Attack("a-"),
    "content.list_headers: _URL": Attack("a", "https://", " "),
    "content.locales: _LOCALE": Attack("-a", "en"),
    "content.brandings: _LOGO_URL": Attack("a", "https://"),
    r"content.picture_types: b'\\x89PNG\\r\\n\\x1a\\n'": Attack("\x89PNG\r\n"),
    r"content.picture_types: b'\\xff\\xd8\\xff'": Attack("\xff\xd8"),
    "content.picture_types: b'GIF8[79]a'": Attack("GIF8"),
    "content.picture_types: b'RIFF.{4}WEBP'": Attack("RIFF"),
    "content.notion.fields: _LINE_END": Attack("\r"),
    "content.notion.rich_text: _FOLLOWABLE": Attack("a", "https://", "\n"),
    "content.notion.rich_text: _WITHIN": Attack("a", f"/{'0' * 32}?", " "),
    "content.notion.rich_text: _LIQUID": Attack("{%%"),
    "content.rendering.branding: _COLOUR": Attack("0", "#"),
    "content.rendering.html.checks: _STYLE_URL": Attack("url( javascript "),
    "content.rendering.html.checks: _IN_LIST": Attack("=javascript"),
    "content.rendering.html.checks: b'script(?<=[<:]script)'": Attack("script"),
    r"content.rendering.html.checks: "
    r"""b'on(?<=[\\s\\"\'/]on)[^\\s/>=\\"\']{1,64}+\\s*+='""": Attack('"on'),
    r"content.rendering.html.checks: b'[\\x00-\\x20]*+'.join((bytes([letter]) for letter in"
    r" b'javascript:'))": Attack("j a v a s c r i p t "),
    r"content.rendering.html.checks: b'&(?:tab;|newline;|colon;|#0*+(?:9|10|13|58|6[5-9]|[78]\\d|90"
    r"|9[7-9]|1[01]\\d|12[0-2])(?!\\d)|#x0*+(?:9|a|d|3a|[46][1-9a-f]|[57][0-9a])(?![0-9a-f]))'": (
        Attack("0", "&#")
    ),
    "content.rendering.html.checks: b'srcdoc'": Attack("srcdo"),
    r"content.rendering.html.checks: '[\\x00-\\x20]+'": Attack(" "),
    r"content.rendering.html.checks: '[\\t\\n\\r]'": Attack("\t"),
    "content.slice_checks: _NAMES": Attack(" ", "{%"),
    "content.slice_checks: _OCD_ID": Attack("a", "ocd-"),
    "content.rendering.liquid.liquid_text: _OPENING": Attack("{a"),
    "content.rendering.compiled_template: _END_OF_VALUE": Attack("}a"),
    "content.rendering.compiled_template: _END_OF_TAG": Attack("%"),
    "content.rendering.compiled_template: _RAW": Attack("{% raw "),
    "content.rendering.compiled_template: _ENDRAW": Attack("{% endraw "),
    "content.rendering.compiled_template: _MARKUP": Attack("a"),
    "content.rendering.footer: _BODY_END": Attack("</body "),
    "content.rendering.footer: _HEAD_END": Attack(" ", "</head"),
    "content.rendering.fragments: _PROPERTIES": Attack("a-", "border-"),
    "content.rendering.fragments: _ACTIVE": Attack("url "),
    "content.rendering.fragments: _SCHEME": Attack("a", "  "),
    "content.rendering.fragments: _CONTROLS": Attack("\x01"),
    "content.rendering.html.html_allow_list: _ACTIVE": Attack("behavior : "),
    "content.rendering.html.html_allow_list: _CANDIDATE": Attack(", "),
    "content.rendering.html.html_allow_list: _COMMENT": Attack("/*"),
    "content.rendering.html.html_allow_list: _ESCAPE": Attack("\\\\a"),
    "content.rendering.html.html_allow_list: _FONT_URL": Attack("data:"),
    "content.rendering.html.html_allow_list: _IGNORED": Attack(" "),
    "content.rendering.html.html_allow_list: _OFFICE_ELEMENT": Attack("a", "o:"),
    "content.rendering.html.html_allow_list: _PICTURE_URL": Attack("data:image/"),
    "content.rendering.html.html_allow_list: _PLAIN": Attack(" a=a", "a"),
    "content.rendering.html.html_allow_list: _SCHEME": Attack("a"),
    "content.rendering.html.html_allow_list: _STRAY": Attack("'"),
    "content.rendering.html.html_allow_list: _STYLE": Attack("<style "),
    "content.rendering.html.html_allow_list: _STYLE_END": Attack("</styl"),
    "content.rendering.html.html_allow_list: _STYLE_URL": Attack("url( a"),
    "content.rendering.html.html_allow_list: _TAG": Attack("<a "),
    "content.rendering.html.html_tokens: _ATTRIBUTE": Attack("a", 'a="'),
    "content.rendering.html.html_tokens: _TOKEN": Attack("<!--", end=""),
    "content.rendering.html.html_tokens: _ANY_TAG": Attack("<a=", through=_read_tags),
    "content.rendering.html.html_tokens: _LINE_END": Attack("\n"),
    "content.rendering.html.html_tokens: _INSIDE": Attack("<"),
    "content.rendering.html.html_tokens: _LEADING_ZEROS": Attack("0", "&#"),
    "content.rendering.html.html_tokens: _NO_CHARACTER": Attack("&#1234567"),
    "content.rendering.html.html_tokens: end": Attack(
        "</style", names={"tag": SimpleNamespace(name="style")}
    ),
    "content.rendering.letter: _SPACES": Attack(" "),
    "content.rendering.letter: _SIGNED_LINK": Attack("a", start="https://a.example/?token="),
    "content.rendering.letter: _SAFE_URL": Attack(" "),
    "content.rendering.liquid.liquid: _DIRECTIVES": Attack("%-"),
    "content.rendering.liquid.liquid_markers: _OPENING": Attack(" ", "{%"),
    "content.rendering.liquid.liquid_markers: _QUOTED": Attack("'a\"", end=""),
    "content.rendering.liquid.liquid_markers: _NESTED": Attack("{a"),
    "content.rendering.liquid.liquid_markers: marker": Attack(
        "q0123456789ab0", names={"self": _MARKED}
    ),
    "content.rendering.liquid.liquid_markers: words": Attack(
        "<!--q0123456789ab000000z:", names={"mark": _MARK}
    ),
    r"content.rendering.liquid.liquid_markers: f'{mark}(?:: ?\\1)?'": Attack(
        "q0123456789ab000000z: ", names={"mark": _MARK}
    ),
    r"content.rendering.liquid.liquid_markers: f'\\{{%-?\\s*+(end)?{name}\\s*+-?%\\}}'": Attack(
        "{% endraw ", names={"name": "raw"}
    ),
    "content.rendering.markdown: _STOP": Attack("*"),
    "content.rendering.mjml: _ATTRIBUTES": Attack(" a=''"),
    "content.rendering.mjml: _OWN_BODY": Attack("<tbod"),
    "content.rendering.plaintext: _HIDDEN": Attack("; display : "),
    "content.rendering.plaintext: _SPACES": Attack(" "),
    "content.rendering.plaintext: _BLANK_LINES": Attack("\n\na"),
    "content.rendering.preheader: _SPACES": Attack(" "),
    "content.rendering.placeholders: _MARK": Attack("0", "\ue000"),
    "content.rendering.placeholders: _OPENED": Attack("</"),
    "content.rendering.source: _DOCUMENT": Attack("<htm"),
    "content.rendering.styles: _OWN_COLOURS": Attack("color "),
    "content.rendering.styles: _DOCTYPE": Attack("<!doctype "),
    "content.rendering.styles: _DELIMITER": Attack("a"),
    "content.rendering.styles: _RULE": Attack("{"),
    "content.rendering.styles: _PROPERTY": Attack("; a "),
    "content.rendering.html.text_to_html: _URL": Attack("http://"),
    "content.slices: _MARKUP": Attack("*"),
    "content.versions: _NAME": Attack("a"),
    "deliveries.figures.messages: _CURSOR": Attack("-1", "o"),
    "deliveries.ledger.sql: _PARAMETER": Attack("%(a"),
    "deliveries.provider_logs: _REFERENCE": Attack("0"),
    "deliveries.provider_logs: _QUEUED": Attack("abcd: message-id="),
    "deliveries.provider_logs: _QUEUE_ID": Attack("abcd:"),
    "deliveries.provider_logs: _TAKEN": Attack("(queue status="),
    "deliveries.provider_logs: _NOT_TAKEN": Attack("Rendering "),
    "dispatch.answers: _DIGIT": Attack("a"),
    "dispatch.past_letters: _TOKEN": Attack("token=", end=" "),
    "dispatch.retry: _WRITTEN": Attack(" 1.1", "1:"),
    "feedback.guard: _WRITTEN": Attack("1", "3% of "),
    "imports.encodings: _HIGH": Attack("\xff"),
    "imports.encodings: _UTF8": Attack("\xf0\x80\x80"),
    "imports.locales: _LOCALE": Attack("a"),
    "imports.old_states: _DATE": Attack("1", "2026-01-01T10:00:00."),
    "imports.rows: PLAIN": Attack("a.", "a@"),
    "imports.rows: _OCD_SEPARATOR": Attack(" ;", end="a"),
    "imports.sheet_to_csv: _DELIMITERS": Attack(";"),
    "imports.uploads: _WORD": Attack("a.", end=" "),
    "lib.ids: _TEXT": Attack("0"),
    "lib.values: _NOTION_ID": Attack("0", end="-"),
    "lib.references: _FORMAT": Attack("0", f"{_LONG_REFERENCE}_1"),
    "notifications.jobs.contract: _TEMPLATE_VERSION": Attack("1", "v"),
    "notifications.jobs.contract: _VERSION": Attack("1", "1."),
    "observability.logging: _CONTROLS": Attack("\x1b"),
    "observability.masking: _SECRET_NAME": Attack("passwprivate"),
    "observability.masking: _URL_CREDENTIALS": Attack("a", "https://"),
    "observability.masking: _BEARER": Attack("Bearer "),
    "observability.masking: _ASSIGNMENT": Attack("token='"),
    "observability.masking: _ADDRESS": Attack("a@["),
    "observability.masking: _HARMLESS": Attack("a"),
    "notifications.sources.sources: _PATH": Attack("a.", end="\n"),
    "notifications.sources.sources: KEY_PATTERN": Attack("a-"),
    "providers.addresses: _LOCAL": Attack("a."),
    "providers.addresses: _DOMAIN": Attack("a."),
    "providers.dns.spf: _MODIFIER": Attack("a", end=" "),
    "providers.dns.spf: _TERM": Attack("/1", "include:a"),
    "providers.headers: _NAME": Attack("a"),
    "providers.headers: _FORBIDDEN": Attack("a"),
    "providers.headers: _LOOKS_ENCODED": Attack("=?a"),
    "providers.headers: pieces": Attack("%0"),
    "providers.mime: _REFERENCE": Attack("_a", _LONG_REFERENCE),
    "providers.mime: _CONTENT_TYPE": Attack("a"),
    "providers.http.messages: _HEADER": Attack("a: ", "a: "),
    "providers.http.messages: _TARGET": Attack("a", end="\n"),
    "providers.http.outcomes: _SECONDS": Attack("0"),
    "providers.http.settings: _KEY": Attack("a"),
    "providers.patterns: _LINE_END": Attack("\r"),
    "providers.patterns: _PLAIN": Attack("a"),
    "providers.quota_source: _HEADER": Attack("a-"),
    "providers.quota_source: _PATH": Attack("a.", end="\n"),
    "providers.quota_source: _TOKEN": Attack("a ", end="\n"),
    "providers.smtp.settings: _SELECTOR": Attack("a-"),
    "providers.url_reading: _URL": Attack("a", end=" "),
    "providers.sendgrid.outcomes: _EPOCH": Attack("0"),
    "providers.sendgrid.outcomes: _MESSAGE_ID": Attack("a"),
    "providers.ses.outcomes: _BETWEEN_NAMES": Attack(","),
    "providers.ses.outcomes: _MESSAGE_ID": Attack("a"),
    "providers.ses.outcomes: _NAME": Attack("a"),
    "providers.ses.requests: _NOT_IN_TAGS": Attack("."),
    "providers.ses.settings: _CONFIGURATION_SET": Attack("a"),
    "providers.ses.settings: _IDENTITY_ARN": Attack("a", "arn:aws"),
    "providers.ses.settings: _OWN_HOST": Attack("a", "email."),
    "providers.ses.settings: _REGION": Attack("-a", "eu"),
    "providers.sendgrid.event_signature: _TIMESTAMP": Attack("0"),
    "providers.sendgrid.json_array: _SPACE": Attack(" "),
    "providers.sendgrid.json_array: _TOKEN": Attack('\\"', '"'),
    "providers.sendgrid.json_array: _WORD": Attack("a", end=","),
    "providers.ses.events.sns_envelope: _CERTIFICATE_PATH": Attack(
        "0", "/SimpleNotificationService-"
    ),
    "providers.ses.events.sns_envelope: _MESSAGE_ID": Attack("a-"),
    "providers.ses.events.topic_arn: _ARN": Attack("-a", "arn:aws:sns:eu"),
    "providers.set_up: _FOREIGN": Attack("."),
    "providers.set_up: _VISIBLE": Attack("a", end="\n"),
    "providers.smtp.framing: _LINE_END": Attack("\r"),
    "providers.smtp.replies: _ENHANCED": Attack("2.1."),
    "providers.smtp.replies: _UNPRINTABLE": Attack("\x01"),
    "providers.smtp.outcomes: _SENDER_TEXT": Attack("account is "),
    "providers.smtp.outcomes: _THROTTLE_TEXT": Attack("daily "),
    "providers.smtp.outcomes: _WAIT": Attack("in 1 "),
    "providers.smtp.outcomes: _QUEUE_ID": Attack("id= "),
    "providers.smtp.outcomes: text": Attack("1", "2."),
    "providers.smtp.settings: _WORD": Attack("a"),
    "transactional.validation: _TAG": Attack("a"),
    "web.api.common.fields: _RFC3339": Attack("0", "2026-01-01T00:00:00."),
    "web.api.common.json_size: _STRING_OR_START": Attack('"a', end=""),
    "web.public.branded: _ORIGIN": Attack("a.", "https://"),
    "web.public.pages: _PICTURE": Attack("0"),
    "web.public.subscribe: _LANGUAGE": Attack("a"),
    "web.dashboard.formats: _CODE": Attack("a", "`"),
    "web.dashboard.text_names: _BETWEEN": Attack(" "),
    "web.dashboard.audience.import_columns: _BETWEEN": Attack(" "),
    "web.dashboard.content.seen_from: _BETWEEN": Attack(", ;", end="a"),
    "web.dashboard.content.version_form: _BETWEEN": Attack(", ;", end="a"),
    "web.dashboard.editor.conditions: _NUMBER": Attack("1"),
    "web.dashboard.editor.merge_tags: _TAG": Attack("%%a."),
    "web.dashboard.editor.snippets: _MARKUP": Attack("["),
    "web.dashboard.pages.content.branding: _BARE_COLOUR": Attack("0"),
    "web.dashboard.typed_numbers: _DECIMAL": Attack(".000", "1"),
    "web.dashboard.typed_numbers: _NOT_DIGITS": Attack("a"),
    "web.dashboard.typed_numbers: _TWO_READINGS": Attack("1"),
    "web.dashboard.typed_numbers: _WHOLE": Attack(".000", "1"),
    "web.shared.bodies: _DRAFT": Attack("a", start="/w/1/content/articles/"),
    "web.shared.bodies: _PICTURE": Attack("1", start="/w/"),
    "web.shared.bodies: _TEMPLATE": Attack("a", start="/w/1/content/templates/"),
    "web.shared.request_log: _PARAMETER": Attack("a", "<"),
    "web.shared.bodies: _UPLOAD_FORM": Attack("1", start="/w/"),
    "web.shared.requests: _ACCEPTED": Attack("a"),
}
