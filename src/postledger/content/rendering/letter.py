"""A letter: content compiled once, and filled in for each recipient.

Filling in is a pure function of the letter and one recipient's values: the same give the same
texts, at any time and in any process.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256

from postledger.content.rendering import footer, placeholders
from postledger.content.rendering.compiled_template import (
    CompiledTemplate,
    InvalidTemplateError,
    MissingVariableError,
    RenderError,
    Values,
    Variable,
    join,
)
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.html import checks
from postledger.content.rendering.html.checks import Finding, FindingsError
from postledger.content.rendering.liquid.liquid import Budget
from postledger.content.rendering.liquid.liquid_text import without_liquid
from postledger.lib.sentences import Sentence, say
from postledger.providers.mime import Filling
from postledger.providers.patterns import Pattern

# The variables that every recipient has, in every letter.
GIVEN = frozenset({"email", "from_name", "name", "unsubscribe_url"})
# A value that no text can name: what stands beside the address of a mail, if it is not the name.
TO_NAME = "to name"

_DIGEST_VERSION = "letter 1"  # changes with the meaning of a script
_SPACES = re.compile(r"\s+")
_OUR_LINKS = frozenset({"unsubscribe_url"})
_LONGEST_KEPT = 50_000  # characters
_TOKEN = "?token="  # noqa: S105  a part of links
_SIGNED_LINK = re.compile(r"(https?://[^\s\"'<>&?]{1,500}+[?]token=)([A-Za-z0-9_.-]{40,2000}+)")
# Words of styles that old programs run: a token with one of them is judged as it is.
_ACTIVE_WORDS = ("behavio", "binding", "expression")
_SAFE_URL = re.compile(r"\s*+(?:https?://|mailto:|tel:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Script:
    """A letter as it is stored: all the work is done but the Liquid."""

    subject: str
    html: str
    text: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    subject_prefix: str = ""  # not Liquid; put before the subject, which is cut if it gets too long

    def digest(self) -> bytes:
        """Equal only for letters that give everybody the same mail."""
        written = json.dumps([_DIGEST_VERSION, asdict(self)], sort_keys=True, separators=(",", ":"))
        return sha256(written.encode()).digest()

    def with_footer(self, added: Footer, *, locale: str = "en") -> "Script":
        """The letter with its footer, in both parts; each recipient has a link of their own."""
        html, text = added.render_liquid(locale=locale)
        return replace(self, html=footer.insert(self.html, html), text=self.text + text)


class LetterError(FindingsError):
    """The content cannot be sent to anybody; its findings say why."""

    code = "invalid_template"


class Letter:
    """A script, ready to be filled in; making one is the expensive part."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._subject, self._html, self._text = _compile(script)
        urls, unsafe = placeholders.inspect(self._html.literals)
        findings = [*_static_findings(script), *unsafe, *self._undeclared(), *self._misused()]
        if findings:
            raise LetterError(findings)
        self.digest = script.digest()
        self.html_pattern = Pattern("html", self._html.literals)
        self.text_pattern = Pattern("plain", self._text.literals)
        self._urls = tuple(
            number for number in sorted(urls) if not _is_our_link(self._html, number)
        )
        self._defaults: dict[str, object] = dict.fromkeys(script.optional)
        self._last_checked: str | None = None  # and found to be fine
        self._html_bytes = sum(len(literal.encode()) for literal in self._html.literals)

    def fill(self, values: Values, budget: Budget | None = None) -> Filling:
        """Raises RefusedError where a value is missing, or where the mail must not be sent.

        The subject, the HTML and the text are charged to one budget.
        """
        budget = budget or Budget()
        given = {**self._defaults, **values}
        for name in self.script.required:
            if given.get(name) is None:
                raise MissingVariableError(name)
        filled = Filling(
            self._fill_subject(given, budget),
            self._text.fill(given, budget),
            self._html.fill(given, budget),
        )
        self._check(filled, given)
        return self._add_prefix(filled)

    @property
    def memory(self) -> int:
        """About the bytes that it takes in memory."""
        kept = 0 if self._html.is_plain else 4 * _LONGEST_KEPT
        return self._subject.memory + self._html.memory + self._text.memory + kept

    @property
    def is_plain(self) -> bool:
        """Whether values are put in as they are, without tags and filters."""
        return self._subject.is_plain and self._html.is_plain and self._text.is_plain

    def join(self, filled: Filling) -> tuple[str, str]:
        """The HTML and the text in one piece each."""
        return join(self._html.literals, filled.html), join(self._text.literals, filled.text)

    def find_unknown(self, names: Iterable[str]) -> list[str]:
        """Those of the variables that the letter neither declares nor has for everybody."""
        declared = GIVEN.union(self.script.required, self.script.optional)
        return sorted(set(names) - declared)

    def _fill_subject(self, values: Values, budget: Budget) -> str:
        if not self._subject.holes:
            return self._subject.literals[0].strip()
        # A value may hold line ends; the subject is one line.
        return _SPACES.sub(" ", self._subject.text(values, budget)).strip()

    def _add_prefix(self, filled: Filling) -> Filling:
        """After the check, which is about the author's own subject."""
        prefix = self.script.subject_prefix
        if not prefix:
            return filled
        subject = f"{prefix}{filled.subject}"[: checks.MAX_SUBJECT].rstrip()
        return replace(filled, subject=subject)

    def _check(self, filled: Filling, values: Values) -> None:
        for number in self._urls:
            if not _SAFE_URL.match(filled.html[number]):
                raise RenderError(
                    say(
                        "A variable is used as a link, and its value is not a link. The value"
                        " must begin with https://, http://, mailto: or tel:."
                    )
                )
        findings = checks.check_subject(filled.subject) if self._subject.holes else []
        most_bytes = self._html_bytes + 4 * sum(map(len, filled.html))
        # Conditions and loops may put any markup together: the joined HTML is checked.
        if not self._html.is_plain or most_bytes > checks.MAX_HTML_BYTES:
            html = join(self._html.literals, _make_links_alike(filled.html, values))
            # Mails of one event often have nothing of their own but their links.
            if html != self._last_checked:
                findings += checks.check_html(html)
                is_kept = not findings and len(html) <= _LONGEST_KEPT
                self._last_checked = html if is_kept else None
        if findings:
            raise LetterError(findings)

    def _undeclared(self) -> list[Finding]:
        used = self._subject.names | self._html.names | self._text.names
        return [
            Finding(
                "unknown_variable",
                name,
                say("Declare the variable %(name)s, or correct its name.", name=name),
            )
            for name in self.find_unknown(used)
        ]

    def _misused(self) -> list[Finding]:
        """Subjects are shown in lists and logs, where a link that unsubscribes does not belong."""
        return [
            Finding("link_in_subject", "subject", _say_misused(name))
            for name in sorted(_OUR_LINKS & self._subject.names)
        ]


def _say_misused(name: str) -> Sentence:
    return say(
        "Remove %(name)s from the subject: it is for the reader alone. Use it in the body.",
        name=name,
    )


def check(script: Script) -> None:
    """Raises LetterError for a script that cannot be compiled, or sent to anybody."""
    Letter(script)


def _compile(script: Script) -> tuple[CompiledTemplate, CompiledTemplate, CompiledTemplate]:
    findings: list[Finding] = []
    compiled: list[CompiledTemplate] = []
    for place in ("subject", "html", "text"):
        try:
            compiled.append(CompiledTemplate(getattr(script, place), is_html=place == "html"))
        except InvalidTemplateError as invalid:
            findings.append(invalid.finding(place))
    if findings:
        raise LetterError(findings)
    subject, html, text = compiled
    return subject, html, text


def _static_findings(script: Script) -> list[Finding]:
    """The problems that no values can solve."""
    subject = without_liquid(script.subject)
    has_liquid = bool(script.subject.strip()) and subject != script.subject
    return [
        *([] if has_liquid else checks.check_subject(subject.strip())),
        *checks.check_html(without_liquid(script.html)),
    ]


def _make_links_alike(texts: Sequence[str], values: Values) -> list[str]:
    """The texts, as long as before, with the same token in each reader's own links.

    The check remembers tags: it would judge those of every mail anew otherwise.
    """
    alike: dict[str, str] = {}
    for value in values.values():
        if isinstance(value, str) and _TOKEN in value and (link := _SIGNED_LINK.fullmatch(value)):
            token = link[2].lower()
            if not any(word in token for word in _ACTIVE_WORDS):
                alike[value] = link[1] + "x" * len(token)
    return [_replace_all(text, alike) if _TOKEN in text else text for text in texts]


def _replace_all(text: str, others: Mapping[str, str]) -> str:
    for value, other in others.items():
        text = text.replace(value, other)
    return text


def _is_our_link(html: CompiledTemplate, number: int) -> bool:
    hole = html.holes[number]
    return isinstance(hole, Variable) and hole.path[0] in _OUR_LINKS
