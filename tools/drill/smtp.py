"""The provider of a drill: the SMTP server in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tools.drill.waiting import free_port


@dataclass
class Smtp:
    folder: Path
    pace: float = 0.1  # seconds until a mail is answered
    port: int = field(default_factory=free_port)
    popen: subprocess.Popen[bytes] | None = None

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def mood(self) -> Path:
        return self.folder / "mood"

    def start(self) -> None:
        self.journal.touch()
        command = [sys.executable, "-m", "tools.drill.smtp_server", str(self.port)]
        self.popen = subprocess.Popen([*command, str(self.journal), str(self.pace), str(self.mood)])

    @contextmanager
    def in_mood(self, word: str) -> Iterator[None]:
        """Says the same to everybody until the block is left."""
        self.mood.write_text(word)
        try:
            yield
        finally:
            self.mood.write_text("")

    def lines(self) -> list[str]:
        return self.journal.read_text().splitlines(keepends=True)

    def end(self) -> None:
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()
