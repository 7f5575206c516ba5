"""Reading the environment."""

from pathlib import Path

import pytest

from postledger.config import env


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in env.variables():
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


def test_an_empty_environment_gives_the_development_defaults() -> None:
    loaded = env.load()

    assert loaded.database_url.get_secret_value().endswith("127.0.0.1:5432/postledger")
    assert loaded.debug is False
    assert loaded.database_pool_size == 0


def test_values_are_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "true")
    monkeypatch.setenv("DATABASE_POOL_SIZE", "8")
    monkeypatch.setenv("ALLOWED_HOSTS", "mail.acme.example, ,api.acme.example,")

    loaded = env.load()

    assert loaded.debug is True
    assert loaded.database_pool_size == 8
    assert loaded.allowed_hosts == ("mail.acme.example", "api.acme.example")


def test_the_first_sender_sends_five_mails_a_second_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    default = env.load().send_rate_per_sec
    monkeypatch.setenv("SEND_RATE_PER_SEC", "0.5")

    assert (default, env.load().send_rate_per_sec) == (5, 0.5)


def test_a_rate_at_which_nobody_can_send_stops_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for rate in ("0", "-1", "10001", "nan", "inf", "fast"):
        monkeypatch.setenv("SEND_RATE_PER_SEC", rate)
        with pytest.raises(env.BadEnvironmentError, match="SEND_RATE_PER_SEC: "):
            env.load()


def test_one_error_names_every_bad_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "perhaps")
    monkeypatch.setenv("LOG_LEVEL", "LOUD")
    monkeypatch.setenv("DATABASE_POOL_SIZE", "-1")
    monkeypatch.setenv("DATABASE_URL", "sqlite:///books.db")
    monkeypatch.setenv("SECRET_KEY_FILE", "/nowhere/secret")

    with pytest.raises(env.BadEnvironmentError) as caught:
        env.load()

    named = {line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:]}
    assert named == {"DEBUG", "LOG_LEVEL", "DATABASE_POOL_SIZE", "DATABASE_URL", "SECRET_KEY"}


def test_an_error_never_shows_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://alice:hunter2@h/books")

    with pytest.raises(env.BadEnvironmentError) as caught:
        env.load()

    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secret_is_read_from_the_file_its_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("postgresql://host.example/from-a-file\n")
    secrets = [name for name, info in env.variables().items() if env.is_secret(info)]
    for name in secrets:
        monkeypatch.setenv(f"{name}_FILE", str(secret))
        value = getattr(env.load(), name.lower()).get_secret_value()
        monkeypatch.delenv(f"{name}_FILE")

        assert value == "postgresql://host.example/from-a-file", name
    assert "SECRET_KEY" in secrets


def test_a_plain_setting_is_not_read_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "level").write_text("ERROR")
    monkeypatch.setenv("LOG_LEVEL_FILE", str(tmp_path / "level"))

    assert env.load().log_level == "INFO"


def test_a_secret_given_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("one")
    monkeypatch.setenv("SECRET_KEY", "two")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "secret"))

    with pytest.raises(env.BadEnvironmentError, match="SECRET_KEY and SECRET_KEY_FILE are both"):
        env.load()


def test_a_file_that_is_no_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_bytes(b"\xff\xfe")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "secret"))

    with pytest.raises(env.BadEnvironmentError, match="SECRET_KEY_FILE cannot be read"):
        env.load()


def test_secrets_stay_out_of_the_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    monkeypatch.setenv("BROKER_URL", "amqp://alice:hunter2@h//")

    assert "hunter2" not in repr(env.load())


def test_a_secret_that_could_be_guessed_stops_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, shortest in (
        ("UNSUBSCRIBE_SECRET", 32),
        ("UNSUB_SECRET", 32),
        ("ADMIN_PASSWORD", 16),
    ):
        monkeypatch.setenv(name, "s" * (shortest - 1))
        with pytest.raises(env.BadEnvironmentError, match=f"{name}: has fewer than {shortest}"):
            env.load()

        for value in ("", "s" * shortest):
            monkeypatch.setenv(name, value)
            assert getattr(env.load(), name.lower()).get_secret_value() == value
        monkeypatch.delenv(name)
