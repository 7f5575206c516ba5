"""The file postledger.env: who reads it, what wins, and what is written into a new one."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.config import env, env_file


@pytest.fixture(autouse=True)
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, and an environment that is as before afterwards."""
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(os.environ):
        for name in (*env.variables(), env_file.VARIABLE):
            os.environ.pop(name, None)
            os.environ.pop(f"{name}_FILE", None)
        yield


def load(text: str) -> env.Env:
    path = Path(env_file.NAME)
    path.write_text(text)
    path.chmod(0o600)
    env_file.load(may_be_missing=False)
    return env.load()


def test_the_file_of_the_folder_is_read() -> None:
    loaded = load("# mine\n\nFROM_NAME='Acme Ltd' # the shop\nexport BATCH_SIZE=7\n")

    assert (loaded.from_name, loaded.batch_size) == ("Acme Ltd", 7)


def test_a_folder_without_a_file_is_as_good() -> None:
    env_file.load(may_be_missing=False)

    assert env.load().batch_size == 50


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"SECRET_KEY": "given"}, "given"), ({"SECRET_KEY_FILE": "key.txt"}, "from a file")],
)
def test_the_environment_wins(given: dict[str, str], expected: str) -> None:
    Path("key.txt").write_text("from a file\n")
    os.environ.update(given)

    loaded = load("SECRET_KEY=of the folder\nBATCH_SIZE=7\n")

    assert loaded.secret_key.get_secret_value() == expected
    assert loaded.batch_size == 7


def test_a_variable_that_is_set_wins_over_a_file_that_the_file_names() -> None:
    os.environ["SECRET_KEY"] = "given"

    assert load("SECRET_KEY_FILE=/nowhere\n").secret_key.get_secret_value() == "given"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("UNSUB_SECRET", "UNSUBSCRIBE_SECRET"),
        ("UNSUBSCRIBE_SECRET", "UNSUB_SECRET"),
        ("UNSUB_SECRET", "UNSUBSCRIBE_SECRET_FILE"),
    ],
)
def test_the_environment_wins_by_either_name_of_the_unsubscribe_secret(
    given: str, line: str
) -> None:
    os.environ[given] = "g" * 32

    load(f"{line}={'f' * 32}\n")

    assert line not in os.environ


@pytest.mark.parametrize(
    "line", ["PYTHONPATH=/tmp/evil", "LD_PRELOAD=x", "secret_key=x", "hunter2=", "API_RATE_FILE=x"]
)
def test_a_line_that_sets_no_setting_is_refused_by_its_number_and_not_shown(line: str) -> None:
    before = dict(os.environ)

    with pytest.raises(env.BadEnvironmentError) as caught:
        load(f"BATCH_SIZE=7\n{line}\n")

    assert str(caught.value) == (
        "Line 2 of postledger.env names no setting of Postledger. Correct the name, or delete the"
        " line."
    )
    assert dict(os.environ) == before


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_is_refused(mode: int) -> None:
    path = Path(env_file.NAME)
    path.write_text("BATCH_SIZE=7\n")
    path.chmod(mode)

    with pytest.raises(env.BadEnvironmentError, match=r"others may write .* chmod 600"):
        env_file.load(may_be_missing=False)


@pytest.mark.parametrize(
    ("owner", "caller", "is_refused"),
    [(1000, 0, True), (1000, 1001, True), (0, 1000, False), (1000, 1000, False), (0, 0, False)],
)
def test_a_file_must_be_the_callers_or_roots(owner: int, caller: int, is_refused: bool) -> None:  # noqa: FBT001
    risk = env_file.find_risk(Path("postledger.env"), owner=owner, mode=0o600, caller=caller)

    assert bool(risk) is is_refused


def test_a_file_that_others_can_read_is_read_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path(env_file.NAME)
    path.write_text("BATCH_SIZE=7\n")
    path.chmod(0o644)

    env_file.load(may_be_missing=False)

    assert env.load().batch_size == 7
    assert capsys.readouterr().err == (
        "Other users of this machine can read postledger.env, which has secrets."
        " Run chmod o= postledger.env.\n"
    )


def test_a_file_that_its_group_can_read_is_read_in_silence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path(env_file.NAME)
    path.write_text("BATCH_SIZE=7\n")
    path.chmod(0o640)

    env_file.load(may_be_missing=False)

    assert capsys.readouterr().err == ""


def test_nothing_in_a_value_is_expanded() -> None:
    assert load("FROM_NAME=${HOME}$HOME\n").from_name == "${HOME}$HOME"


def test_another_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.env").write_text("BATCH_SIZE=9\n")
    (tmp_path / "other.env").chmod(0o600)
    os.environ[env_file.VARIABLE] = str(tmp_path / "other.env")

    assert load("BATCH_SIZE=7\n").batch_size == 9


def test_no_file_is_read_where_none_is_named() -> None:
    os.environ[env_file.VARIABLE] = ""

    assert load("BATCH_SIZE=7\n").batch_size == 50


def test_a_named_file_that_is_missing_is_refused_unless_it_is_to_be_created() -> None:
    os.environ[env_file.VARIABLE] = "/nowhere/postledger.env"

    env_file.load(may_be_missing=True)
    with pytest.raises(env.BadEnvironmentError, match=r"/nowhere/postledger.env, which does not"):
        env_file.load(may_be_missing=False)


@pytest.mark.parametrize("line", ["hunter2", "SECRET_KEY='hunter2", "= hunter2"])
def test_a_bad_line_is_named_by_its_number_and_not_shown(line: str) -> None:
    with pytest.raises(env.BadEnvironmentError) as caught:
        load(f"# mine\n\n{line}\n")

    assert "Line 3 of postledger.env is not NAME=VALUE" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_text_is_refused() -> None:
    Path(env_file.NAME).write_bytes(b"\xff\xfe")

    with pytest.raises(env.BadEnvironmentError, match="cannot be read"):
        env_file.load(may_be_missing=False)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_what_is_written_is_read_back(value: str) -> None:
    [line] = env_file._parse(f"FROM_NAME={env_file._quote(value)}\n", Path("postledger.env"))

    assert line == ("FROM_NAME", value)


def test_a_new_file_is_described_and_readable_for_its_owner_alone() -> None:
    path = Path(env_file.NAME)

    env_file.create(path, {"SECRET_KEY": "s" * 64, "BROKER_URL": ""})

    text = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "\n# Signs links and seals stored secrets. At least 50 random" in text
    assert f"\nSECRET_KEY={'s' * 64}\n" in text
    assert "\n# BROKER_URL=\n" in text


def test_an_existing_file_is_never_overwritten() -> None:
    Path(env_file.NAME).write_text("SECRET_KEY=old\n")

    with pytest.raises(FileExistsError):
        env_file.create(Path(env_file.NAME), {"SECRET_KEY": "new"})

    assert Path(env_file.NAME).read_text() == "SECRET_KEY=old\n"
    assert [path.name for path in Path().iterdir()] == [env_file.NAME]


def test_a_new_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """A disk that is full in the middle: the file would have one secret and not the other."""
    with pytest.raises(UnicodeEncodeError):
        env_file.create(tmp_path / env_file.NAME, {"SECRET_KEY": "s" * 64, "FROM_NAME": "\ud800"})

    assert list(tmp_path.iterdir()) == []
