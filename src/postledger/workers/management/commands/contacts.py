"""`postledger contacts`: takes contacts from a CSV or Excel file, and writes them as CSV."""

import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast, override

from django.core.management.base import CommandError

from postledger.accounts.queries import WorkspaceFacts
from postledger.contacts import export
from postledger.contacts.importing import (
    overview,
    preview,
    problems,
    running,
    spreadsheets,
    uploads,
)
from postledger.contacts.importing.preview import Preview
from postledger.contacts.importing.running import Progress
from postledger.workers import nouns

_BAR = 40
_NEWEST = 25


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to become of a file."""

    mapping: Mapping[str, str]
    list_key: str | None


class Command(nouns.NounCommand):
    help = "Imports and exports contacts."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        import_ = verb("import", self._import, "Takes contacts from a CSV or Excel file.")
        import_.add_argument("file", type=Path)
        import_.add_argument("workspace")
        import_.add_argument("--list", metavar="KEY", help="subscribes them to this list")
        import_.add_argument(
            "--map",
            action="append",
            default=[],
            type=_pair,
            metavar="COLUMN=FIELD",
            help="what a column is: email, name, first_name, last_name, from_name, locale,"
            " time_zone, ocd_ids, external_id, attributes.KEY, or - to leave it out",
        )
        import_.add_argument("--dry-run", action="store_true", help="says what would happen")
        resume = verb("resume", self._resume, "Goes on with an import that was interrupted.")
        resume.add_argument("number", type=int, help="as the import said when it began")
        resume.add_argument("file", type=Path, help="the same file")
        resume.add_argument("workspace")
        imports = verb("imports", self._imports, "Lists the newest imports.")
        imports.add_argument("workspace")
        abandon = verb("abandon", self._abandon, "Ends an import; what it had imported stays.")
        abandon.add_argument("number", type=int)
        abandon.add_argument("workspace")
        errors = verb("errors", self._errors, "Writes what is wrong with the rows of an import.")
        errors.add_argument("number", type=int)
        errors.add_argument("workspace")
        export_ = verb("export", self._export, "Writes contacts as CSV.")
        export_.add_argument("workspace")
        export_.add_argument("--list", metavar="KEY", help="only those who get this list's mail")
        export_.add_argument(
            "--raw", action="store_true", help="leaves what spreadsheets execute as it is"
        )
        for parser in (import_, resume):
            parser.add_argument("--sheet", metavar="NAME", help="of a workbook; else the first")
            _add_file(parser, "--errors", "where the rows that have problems are listed")
        for parser in (errors, export_):
            _add_file(parser, "--output", "where it is written; to the screen when left out")

    def _import(  # noqa: PLR0913  Django passes each option by its name
        self,
        *,
        file: Path,
        workspace: str,
        list: str | None,  # noqa: A002  the option's name
        map: Sequence[tuple[str, str]],  # noqa: A002  the option's name
        dry_run: bool,
        sheet: str | None,
        errors: Path | None,
        **_: object,
    ) -> None:
        of = nouns.workspace(workspace)
        wanted = Wanted(dict(map), list)
        with spreadsheets.as_csv(file, sheet=sheet) as table:
            if dry_run:
                self._preview(of, table, wanted, errors)
                return
            number = running.start(
                of.id,
                table,
                mapping=wanted.mapping,
                list_key=wanted.list_key,
                file_name=file.name,
                actor=nouns.actor(),
            )
            named = f" --sheet {shlex.quote(sheet)}" if sheet else ""
            self.stderr.write(
                f"Import {number} has begun. If it is interrupted:"
                f" postledger contacts resume {number} {file} {workspace}{named}"
            )
            self._run(of, number, table, errors)

    def _preview(
        self, workspace: WorkspaceFacts, table: Path, wanted: Wanted, errors: Path | None
    ) -> None:
        with _writing(errors) as kept:
            found = preview.preview(
                workspace.id,
                table,
                mapping=wanted.mapping,
                list_key=wanted.list_key,
                tell=self._tell,
                keep=kept,
            )
        self._show_preview(found)

    def _resume(
        self,
        *,
        number: int,
        file: Path,
        workspace: str,
        sheet: str | None,
        errors: Path | None,
        **_: object,
    ) -> None:
        of = nouns.workspace(workspace)
        with spreadsheets.as_csv(file, sheet=sheet) as table:
            self._run(of, number, table, errors)

    def _imports(self, *, workspace: str, **_: object) -> None:
        for found in overview.newest(nouns.workspace(workspace).id, limit=_NEWEST):
            now, why = found.progress, f" — {found.waiting.why}" if found.waiting else ""
            self.stdout.write(
                f"{now.import_id} {now.file_name}: {now.state},"
                f" {now.done:,} of {now.row_count:,} rows{why}"
            )

    def _abandon(self, *, number: int, workspace: str, **_: object) -> None:
        of = nouns.workspace(workspace)
        uploads.abandon(of.id, number, actor=nouns.actor())
        kept = running.progress(of.id, number)
        self.stdout.write(f"Import {number} is abandoned. What it did stays: {_sum(kept)}")

    def _run(self, workspace: WorkspaceFacts, number: int, file: Path, errors: Path | None) -> None:
        done = running.run(workspace.id, file, import_id=number, tell=self._tell)
        if errors is not None:
            with _writing(errors) as kept:
                kept(running.problems(workspace.id, number))
        self.stdout.write(f"Import {number} is finished: {_sum(done)}")
        if done.subscribed or done.kept_back:
            self.stdout.write(f"Subscribed {done.subscribed:,}; kept back {done.kept_back:,}.")
        if done.refused or done.duplicates or done.kept_back:
            self.stdout.write(
                f"What is wrong with rows: postledger contacts errors {number} {workspace.name}"
            )

    def _errors(self, *, number: int, workspace: str, output: Path | None, **_: object) -> None:
        found = running.problems(nouns.workspace(workspace).id, number)
        with self._opened(output) as file:
            problems.write(file, found)

    def _export(
        self,
        *,
        workspace: str,
        list: str | None,  # noqa: A002  the option's name
        raw: bool,
        output: Path | None,
        **_: object,
    ) -> None:
        of = nouns.workspace(workspace)
        with self._opened(output) as file:
            count = export.write(of.id, file, list_key=list, is_raw=raw)
        self.stderr.write(f"Exported {count:,} contacts.")

    @contextmanager
    def _opened(self, path: Path | None) -> Iterator[TextIO]:
        if path is None:
            yield cast("TextIO", self.stdout)  # it writes, which is all that is asked of it
        else:
            with _created(path) as file:
                yield file

    def _tell(self, now: Progress | Preview) -> None:
        """A bar for people; lines where nobody looks, so that a log stays readable."""
        share = now.done / now.row_count if now.row_count else 1.0
        if sys.stderr.isatty():
            bar = "█" * int(share * _BAR)
            end = "\n" if now.done >= now.row_count else ""
            self.stderr.write(f"\r{bar:░<{_BAR}} {share:4.0%} {now.done:,} rows", ending=end)
        else:
            self.stderr.write(f"{now.done:,} of {now.row_count:,} rows, {share:.0%}")

    def _show_preview(self, found: Preview) -> None:
        say = self.stdout.write
        say(
            f"Nothing was changed. {found.row_count:,} rows, read as {found.survey.shape.encoding}:"
        )
        for name, target in found.columns.targets().items():
            say(f"  column {name} is {target}")
        say(_sum(found))
        for sample in found.samples:
            say(f"  {sample}")
        for reason, count in found.reasons.most_common(10):
            say(f"  refused {count:,}: {reason}")
        kept_back = ", ".join(f"{count:,} {why}" for why, count in found.kept_back.most_common())
        say(f"Would subscribe {found.subscribed:,}; would keep back {kept_back or 'nobody'}.")


def _sum(now: Progress | Preview) -> str:
    """The parts that make up the rows which were read."""
    return (
        f"{now.done:,} rows = {now.created:,} new + {now.updated:,} changed"
        f" + {now.unchanged:,} unchanged + {now.duplicates:,} duplicates"
        f" + {now.refused:,} refused + {now.blank:,} blank"
    )


def _pair(text: str) -> tuple[str, str]:
    column, sign, field = text.rpartition("=")
    if not sign or not column or not field:
        raise ArgumentTypeError(f'{text!r} is not COLUMN=FIELD, like "E-mail=email"')
    return column.strip(), field.strip()


def _add_file(parser: ArgumentParser, option: str, help_: str) -> None:
    parser.add_argument(option, type=Path, metavar="FILE", help=help_)


@contextmanager
def _created(path: Path) -> Iterator[TextIO]:
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
    with file:
        yield file


@contextmanager
def _writing(path: Path | None) -> Iterator[preview.Keep]:
    """What keeps problems: in a file, or not at all."""
    if path is None:
        yield lambda _: None
        return
    with _created(path) as file:
        problems.write(file, ())
        yield lambda found: problems.write(file, found, with_header=False)
