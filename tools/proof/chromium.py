"""A real Chromium with many pages open at once, driven through its debugging pipe."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

PATIENCE = 60.0
_FLAGS = (
    "--headless",
    "--no-sandbox",  # it runs as root where tests do
    "--disable-gpu",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--renderer-process-limit=8",
    "--remote-debugging-pipe",
)


def is_there() -> bool:
    return shutil.which("chromium") is not None


@dataclass
class Chromium:
    """Commands go one way and answers come back, each ended by a zero byte."""

    commands: BinaryIO
    answers: BinaryIO
    numbers: Iterator[int]

    def ask(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        number = next(self.numbers)
        asked = {"id": number, "method": method, "params": params}
        if session:
            asked["sessionId"] = session
        self.commands.write(json.dumps(asked).encode() + b"\0")
        self.commands.flush()
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        read = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            assert byte, "Chromium is gone"
            read += byte
        return dict(json.loads(read))

    def open(self, urls: Sequence[str], *, is_loaded: Callable[[str], bool]) -> list[str]:
        """Opens each in a tab of its own, and waits until all have a title that will do."""
        tabs = [str(self.ask("Target.createTarget", url=url)["targetId"]) for url in urls]
        began = time.monotonic()
        while not all(is_loaded(title) for title in self.titles(tabs)):
            assert time.monotonic() - began < PATIENCE, self.titles(tabs)
            time.sleep(0.1)
        return tabs

    def titles(self, tabs: Sequence[str]) -> list[str]:
        targets = self.ask("Target.getTargets")["targetInfos"]
        titles = {target["targetId"]: target["title"] for target in targets}
        return [titles.get(tab, "") for tab in tabs]

    def close(self, tabs: Sequence[str]) -> None:
        for tab in tabs:
            self.ask("Target.closeTarget", targetId=tab)

    def attach(self, tab: str) -> str:
        return str(self.ask("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"])

    def evaluate(self, session: str, script: str) -> Any:
        reply = self.ask(
            "Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def picture(self, session: str) -> bytes:
        reply = self.ask("Page.captureScreenshot", session, captureBeyondViewport=True)
        return base64.b64decode(reply["data"])


@contextmanager
def running() -> Iterator[Chromium]:
    here_to_there, there_to_here = os.pipe(), os.pipe()
    # Chromium reads from 3 and writes to 4, which may be taken here by something else.
    theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (here_to_there[0], there_to_here[1])]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = ["chromium", *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", *command],
                pass_fds=theirs,
                stdout=log,
                stderr=log,
            )
        for fd in (*theirs, here_to_there[0], there_to_here[1]):
            os.close(fd)
        with os.fdopen(here_to_there[1], "wb") as commands, os.fdopen(there_to_here[0], "rb") as up:
            yield Chromium(commands, up, count(1))
            # It ends when nobody drives it any more.
        process.terminate()
        process.wait(PATIENCE)
