"""The golden files: the bytes of each letter, or only their digest where they are many."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "letters"

_LARGEST = 40_000


def write(wires: Mapping[str, bytes]) -> None:
    """Writes all of them, and removes those of letters that are gone."""
    files = dict(pack_letter(name, wire) for name, wire in wires.items())
    for path in FOLDER.iterdir():
        if path.suffix in {".eml", ".sha256"} and path.name not in files:
            path.unlink()
    for name, content in files.items():
        (FOLDER / name).write_bytes(content)


def pack_letter(name: str, wire: bytes) -> tuple[str, bytes]:
    """The name of a letter's file, and what is in it."""
    if len(wire) > _LARGEST:
        return f"{name}.sha256", f"{sha256(wire).hexdigest()}\n".encode()
    return f"{name}.eml", wire
