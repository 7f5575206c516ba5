"""Wall clocks that are wrong, or are set while processes run: see skew.c."""

import shutil
import subprocess
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path


def build_library(folder: Path) -> Path | None:
    """For LD_PRELOAD; None without a C compiler.

    Not libfaketime: that one also changes how long waits are.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, made = Path(__file__).with_name("skew.c"), folder / "skew.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return made


@dataclass(frozen=True, slots=True)
class SetClock:
    """A clock of several processes, which is set while they run."""

    library: Path
    file: Path

    def set_ahead(self, by: timedelta) -> None:
        """Sets it so far ahead of the machine's clock; back, if it is negative."""
        seconds = round(by.total_seconds())
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(seconds.to_bytes(8, "little", signed=True))

    @property
    def environment(self) -> dict[str, str]:
        """That of a process which goes by this clock."""
        return {"LD_PRELOAD": str(self.library), "SKEW_FILE": str(self.file)}
