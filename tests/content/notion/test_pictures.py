"""Pictures: which are copied, under which names, and which are refused."""

import logging
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from postledger.content import picture_types
from postledger.content.notion import pages
from postledger.content.notion.album import NOTION_ORIGINS, Album, UnavailableError
from postledger.content.notion.blocks import Group, Image
from postledger.content.notion.rich_text import Span
from tests.content.notion import stage
from tests.content.notion.stage import PICTURES, PNG
from tests.fakes.notion import FakeNotion, File
from tests.fakes.notion_pages import hosted, paragraph, title


def test_a_picture_is_kept_under_the_digest_of_its_bytes(fake: FakeNotion, tmp_path: Path) -> None:
    for kind, content, ending in [
        ("image/png", PNG, "png"),
        ("image/jpeg", b"\xff\xd8\xff\xe0", "jpg"),
        ("image/gif", b"GIF89a", "gif"),
        ("image/webp", b"RIFF\x00\x00\n\x00WEBPVP8", "webp"),
        ("IMAGE/PNG; charset=binary", PNG + b"!", "png"),
    ]:
        fake.files.update(dict.fromkeys("ab", File(content, type=kind)))
        kept = stage.album(fake, tmp_path / "new" / "folder")

        urls = [kept.keep(fake.file_url(name)) for name in "aab"]

        path = tmp_path / "new" / "folder" / f"{sha256(content).hexdigest()}.{ending}"
        assert urls == [f"{PICTURES}/{path.name}"] * 3, kind
        assert path.read_bytes() == content, kind
        assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_the_largest_picture_is_kept_and_a_larger_one_is_not(
    fake: FakeNotion, tmp_path: Path
) -> None:
    largest = PNG.ljust(picture_types.MOST_BYTES, b"\x00")
    fake.files.update({"a": File(largest), "b": File(largest + b"\x00")})
    kept = stage.album(fake, tmp_path)

    kept.keep(fake.file_url("a"))

    with pytest.raises(UnavailableError, match="more than 5 MB"):
        kept.keep(fake.file_url("b"))
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_no_picture_is_refused(fake: FakeNotion, tmp_path: Path) -> None:
    for name, file, why in [
        ("a", File(PNG, type="image/svg+xml"), "not a PNG"),
        ("b", File(b"<html>", type="text/html"), "not a PNG"),
        ("c", File(b"<svg onload=alert(1)>", type="image/png"), "does not match its type"),
        ("d", File(b"", type="image/gif"), "does not match its type"),
        ("e", File(b"", location="http://127.0.0.1:1/secret"), "status 302"),
    ]:
        fake.files[name] = file
        with pytest.raises(UnavailableError, match=why) as caught:
            stage.album(fake, tmp_path).keep(fake.file_url(name))
        assert caught.value.code == "picture_unavailable"
    expired = fake.file_url("a")
    fake.expire_files()
    for url in (expired, fake.file_url("gone")):
        with pytest.raises(UnavailableError, match="status 403"):
            stage.album(fake, tmp_path).keep(url)

    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_drips_in_is_given_up(fake: FakeNotion, tmp_path: Path) -> None:
    fake.files["a"] = File(PNG * 10, drip=0.25)

    with pytest.raises(UnavailableError, match="took too long"):
        stage.album(fake, tmp_path, seconds=1).keep(fake.file_url("a"))


def test_only_notions_own_hosts_are_asked_and_over_https(tmp_path: Path) -> None:
    kept = Album(tmp_path, base_url=PICTURES)

    assert all(origin.startswith("https://") for origin in NOTION_ORIGINS)
    for url in (
        "https://example.com/a.png",
        "http://169.254.169.254/latest/meta-data",
        "http://prod-files-secure.s3.us-west-2.amazonaws.com/a.png",
        "https://prod-files-secure.s3.us-west-2.amazonaws.com:8443/a.png",
        "https://prod-files-secure.s3.us-west-2.amazonaws.com.example.com/a.png",
        "https://prod-files-secure.s3.us-west-2.amazonaws.com@example.com/a.png",
        "https://example.com\\@prod-files-secure.s3.us-west-2.amazonaws.com/a.png",
        "https://example.com#@s3.us-west-2.amazonaws.com/a.png",
        "file:///etc/passwd",
        "",
    ):
        with pytest.raises(UnavailableError, match="not one of Notion's"):
            kept.keep(url)
    with pytest.raises(UnavailableError, match="InvalidURL"):
        kept.keep("https://[::1/a.png")


def test_the_signature_of_an_address_is_in_no_log_and_in_no_error(
    fake: FakeNotion, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fake.files["a"] = File(PNG)
    caplog.set_level(logging.DEBUG)
    kept = stage.album(fake, tmp_path)
    kept.keep(fake.file_url("a"))

    with pytest.raises(UnavailableError) as caught:
        kept.keep(fake.file_url("nothing"))

    assert "httpcore" in caplog.text
    assert "X-Amz" not in caplog.text + str(caught.value)


def test_a_picture_that_cannot_be_had_is_found_and_its_description_shown(
    fake: FakeNotion, tmp_path: Path
) -> None:
    lost = hosted("image", "gone.png", caption=["The hall"])
    page_id = fake.add_page(paragraph("x"), lost, properties={"Name": title("x")})

    page = stage.read(fake, page_id, folder=tmp_path)

    [finding] = page.findings
    assert finding.code == "picture_unavailable"
    assert finding.place.endswith("(image)")
    assert page.html == "<p>x</p>\n<p>The hall</p>"
    assert page.text == "x\n\n[The hall]"


def test_pictures_elsewhere_stay_there_and_each_one_is_copied_once() -> None:
    asked = []

    def keep(url: str) -> str:
        asked.append(url)
        return "https://mail.example/1.png"

    caption = (Span("x"),)
    ours = Image("1", "https://s3.example/1", is_hosted=True, caption=caption)
    theirs = Image("2", " https://example.com/2.png", is_hosted=False, caption=caption)
    bad = Image("3", "mailto:a@b.c", is_hosted=False, caption=caption)

    urls, missing = pages.gather_pictures([ours, Group("4", (theirs, ours, bad, bad))], keep=keep)

    assert asked == ["https://s3.example/1"]
    assert urls == {
        "1": "https://mail.example/1.png",
        "2": "https://example.com/2.png",
    }
    assert [each.place for each in missing] == ["block 3 (image)"]
