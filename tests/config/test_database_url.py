"""Reading a PostgreSQL address."""

import pytest

from postledger.config import env


def test_every_part_of_an_address_is_read() -> None:
    address = env.parse_database_url(
        "postgresql://alice:pass@db.example.com:6432/books?sslmode=require"
    )

    assert address.name == "books"
    assert (address.user, address.password) == ("alice", "pass")
    assert (address.host, address.port) == ("db.example.com", "6432")
    assert address.options == {"sslmode": "require"}


def test_missing_parts_are_left_to_libpq() -> None:
    address = env.parse_database_url("postgres:///books")

    assert (address.user, address.password, address.host, address.port) == ("", "", "", "")


def test_encoded_characters_are_decoded() -> None:
    address = env.parse_database_url("postgresql://a%40b:p%2Fw%3A@h/my%20books")

    assert (address.user, address.password, address.name) == ("a@b", "p/w:", "my books")


def test_a_socket_folder_comes_from_the_query() -> None:
    address = env.parse_database_url("postgresql://alice@/books?host=/run/postgresql")

    assert address.host == "/run/postgresql"
    assert address.options == {}


def test_an_unusable_address_is_refused_with_its_reason() -> None:
    for url, complaint in (
        ("sqlite:///books.db", "must begin with postgresql://"),
        ("mysql://h/books", "must begin with postgresql://"),
        ("books", "must begin with postgresql://"),
        ("", "must begin with postgresql://"),
        ("postgresql://h", "database name"),
        ("postgresql://h/", "database name"),
        ("postgresql://h/books/more", "database name"),
        ("postgresql://h:port/books", "not a valid address"),
        ("postgresql://h:99999/books", "not a valid address"),
        ("postgresql://[::1/books", "not a valid address"),
    ):
        with pytest.raises(ValueError, match=complaint):
            env.parse_database_url(url)


def test_neither_refusal_nor_repr_shows_the_password() -> None:
    with pytest.raises(ValueError, match="database name") as caught:
        env.parse_database_url("postgresql://alice:hunter2@h/")

    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(env.parse_database_url("postgresql://alice:hunter2@h/books"))
