"""A process that is killed while it has a file of contacts leaves nothing of the file behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contacts import people
from tests.imports import workbooks
from tests.imports.test_kills import environment
from tests.web.dashboard import visitors
from tests.web.dashboard.test_imports import bring_import

# Each has the file of contacts open when it says so.
_BEGIN = "import django, sys, time; django.setup();"
_WAIT = "print(path.read_bytes()[:5], flush=True); time.sleep(600)"
PROGRAMS = {
    "job": """
from postledger.imports import uploads
with uploads.open_upload(int(sys.argv[1])) as path: """,
    "workbook": """
from pathlib import Path
from postledger.imports.files import workbooks
with workbooks.open_as_csv(Path(sys.argv[1])) as path: """,
    "form": """
from django.test import RequestFactory
from django.core.files.uploadedfile import SimpleUploadedFile
from postledger.web.dashboard.audience import received_file
file = SimpleUploadedFile("people.csv", b"email\\n" + b"ann@example.com\\n" * 200_000)
request = RequestFactory().post("/", {"file": file})
with received_file.keep_file(request.FILES["file"]) as path: """,
    "api": """
from django.test import RequestFactory
from postledger.web.api.imports import received_file
request = RequestFactory().generic("POST", "/", b"email\\nann@example.com\\n", "text/csv")
with received_file.receive_file(request) as path: """,
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_killed_process_leaves_no_file_of_contacts_behind(name: str, tmp_path: Path) -> None:
    given, folder = tmp_path / "people.xlsx", tmp_path / "temporary"
    folder.mkdir()
    given.write_bytes(workbooks.make_workbook())
    argument = str(given)
    if name == "job":
        argument = str(bring_import(visitors.sign_in(people.workspace("globex"), name="Olivia")))

    process = subprocess.Popen(
        [sys.executable, "-c", f"{_BEGIN}{PROGRAMS[name]}{_WAIT}", argument],
        env={
            **environment(),
            "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
            "TMPDIR": str(folder),
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline(), "it ended before it had read the file"
        os.kill(process.pid, signal.SIGKILL)

    assert [path for path in folder.rglob("*") if path.is_file()] == []
