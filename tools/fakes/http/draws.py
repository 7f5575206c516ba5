"""Numbers that look random and can be drawn again."""

from hashlib import blake2b


def draw(seed: int, subject: object) -> float:
    """A number from 0 to 1 that depends on nothing else."""
    digest = blake2b(f"{seed} {subject}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
