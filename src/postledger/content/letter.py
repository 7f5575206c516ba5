"""A letter: content compiled once, and filled in for each recipient.

Filling in is a pure function of the letter and one recipient's values: the same give the same
texts, at any time and in any process.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import ClassVar

from postledger.content import checks, places, program
from postledger.content.checks import Finding
from postledger.content.program import (
    BadProgramError,
    MissingVariableError,
    Program,
    RenderError,
    Values,
)
from postledger.lib.errors import RefusedError
from postledger.providers.mime import Filling
from postledger.providers.patterns import Pattern

# What every recipient has, whoever wrote the letter.
GIVEN = frozenset({"email", "from_name", "name", "unsubscribe_url"})

_FORM = "letter 1"  # changes with what a script means
_SPACES = re.compile(r"\s+")
_OUR_LINKS = frozenset({"unsubscribe_url"})


@dataclass(frozen=True, slots=True)
class Script:
    """A letter as it is stored: all the work is done but the Liquid."""

    subject: str
    html: str
    text: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def digest(self) -> bytes:
        """Equal only for letters that give everybody the same mail."""
        written = json.dumps([_FORM, asdict(self)], sort_keys=True, separators=(",", ":"))
        return sha256(written.encode()).digest()


class LetterError(RefusedError):
    """The content cannot be sent to anybody; its findings say why."""

    code: ClassVar[str] = "invalid_template"

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(" ".join(f"{found.place}: {found.remedy}" for found in findings[:5]))
        self.findings = tuple(findings)


class Letter:
    """A script, ready to be filled in; making one is the expensive part."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._subject, self._html, self._text = _programs(script)
        found = places.of(self._html.literals)
        findings = [*_static(script), *found.findings, *self._unknown()]
        if findings:
            raise LetterError(findings)
        self.digest = script.digest()
        self.html_pattern = Pattern("html", self._html.literals)
        self.text_pattern = Pattern("plain", self._text.literals)
        self._urls = tuple(
            number for number in sorted(found.urls) if not _is_our_link(self._html.holes[number])
        )
        self._blank: dict[str, object] = dict.fromkeys(script.optional)
        self._html_bytes = sum(len(literal.encode()) for literal in self._html.literals)

    def fill(self, values: Values) -> Filling:
        """Raises RefusedError where a value is missing, or where the mail must not be sent."""
        given = {**self._blank, **values}
        for name in self.script.required:
            if given.get(name) is None:
                raise MissingVariableError(name)
        filled = Filling(self._subject_line(given), self._text.fill(given), self._html.fill(given))
        self._refuse_bad(filled)
        return filled

    def whole(self, filled: Filling) -> tuple[str, str]:
        """The HTML and the text in one piece each."""
        return (
            program.joined(self._html.literals, filled.html),
            program.joined(self._text.literals, filled.text),
        )

    def _subject_line(self, given: Mapping[str, object]) -> str:
        if not self._subject.holes:
            return self._subject.literals[0].strip()
        # A value may hold line ends; the subject is one line.
        return _SPACES.sub(" ", self._subject.text(given)).strip()

    def _refuse_bad(self, filled: Filling) -> None:
        for number in self._urls:
            if not places.is_safe_url(filled.html[number]):
                raise RenderError(
                    "A variable is used as a link and is no address of a page."
                    " Give it one that begins with https:// or mailto:."
                )
        html = ""
        if not self._html.is_plain:
            # Conditions and loops may put anything together: it is judged as a whole.
            html = program.joined(self._html.literals, filled.html)
        elif self._html_bytes + 4 * sum(map(len, filled.html)) > checks.MAX_HTML_BYTES:
            html = program.joined(self._html.literals, filled.html)
        found = checks.of_subject(filled.subject) if self._subject.holes else []
        found += checks.of_html(html) if html else []
        if found:
            raise LetterError(found)

    def _unknown(self) -> list[Finding]:
        known = GIVEN.union(self.script.required, self.script.optional)
        used = self._subject.names | self._html.names | self._text.names
        return [
            Finding(
                "unknown_variable",
                name,
                f"Declare the variable {name}, or correct its name.",
            )
            for name in sorted(used - known)
        ]


def _programs(script: Script) -> tuple[Program, Program, Program]:
    findings: list[Finding] = []
    made: list[Program] = []
    for place, source in (
        ("subject", script.subject),
        ("html", script.html),
        ("text", script.text),
    ):
        try:
            made.append(Program(source, is_html=place == "html"))
        except BadProgramError as bad:
            findings.append(bad.finding(place))
    if findings:
        raise LetterError(findings)
    subject, html, text = made
    return subject, html, text


def _static(script: Script) -> list[Finding]:
    """What is wrong whatever the values are."""
    subject = program.without_liquid(script.subject)
    found = [] if subject != script.subject else checks.of_subject(subject.strip())
    if not script.subject.strip():
        found = checks.of_subject("")
    return [*found, *checks.of_html(program.without_liquid(script.html))]


def _is_our_link(hole: program.Hole) -> bool:
    return isinstance(hole, program.Plain) and hole.path[0] in _OUR_LINKS
