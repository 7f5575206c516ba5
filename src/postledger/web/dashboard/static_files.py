"""The URLs of style sheets and scripts: each names its content, so browsers may keep them."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import override

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage


class VersionedFiles(StaticFilesStorage):
    @override
    def url(self, name: str | None) -> str:
        url = super().url(name)
        return f"{url}?v={_hash_file(name)}" if name else url


@cache
def _hash_file(name: str) -> str:
    path = finders.find(name)
    if not isinstance(path, str):
        raise FileNotFoundError(name)
    return sha256(Path(path).read_bytes()).hexdigest()[:12]
