"""Reads the lists of tags that DKIM and DMARC records are: `v=DMARC1; p=none`. Pure."""


def parse(text: str) -> dict[str, str] | None:
    """The values by tag; None if the text is no such list, or names a tag twice."""
    values: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, sign, value = part.partition("=")
        name = name.strip().lower()
        if not sign or not name.isidentifier() or name in values:
            return None
        values[name] = value.strip()
    return values


def without(text: str, name: str) -> str:
    parts = [part.strip() for part in text.split(";")]
    kept = [part for part in parts if part and part.partition("=")[0].strip().lower() != name]
    return "; ".join(kept)
