import pytest
from django.db import Error, connection, transaction

from postledger.lib import database_outage


def write_on_a_standby() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute("DELETE FROM lib_worklease")


def lose_the_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def exceed_the_time() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 1")
        cursor.execute("SELECT pg_sleep(1)")


def divide_by_zero() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_and_a_standby_are_outages_and_a_failed_statement_is_not() -> None:
    for cause, is_away in [
        (write_on_a_standby, True),
        (lose_the_connection, True),
        (exceed_the_time, False),
        (divide_by_zero, False),
    ]:
        with pytest.raises(Error) as raised:
            cause()

        assert database_outage.is_away(raised.value) is is_away, cause
        connection.close()
