"""`postledger contacts`: imports contacts from a CSV or Excel file, and exports them as CSV."""

import shlex
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast, override

from django.core.management.base import CommandError

from postledger.accounts.models import Workspace
from postledger.cli import base_command
from postledger.contacts import export
from postledger.imports import overview, problems, queries, running, uploads
from postledger.imports.columns import find_unread_states
from postledger.imports.files import workbooks
from postledger.imports.preview import ImportPreview, KeepProblems, preview_import
from postledger.imports.queries import ImportProgress

_BAR = 40
_NEWEST = 25


class Command(base_command.NounCommand):
    help = "Imports and exports contacts."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        import_ = verb("import", self._import, "Imports contacts from a CSV or Excel file.")
        resume = verb("resume", self._resume, "Resumes an import that was interrupted.")
        imports = verb("imports", self._imports, "Lists the newest imports.")
        abandon = verb("abandon", self._abandon, "Ends an import; imported rows stay.")
        errors = verb("errors", self._errors, "Writes the problems of an import's rows as CSV.")
        export_ = verb("export", self._export, "Writes contacts as CSV.")
        for parser in (resume, abandon, errors):
            parser.add_argument("number", type=int, help="the number that the import printed")
        for parser in (import_, resume):
            parser.add_argument("file", type=Path, help="to resume an import: the same file")
            parser.add_argument("--sheet", metavar="NAME", help="of a workbook; default: the first")
            parser.add_argument(
                "--errors", type=Path, metavar="FILE", help="writes the problems of rows there"
            )
        for parser in (errors, export_):
            parser.add_argument("--output", type=Path, metavar="FILE", help="default: the screen")
        for parser in (import_, resume, imports, abandon, errors, export_):
            base_command.add_workspace(parser)
        import_.add_argument("--list", metavar="KEY", help="subscribes them to this list")
        import_.add_argument("--dry-run", action="store_true", help="shows what would happen")
        import_.add_argument(
            "--map",
            action="append",
            default=[],
            type=_column_and_field,
            metavar="COLUMN=FIELD",
            help="the field of a column: email, name, first_name, last_name, from_name, locale,"
            " time_zone, ocd_ids, external_id, old_state, attributes.KEY, day_first.KEY or"
            " month_first.KEY of dates, decimal_comma.KEY of numbers, or - to ignore it",
        )
        export_.add_argument("--list", metavar="KEY", help="only those who get this list's mail")
        export_.add_argument(
            "--raw", action="store_true", help="does not escape what spreadsheets execute"
        )

    def _import(  # noqa: PLR0913  Django passes each option by its name
        self,
        *,
        file: Path,
        workspace: Workspace,
        list: str | None,  # noqa: A002  the option's name
        map: Sequence[tuple[str, str]],  # noqa: A002  the option's name
        dry_run: bool,
        sheet: str | None,
        errors: Path | None,
    ) -> None:
        with workbooks.open_as_csv(file, sheet=sheet) as table:
            if dry_run:
                with _opened(errors) as problem_file:
                    preview = preview_import(
                        workspace.id,
                        table,
                        mapping=dict(map),
                        list_key=list,
                        report=self._report,
                        keep=_problem_writer(problem_file),
                    )
                self._show_preview(preview)
                self._warn(find_unread_states(preview.columns, preview.survey.state_like))
                self._note(preview.notes)
                return
            started = running.start_import(
                workspace.id,
                table,
                mapping=dict(map),
                list_key=list,
                file_name=file.name,
                actor=base_command.actor(),
            )
            self._warn(started.unread_states)
            self._note(started.notes)
            number = started.id
            named = f" --sheet {shlex.quote(sheet)}" if sheet else ""
            self.stderr.write(
                f"Started import {number}. If it is interrupted:"
                f" postledger contacts resume {number} {file} {workspace.name}{named}"
            )
            self._run(workspace, number, table, errors)

    def _resume(
        self,
        *,
        number: int,
        file: Path,
        workspace: Workspace,
        sheet: str | None,
        errors: Path | None,
    ) -> None:
        with workbooks.open_as_csv(file, sheet=sheet) as table:
            self._run(workspace, number, table, errors)

    def _run(self, workspace: Workspace, number: int, file: Path, errors: Path | None) -> None:
        done = running.run_import(workspace.id, file, import_id=number, report=self._report)
        with _opened(errors) as problem_file:
            if problem_file:
                problem_file.writelines(
                    problems.csv_lines(queries.read_problems(workspace.id, number))
                )
        self.stdout.write(f"Import {number} is finished: {_sum(done)}")
        if done.subscribed or done.kept_back:
            self.stdout.write(f"Subscribed {done.subscribed:,}; kept back {done.kept_back:,}.")
        if done.refused or done.duplicates or done.kept_back:
            self.stdout.write(
                "Show the problems of rows with:"
                f" postledger contacts errors {number} {workspace.name}"
            )

    def _imports(self, *, workspace: Workspace) -> None:
        for shown in overview.list_newest(workspace.id, limit=_NEWEST):
            why = f" — {shown.waiting.why}" if shown.waiting else ""
            self.stdout.write(
                f"{shown.id} {shown.file_name}: {shown.state},"
                f" {shown.done:,} of {shown.row_count:,} rows{why}"
            )

    def _abandon(self, *, number: int, workspace: Workspace) -> None:
        uploads.abandon_import(workspace.id, number, actor=base_command.actor())
        progress = queries.find_progress(workspace.id, number)
        self.stdout.write(f"Import {number} is abandoned. Imported rows stay: {_sum(progress)}")

    def _errors(self, *, number: int, workspace: Workspace, output: Path | None) -> None:
        rows = queries.read_problems(workspace.id, number)
        with _opened(output) as file:
            (file or self._screen).writelines(problems.csv_lines(rows))

    def _export(
        self,
        *,
        workspace: Workspace,
        list: str | None,  # noqa: A002  the option's name
        raw: bool,
        output: Path | None,
    ) -> None:
        with _opened(output) as file:
            count = export.write(workspace.id, file or self._screen, list_key=list, is_raw=raw)
        self.stderr.write(f"Exported {count:,} contacts.")

    @property
    def _screen(self) -> TextIO:
        return cast("TextIO", self.stdout)  # it can write, which is all that is needed

    def _warn(self, unread_states: Sequence[str]) -> None:
        for name in unread_states:
            option = shlex.quote(f"{name}=old_state")
            self.stderr.write(
                f"The column {name!r} looks like the states of people in another tool. If it is,"
                f" add --map {option}; otherwise those who left there are taken as any other."
            )

    def _note(self, notes: Sequence[str]) -> None:
        for note in notes:
            self.stderr.write(note)
        if notes:
            self.stderr.write(
                "Map a column of dates with --map COLUMN=day_first.KEY or month_first.KEY, one of"
                " numbers with decimal_comma.KEY, and one of texts with attributes.KEY."
            )

    def _report(self, now: ImportProgress | ImportPreview) -> None:
        """A bar on a terminal; lines elsewhere, so that a log stays readable."""
        share = now.done / now.row_count if now.row_count else 1.0
        if sys.stderr.isatty():
            bar = "█" * int(share * _BAR)
            end = "\n" if now.done >= now.row_count else ""
            self.stderr.write(f"\r{bar:░<{_BAR}} {share:4.0%} {now.done:,} rows", ending=end)
        else:
            self.stderr.write(f"{now.done:,} of {now.row_count:,} rows, {share:.0%}")

    def _show_preview(self, preview: ImportPreview) -> None:
        encoding = preview.survey.dialect.encoding
        kept_back = ", ".join(f"{count:,} {why}" for why, count in preview.kept_back.most_common())
        for line in (
            f"Nothing was changed. {preview.row_count:,} rows, read as {encoding}:",
            *(f"  column {name} is {field}" for name, field in preview.columns.targets().items()),
            _sum(preview),
            *(f"  {sample}" for sample in preview.samples),
            *(f"  refused {n:,}: {reason}" for reason, n in preview.reasons.most_common(10)),
            f"Would subscribe {preview.subscribed:,}; would keep back {kept_back or 'nobody'}.",
        ):
            self.stdout.write(line)


def _sum(now: ImportProgress | ImportPreview) -> str:
    return (
        f"{now.done:,} rows = {now.created:,} new + {now.updated:,} changed"
        f" + {now.unchanged:,} unchanged + {now.duplicates:,} duplicates"
        f" + {now.refused:,} refused + {now.blank:,} blank"
    )


def _column_and_field(text: str) -> tuple[str, str]:
    column, sign, field = text.rpartition("=")
    if not sign or not column or not field:
        raise ArgumentTypeError(f'{text!r} is not COLUMN=FIELD, like "E-mail=email"')
    return column.strip(), field.strip()


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO | None]:
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
    with file:
        yield file


def _problem_writer(file: TextIO | None) -> KeepProblems:
    """Writes problems to a file chunk by chunk, or drops them without a file."""
    if file is None:
        return lambda _: None
    file.writelines(problems.csv_lines(()))
    return lambda found: file.writelines(
        problems.csv_lines((row.mask() for row in found.in_order()), with_header=False)
    )
