"""Copies of pictures as files: read once, and given up before they are too many."""

from pathlib import Path

from postledger.web.public.picture_files import PictureFiles


def test_a_copy_is_made_once_and_given_up_for_newer_ones() -> None:
    files, reads = PictureFiles(most_bytes=10), list[str]()

    def read(name: str) -> bytes:
        reads.append(name)
        return name.encode() * 4

    def open_file(name: str) -> tuple[bytes, Path]:
        file = files.open(name, lambda: read(name))
        assert file is not None
        with file:
            return file.read(), Path(file.name)

    first, second, first_again = (open_file(name) for name in "aba")
    third = open_file("c")

    assert (first, first[0], third[0]) == (first_again, b"aaaa", b"cccc")
    assert [path.exists() for _content, path in (first, second, third)] == [True, False, True]
    assert open_file("b")[0] == b"bbbb"
    assert reads == ["a", "b", "c", "b"]
    assert files.open("none", lambda: None) is None


def test_a_reader_of_a_copy_that_is_given_up_reads_on() -> None:
    files = PictureFiles(most_bytes=1)
    slow = files.open("a", lambda: b"slow")
    assert slow is not None
    following = files.open("b", lambda: b"next")
    assert following is not None

    with slow, following:
        assert not Path(slow.name).exists()
        assert slow.read() == b"slow"
