"""Pictures of letters as a browser shows them: on small and large screens, by day and night."""

import re
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

from tests.content.golden.specimen import FilledLetter

_BROWSER = "chromium"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_WIDTHS = (375, 700)
_HEIGHT = 1600
_NIGHT = "--blink-settings=preferredColorScheme=0"
# The pictures of the corpus are nowhere: their names say how large they would be.
_PICTURE = re.compile(r'src="https://[^"]*?(?:-(\d+)x(\d+))?\.(?:png|jpg)[^"]*"')


def take(letter: FilledLetter, name: str, *, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary) / "letter.html"
        page.write_text(_PICTURE.sub(_draw_placeholder, letter.html), "utf-8")
        for width in _WIDTHS:
            for suffix, more in (("", ()), ("-night", (_NIGHT,))):
                picture = folder / f"{name}-{width}{suffix}.png"
                subprocess.run(
                    [
                        _BROWSER,
                        *_FLAGS,
                        *more,
                        f"--user-data-dir={temporary}/profile",
                        f"--window-size={width},{_HEIGHT}",
                        f"--screenshot={picture.resolve()}",
                        page.as_uri(),
                    ],
                    check=True,
                    capture_output=True,
                )


def _draw_placeholder(match: re.Match[str]) -> str:
    width, height = match[1] or "600", match[2] or "300"
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        '<rect width="100%" height="100%" fill="#94a3b8"/></svg>'
    )
    return f'src="data:image/svg+xml,{quote(drawing)}"'
