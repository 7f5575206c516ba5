"""Whatever goes wrong is told as problem details, with a code and the request's id."""

import json
import logging
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from postledger.web.shared import problems
from tests.web.callers import MAIL, Caller, caller

FIELDS = {"type", "title", "status", "detail", "code", "request_id", "errors", "more_errors"}


def ask(method: str, path: str, token: str = "", **more: Any) -> tuple[int, Any, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    headers |= more.pop("headers", {})
    response = Client(raise_request_exception=False).generic(method, path, headers=headers, **more)
    assert response["Content-Type"] == problems.MEDIA_TYPE
    body = json.loads(response.content)
    assert set(body) == FIELDS
    assert body["status"] == response.status_code
    assert body["request_id"] == response["X-Request-Id"]
    assert body["type"] == f"urn:postledger:problem:{body['code']}"
    assert body["detail"]
    return response.status_code, body, response


def test_without_a_valid_key_nothing_is_answered(db: None) -> None:
    for header in (
        *("", "Bearer", "Bearer ", "Bearer x", "Basic abc", "bearer pl_live_00000000.x", "pl_live"),
        f"Bearer pl_live_{'0' * 8}.{'a' * 43}",
    ):
        for method, path in (
            ("POST", "/v1/email/send"),
            ("GET", "/v1/email"),
            ("GET", "/v1/email/x"),
        ):
            status, body, response = ask(method, path, headers={"Authorization": header})

            assert (status, body["code"]) == (401, "unauthorized"), header
            assert response["WWW-Authenticate"] == "Bearer", header


def test_a_key_with_one_letter_changed_is_none(alice: Caller) -> None:
    for place in range(len(alice.token)):
        letter = "x" if alice.token[place] != "x" else "y"
        token = alice.token[:place] + letter + alice.token[place + 1 :]

        assert ask("GET", "/v1/email", token)[0] == 401


def test_a_body_that_is_no_json_is_a_bad_request_and_json_of_another_form_an_invalid_payload(
    alice: Caller,
) -> None:
    no_json = ("{", "\x00", "{'a': 1}", "[" * 100_000)
    for body in (*no_json, "", "null", "[]", "5", '"x"'):
        status, problem, _ = ask(
            "POST", "/v1/email/send", alice.token, data=body, content_type="application/json"
        )

        expected = (400, "bad_request") if body in no_json else (422, "INVALID_PAYLOAD")
        assert (status, problem["code"]) == expected, body[:10]


def test_a_body_of_another_type_is_not_supported_and_json_with_a_charset_is(alice: Caller) -> None:
    data = json.dumps(MAIL)
    others = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "")
    for content_type in others:
        status, body, _ = ask(
            "POST", "/v1/email/send", alice.token, data=data, content_type=content_type
        )

        assert (status, body["code"]) == (415, "unsupported_media_type"), content_type
    headers = {"Authorization": f"Bearer {alice.token}"}
    response = Client().post(
        "/v1/email/send", data, "application/json; charset=utf-8", headers=headers
    )
    assert response.status_code == 202


def test_a_body_above_16_mebibytes_is_too_large(alice: Caller) -> None:
    data = "x" * (16 * 1024 * 1024 + 1)

    status, body, _ = ask(
        "POST", "/v1/email/send", alice.token, data=data, content_type="application/json"
    )

    assert (status, body["code"]) == (413, "too_large")


def test_an_unknown_address_is_not_found(alice: Caller) -> None:
    for path in ("/v1/", "/v1/nothing", "/v1/email/a/b"):
        assert ask("GET", path, alice.token)[0] == 404, path


def test_another_method_is_told_which_are_allowed(alice: Caller) -> None:
    for method, path, allowed in (
        ("GET", "/v1/email/send", "POST"),
        ("DELETE", "/v1/email", "GET"),
        ("POST", "/v1/email", "GET"),
        ("TRACE", "/v1/email/x", "DELETE, GET"),
        ("POST", "/v1/openapi.json", "GET, HEAD"),
    ):
        status, _, response = ask(method, path, alice.token)

        assert (status, response["Allow"]) == (405, allowed), path


@pytest.mark.django_db(transaction=True)
def test_a_database_that_does_not_answer_is_a_moment_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alice = caller("acme")
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")

    for method, path in (("POST", "/v1/email/send"), ("GET", "/v1/email"), ("GET", "/v1/email/x")):
        status, body, response = ask(method, path, alice.token)

        assert (status, body["code"]) == (503, "unavailable")
        assert int(response["Retry-After"]) > 0


def test_a_fault_of_ours_is_told_and_its_cause_only_logged(
    alice: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a secret cause")

    with connection.execute_wrapper(broken):
        status, body, _ = ask("GET", "/v1/email", alice.token)

    assert (status, body["code"]) == (500, "server_fault")
    assert "secret cause" not in json.dumps(body)
    assert "secret cause" in str(next(line["exc_info"] for line in lines(caplog)))


def test_a_sane_request_id_is_kept_and_any_other_replaced(db: None) -> None:
    for given, outcome in (
        ("order-5", "kept"),
        ("A.b_c-1" * 18, "kept"),
        ("x" * 128, "kept"),
        ("x" * 129, "replaced"),
        ("", "replaced"),
        ("a b", "replaced"),
        ('{"a": 1}', "replaced"),
        ("alice@example.com", "replaced"),
    ):
        _, body, _ = ask("GET", "/v1/nothing", headers={"X-Request-Id": given})

        assert ("kept" if body["request_id"] == given else "replaced") == outcome, given


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [r.msg for r in caplog.records if isinstance(r.msg, dict)]


def test_a_request_leaves_one_line_of_its_own_without_addresses_and_secrets(
    alice: Caller, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()

    taken = alice.post("/v1/email/send", MAIL, X_Request_Id="r-1", Idempotency_Key="k")
    [line] = lines(caplog)
    refused = alice.send(to="bob@")
    alice.get("/v1/email", to="alice@example.com")
    alice.get("/v1/email/alice@example.com")
    Client().get("/v1/nothing")

    assert (line["method"], line["route"], line["status"]) == ("POST", "/v1/email/send", 202)
    assert (line["request_id"], line["outbox_id"]) == ("r-1", taken.body["id"])
    assert line["workspace_id"] == alice.workspace_id
    assert line["duration_ms"] >= 0
    ours = [record for record in caplog.records if record.name.startswith("postledger")]
    assert len(lines(caplog)) == len(ours) == 5
    assert not {"workspace_id", "outbox_id"} & lines(caplog)[-1].keys(), "of a stranger"
    written = capsys.readouterr().err + repr(lines(caplog)) + caplog.text
    assert refused.status == 422
    for secret in ("alice@", "bob@", alice.token, alice.token.split(".")[1]):
        assert secret not in written


def test_of_very_many_errors_only_the_number_is_told(alice: Caller) -> None:
    data = json.dumps({**MAIL, **{f"field{number}": 0 for number in range(99_000)}})

    status, body, response = ask(
        "POST", "/v1/email/send", alice.token, data=data, content_type="application/json"
    )

    assert (status, body["errors"], body["more_errors"]) == (422, [], 99_000)
    assert "99,000 errors" in body["detail"]
    assert len(response.content) < 1000


def test_json_of_too_many_values_is_refused_unparsed_and_commas_are_none(alice: Caller) -> None:
    for body in (b"[" + b'{"":0},' * 60_000, b"[" + b"0," * 100_001, b'{"a":[' + b'"",' * 100_001):
        status, problem, _ = ask(
            "POST", "/v1/email/send", alice.token, data=body, content_type="application/json"
        )

        assert (status, problem["code"]) == (413, "too_many_values"), body
    assert alice.send(text='a, \\", [{' * 40_000).status == 202


def test_no_answer_of_the_api_is_stored_or_sniffed(alice: Caller) -> None:
    for path in ("/v1/email", "/v1/nothing", "/v1/openapi.json", "/send-mailout"):
        response = Client().get(path, headers={"Authorization": f"Bearer {alice.token}"})

        assert response["Cache-Control"] == "no-store", path
        assert response["X-Content-Type-Options"] == "nosniff", path
