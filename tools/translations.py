"""`python -m tools.translations`: keeps the words of pages in every language complete.

Without arguments it reads the sentences that Python and templates mark for translation, brings the
`.po` files up to date and compiles the `.mo` files; translations stay, a new sentence has none yet,
and one that nobody uses is removed.

A language of readers alone has exactly the messages that a file of `web/public/` says: its pages,
their templates and the confirmation mail. They show no sentence of a lower package. Such a message
may stand on a page of members too, but no page of members is made in such a language.

    --check              change nothing, and fail unless everything is translated and up to date
    --missing LANGUAGE   print what has no translation, to be filled in
    --fill LANGUAGE FILE take over what was filled in
"""

import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import override

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

# English is what the code says.
MEMBER_LANGUAGES = ("ru", "pt")
READER_LANGUAGES = (*MEMBER_LANGUAGES, "de")

_ROOT = Path(__file__).parents[1]
_PACKAGE = _ROOT / "src" / "postledger"
_HEADER = "# {name}. Its words for our terms are in docs/glossary.md; run `just translations`."
_FOR_READERS = "src/postledger/web/public/"
_NAMES = {
    "ru": "Russian",
    "pt": "Portuguese, as neutral as it can be",
    "de": "German, with Sie; only what readers see",
}
_WIDTH = 100
_COMMENT_TAGS = ("Translators:",)
_PLURAL, _IN_CONTEXT, _PLURAL_IN_CONTEXT = (1, 2), ((1, "c"), 2), ((1, "c"), 2, 3)
_KEYWORDS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop", "say")),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), _PLURAL),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), _IN_CONTEXT),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), _PLURAL_IN_CONTEXT),
}
_MARKING = ("django.utils.translation", "postledger.lib.sentences")
_TEMPLATES = ("html", "txt")
_NAMED = re.compile(r"%\((\w+)\)")
_PLACES = re.compile(r"%\(\w+\)\w|%[sdif]\b|\{\w*\}")
_MARKUP = re.compile(r"<[^>]+>")


class _StableCatalogue(Catalog):
    """Its head has no date and no version, so that it changes with the translations alone."""

    @property
    @override
    def mime_headers(self) -> list[tuple[str, str]]:
        return [
            ("Language", str(self.locale_identifier)),
            ("Plural-Forms", self.plural_forms),
            ("MIME-Version", "1.0"),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Transfer-Encoding", "8bit\n"),
        ]


def extract_messages() -> Catalog:
    """Every sentence that the code marks, with the files that say it."""
    messages = Catalog()
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if any(module in text for module in _MARKING):
            _add_marked(messages, path, text)
    for path in sorted(_PACKAGE.rglob("templates/**/*.*")):
        if path.suffix.lstrip(".") in _TEMPLATES:
            python = templatize(path.read_text("utf-8"), origin=str(path))
            # What is left of a template's indentation is none of Python.
            _add_marked(messages, path, "\n".join(line.lstrip() for line in python.split("\n")))
    return messages


def _add_marked(messages: Catalog, path: Path, python: str) -> None:
    source = BytesIO(python.encode())
    place = path.relative_to(_ROOT).as_posix()
    for line, text, comments, context in extract(
        "python", source, _KEYWORDS, _COMMENT_TAGS, strip_comment_tags=True
    ):
        messages.add(text, None, [(place, line)], auto_comments=comments, context=context)


def read_catalogue(language: str) -> Catalog:
    """Empty of a language that was just added."""
    path = _path(language, "po")
    return parse_catalogue(language, path.read_bytes() if path.is_file() else b"")


def parse_catalogue(language: str, po: bytes) -> Catalog:
    return read_po(BytesIO(po), locale=language)


def merge(language: str, messages: Catalog, *translated: Catalog) -> Catalog:
    """The messages of a language with their translations; of several, the last not empty one."""
    header = _HEADER.format(name=_NAMES[language])
    merged = _StableCatalogue(locale=language, header_comment=header, fuzzy=False)
    for message in _messages_of(messages):
        if language not in MEMBER_LANGUAGES and not is_for_readers(message):
            continue
        known = [
            old
            for catalogue in translated
            if (old := catalogue.get(message.id, message.context)) is not None
            and isinstance(old.id, str) == isinstance(message.id, str)
            and _forms(old) != [""] * len(_forms(old))
        ]
        merged.add(
            message.id,
            known[-1].string if known else None,
            message.locations,
            # Formats are flagged anew, by what the message says now.
            known[-1].flags & {"fuzzy"} if known else (),
            message.auto_comments,
            known[-1].user_comments if known else (),
            context=message.context,
        )
    return merged


def is_for_readers(message: Message) -> bool:
    return any(path.startswith(_FOR_READERS) for path, _line in message.locations)


def list_missing(catalogue: Catalog) -> list[Message]:
    """What has no translation, or not all of its plural forms, or one that is in question."""
    return [
        message
        for message in _messages_of(catalogue)
        if message.fuzzy
        or len(_forms(message)) < _count_forms(catalogue, message)
        or not all(_forms(message))
    ]


def list_faults(catalogue: Catalog) -> list[str]:
    """Translations that lose a place for a value or a tag, invent one, or cannot be filled in."""
    return [
        f"{form!r}: {fault}"
        for message in _messages_of(catalogue)
        for form in _forms(message)
        if form and (fault := _find_fault(_source(message), form))
    ]


def _find_fault(source: str, form: str) -> str:
    if set(_PLACES.findall(source)) != set(_PLACES.findall(form)):
        return f"its places for values differ from {source!r}"
    if sorted(_MARKUP.findall(source)) != sorted(_MARKUP.findall(form)):
        return f"its tags differ from {source!r}"
    if _edges(source) != _edges(form):
        return f"the white space at its ends differs from {source!r}"
    if names := _NAMED.findall(source):
        try:
            _ = form % dict.fromkeys(names, 1)
        except (ValueError, TypeError) as error:
            return f"it cannot be filled in ({error}); write a percent sign as %%"
    return ""


def _edges(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def _source(message: Message) -> str:
    """Of a plural, the form that always names the count."""
    return message.id if isinstance(message.id, str) else message.id[1]


def _forms(message: Message) -> list[str]:
    string = message.string or ""
    return [string] if isinstance(string, str) else list(string)


def _count_forms(catalogue: Catalog, message: Message) -> int:
    return 1 if isinstance(message.id, str) else catalogue.num_plurals


def _messages_of(catalogue: Catalog) -> Iterator[Message]:
    return (message for message in catalogue if message.id)


def format_po(catalogue: Catalog) -> bytes:
    return _format(catalogue, is_fragment=False)


def _format(catalogue: Catalog, *, is_fragment: bool) -> bytes:
    buffer = BytesIO()
    write_po(
        buffer,
        catalogue,
        width=_WIDTH,
        omit_header=is_fragment,
        sort_output=True,
        ignore_obsolete=True,
        include_lineno=False,
    )
    return buffer.getvalue().rstrip(b"\n") + b"\n"


def compile_mo(catalogue: Catalog) -> bytes:
    buffer = BytesIO()
    write_mo(buffer, catalogue)
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Examination:
    """One language: what a person has to do, and what `just translations` would."""

    language: str
    message_count: int
    missing: Sequence[Message]
    faults: Sequence[str]
    outdated: Sequence[str]  # files

    @property
    def is_complete(self) -> bool:
        return not (self.missing or self.faults or self.outdated)


def examine(language: str, messages: Catalog) -> Examination:
    catalogue = merge(language, messages, read_catalogue(language))
    wanted = {"po": format_po(catalogue), "mo": compile_mo(catalogue)}
    return Examination(
        language,
        len(catalogue),
        list_missing(catalogue),
        list_faults(catalogue),
        [
            path.relative_to(_ROOT).as_posix()
            for suffix, content in wanted.items()
            if not (path := _path(language, suffix)).is_file() or path.read_bytes() != content
        ],
    )


def describe(examination: Examination) -> Iterator[str]:
    language, missing = examination.language, len(examination.missing)
    yield f"{language}: {missing} of {examination.message_count} missing"
    if missing:
        yield f"    print them: just translations --missing {language}"
        yield f"    take them over: just translations --fill {language} FILE"
    for fault in examination.faults:
        yield f"    wrong: {fault}"
    for path in examination.outdated:
        yield f"    out of date: {path}. Run: just translations"


def format_missing(language: str, messages: Catalog) -> str:
    """The missing ones as a part of a .po file, ready to be filled in."""
    catalogue = merge(language, messages, read_catalogue(language))
    fragment = _StableCatalogue(locale=language)
    for message in list_missing(catalogue):
        fragment[message.id] = message
    return _format(fragment, is_fragment=True).decode()


def update(language: str, messages: Catalog, *filled: Catalog) -> None:
    catalogue = merge(language, messages, read_catalogue(language), *filled)
    _path(language, "po").parent.mkdir(parents=True, exist_ok=True)
    _path(language, "po").write_bytes(format_po(catalogue))
    _path(language, "mo").write_bytes(compile_mo(catalogue))


def _path(language: str, suffix: str) -> Path:
    return _PACKAGE / "locale" / language / "LC_MESSAGES" / f"django.{suffix}"


def main(arguments: Sequence[str]) -> int:
    parser = ArgumentParser(prog="just translations", description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--missing", choices=READER_LANGUAGES)
    parser.add_argument("--fill", nargs=2, metavar=("LANGUAGE", "FILE"), default=("", ""))
    options = parser.parse_args(arguments)
    filled_in, file = options.fill
    if filled_in and filled_in not in READER_LANGUAGES:
        parser.error(f"there is no language {filled_in}; choose from {', '.join(READER_LANGUAGES)}")
    messages = extract_messages()
    if options.missing:
        sys.stdout.write(format_missing(options.missing, messages))
        return 0
    if not options.check:
        for language in READER_LANGUAGES:
            po = [Path(file).read_bytes()] if language == filled_in else []
            update(language, messages, *(parse_catalogue(language, each) for each in po))
    return _report(
        [examine(language, messages) for language in READER_LANGUAGES], is_check=options.check
    )


def _report(examinations: Sequence[Examination], *, is_check: bool) -> int:
    for examination in examinations:
        sys.stdout.writelines(f"{line}\n" for line in describe(examination))
    # After an update, what is missing is about to be filled in; what is wrong is wrong.
    is_good = all(
        examination.is_complete if is_check else not examination.faults
        for examination in examinations
    )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
