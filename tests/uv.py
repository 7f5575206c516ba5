"""Where uv is: on the path, or where `.ci/run` puts it."""

import os
import shutil
from pathlib import Path


def find_uv() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for name in (os.environ.get("UV"), "uv", str(cache / "postledger/uv/bin/uv")):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise AssertionError("uv is missing: install it as CONTRIBUTING.md says")
