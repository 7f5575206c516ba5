"""Pictures that people upload for mail: kept in the database, and shown at a public address."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models.functions import Length

from postledger.accounts import trail
from postledger.content import models, picture_types
from postledger.content.picture_types import ENDINGS, MOST_BYTES
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

_NAME_BYTES = 32


class InvalidPictureError(RefusedError):
    code = "invalid_picture"


@dataclass(frozen=True, slots=True)
class PictureSummary:
    id: int
    file_name: str  # the end of its address
    byte_count: int
    created_at: datetime


def find_base_url() -> str:
    """Where mail programs find our pictures; empty if this installation has no public address."""
    public = settings.PUBLIC_URL.rstrip("/")
    return settings.PICTURES_URL.rstrip("/") or (f"{public}/pictures" if public else "")


def keep_picture(workspace_id: int, content: bytes, *, actor: str) -> str:
    """The public URL of the picture, which nobody can guess; the same bytes keep their URL."""
    base_url, media_type = find_base_url(), check_picture(content)
    picture, is_new = models.Picture.objects.get_or_create(
        workspace_id=workspace_id,
        digest=sha256(content).digest(),
        defaults={
            "name": secrets.token_hex(_NAME_BYTES),
            "media_type": media_type,
            "content": content,
        },
    )
    if is_new:
        data: dict[str, trail.Fact] = {"bytes": len(content), "type": media_type}
        subject = f"picture {picture.pk}"
        trail.note(workspace_id, actor=actor, action="picture.added", subject=subject, data=data)
    return f"{base_url}/{picture.name}.{ENDINGS[media_type]}"


def check_picture(content: bytes) -> str:
    """Its media type, if it can be stored."""
    media_type = picture_types.find_type(content)
    if not find_base_url():
        raise InvalidPictureError(
            say(
                "The picture was not stored: mail programs could not load it, because this"
                " installation does not know its public address. Set PUBLIC_URL."
            )
        )
    if media_type is None:
        raise InvalidPictureError(
            say(
                "The picture was not stored: it is no PNG, JPEG, GIF or WebP. Save it as one"
                " of them."
            )
        )
    if len(content) > MOST_BYTES:
        raise refuse_large()
    return media_type


def refuse_large() -> InvalidPictureError:
    return InvalidPictureError(
        say(
            "The picture was not stored: it has more than %(most)s MB, and readers would wait for"
            " it. Make it smaller.",
            most=MOST_BYTES // 1024**2,
        )
    )


def list_newest(
    workspace_id: int, *, limit: int, before: int | None = None
) -> list[PictureSummary]:
    """A workspace's pictures, or those before one of them, the newest first."""
    pictures = models.Picture.objects.filter(workspace_id=workspace_id)
    if before is not None:
        pictures = pictures.filter(pk__lt=before)
    rows = pictures.order_by("-pk").values_list(
        "pk", "name", "media_type", Length("content"), "created_at"
    )
    return [
        PictureSummary(pk, f"{name}.{ENDINGS[media_type]}", byte_count, created_at)
        for pk, name, media_type, byte_count, created_at in rows[:limit]
    ]


def list_former_urls(workspace_id: int, urls: Iterable[str]) -> list[str]:
    """Those under which a picture of the workspace stood before the address of pictures changed."""
    base_url = f"{find_base_url()}/"
    names = {
        url: urlsplit(url).path.rpartition("/")[2].rpartition(".")[0]
        for url in urls
        if not url.startswith(base_url) and _is_splittable(url)
    }
    own = models.Picture.objects.filter(workspace_id=workspace_id, name__in=set(names.values()))
    known = set(own.values_list("name", flat=True)) if any(names.values()) else set()
    return [url for url, name in names.items() if name in known]


def _is_splittable(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


def find_size(name: str, media_type: str) -> int | None:
    """The bytes of a picture of any workspace, counted: who has its address may see it."""
    pictures = models.Picture.objects.filter(name=name, media_type=media_type)
    return pictures.values_list(Length("content"), flat=True).first()


def read_picture(name: str) -> bytes | None:
    content = models.Picture.objects.filter(name=name).values_list("content", flat=True).first()
    return None if content is None else bytes(content)
