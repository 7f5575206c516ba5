"""Signing in: with password, code and recovery code; and everything that must not let one in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, override

import pytest
from allauth.mfa.models import Authenticator
from django.conf import LazySettings
from django.contrib.auth import hashers
from django.test import Client
from django.urls import reverse

from postledger.accounts.models import Member, User
from postledger.providers import addresses
from postledger.web.dashboard.sign_in import urls
from tests.cli import installations
from tests.web.dashboard import sign_ins
from tests.web.dashboard.sign_ins import PASSWORD, browser, person, sign_in, signed_in

pytestmark = pytest.mark.django_db

WRONG = "wrong horse battery"
HOME = "/account/security/"


def is_in(client: Client) -> bool:
    return client.get(HOME).status_code == 200


@pytest.fixture(autouse=True)
def cheap_passwords(settings: LazySettings) -> None:
    sign_ins.hash_cheaply(settings)


class CountingHasher(hashers.Argon2PasswordHasher):
    """Counts the passwords that it hashes."""

    calls: ClassVar[list[str]] = []

    @override
    def encode(self, password: str, salt: str) -> str:
        self.calls.append(password)
        return super().encode(password, salt)

    @override
    def verify(self, password: str, encoded: str) -> bool:
        self.calls.append(password)
        return super().verify(password, encoded)


@pytest.fixture
def hashed(cheap_passwords: None, settings: LazySettings) -> Iterator[list[str]]:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    CountingHasher.calls.clear()
    yield CountingHasher.calls
    CountingHasher.calls.clear()


def test_the_right_password_leads_in_however_the_address_is_written() -> None:
    """One rule: also an address of an internal domain, or in another script."""
    for stored, typed in (
        ("{}@acme.example", "{}@acme.example"),
        ("{}@acme.example", "{}@ACME.EXAMPLE"),
        ("{}@acme", "{}@Acme"),
        ("{}@localhost", "{}@localhost"),
        ("{}@xn--mnchen-3ya.example", "{}@münchen.example"),
        ("жук-{}@acme.example", "Жук-{}@acme.example"),
    ):
        name, client = sign_ins.new_name(), browser()
        person(addresses.canonical(stored.format(name)))

        login = {"login": typed.format(name), "password": PASSWORD}
        answer = client.post("/account/login/", login)

        assert (answer.status_code, answer.headers.get("Location")) == (302, "/"), typed
        assert is_in(client), typed


def test_an_unknown_address_gets_the_answer_of_a_wrong_password_and_costs_the_same_hash(
    hashed: list[str],
) -> None:
    user, nobody = person(), User(email=f"{sign_ins.new_name()}@example.com")
    assert user.password.startswith("argon2$argon2id$")
    hashed.clear()
    client = browser()

    known = text(sign_in(client, user, WRONG))
    assert len(hashed) == 1
    unknown = text(sign_in(browser(), nobody, WRONG))
    assert len(hashed) == 2

    assert "do not belong together. 4 tries left, then a rest of 15 minutes." in known
    assert not is_in(client)
    assert without_token(known).replace(user.email, "") == without_token(unknown).replace(
        nobody.email, ""
    )


def test_after_five_failures_an_address_rests_in_every_network_and_under_every_host(
    settings: LazySettings,
) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "other.example"]
    for user in (person(), User(email=f"{sign_ins.new_name()}@example.com")):
        for _ in range(5):
            sign_in(browser(), user, WRONG)

        client = browser()
        login = {"login": user.email, "password": PASSWORD}
        answers = [
            client.post("/account/login/", login),
            client.post("/account/login/", login, headers={"Host": "other.example"}),
        ]

        for answer in answers:
            assert "Too many attempts. Try again in 15 minutes." in text(answer)
        assert not is_in(client)
    assert "4 tries left" in text(sign_in(browser(), person(), WRONG))


def test_a_network_that_tries_many_addresses_rests_and_others_do_not(
    settings: LazySettings,
) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login_failed": "3/15m/ip,5/15m/key"}
    attacker, user = browser(), person()
    for _ in range(3):
        sign_in(attacker, User(email=f"{sign_ins.new_name()}@example.com"), WRONG)

    assert "Try again in 15 minutes." in text(sign_in(attacker, user))
    elsewhere = browser()
    sign_in(elsewhere, user)
    assert is_in(elsewhere)


def test_too_many_sign_ins_of_one_network_are_told_how_long_to_wait(
    settings: LazySettings,
) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login": "1/5m/ip"}
    client = browser()
    client.post("/account/login/", {})

    answer = client.post("/account/login/", {})

    assert answer.status_code == 429
    assert "Try again in 5 minutes." in text(answer)
    assert 290 < int(answer.headers["Retry-After"]) <= 300


def test_a_new_password_ends_the_lock_out_of_its_address() -> None:
    user = person()
    other = signed_in(user)
    for _ in range(5):
        sign_in(browser(), user, WRONG)

    change_password(other, "a much longer password")

    client = browser()
    sign_in(client, user, "a much longer password")
    assert is_in(client)


def test_with_an_app_neither_the_password_nor_a_code_alone_signs_in() -> None:
    user, client = person(), browser()
    secret, url = sign_ins.add_app(user), "/account/two-factor/authenticate/"
    alone = sign_ins.enter_code(client, url, secret)
    assert alone.headers["Location"] == "/account/login/"

    answer = sign_in(client, user)
    assert answer.headers["Location"] == url
    assert not is_in(client)

    wrong = client.post(url, {"code": "000000"})
    assert "This code is wrong, or was used already." in text(wrong)
    assert not is_in(client)

    right = sign_ins.enter_code(client, url, secret)
    assert right.status_code == 302
    assert is_in(client)


def test_a_recovery_code_signs_in_once() -> None:
    user = person()
    sign_ins.add_app(user)
    code, *others = sign_ins.recovery_codes(user)

    first, second = browser(), browser()
    for client in (first, second):
        sign_in(client, user)
        client.post("/account/two-factor/authenticate/", {"code": code})

    assert is_in(first)
    assert not is_in(second)
    assert sign_ins.recovery_codes(user) == others


def test_after_five_wrong_codes_a_person_rests() -> None:
    user, client = person(), browser()
    secret = sign_ins.add_app(user)
    sign_in(client, user)
    for _ in range(5):
        client.post("/account/two-factor/authenticate/", {"code": "000000"})

    answer = sign_ins.enter_code(client, "/account/two-factor/authenticate/", secret)

    assert "Too many attempts. Try again in 15 minutes." in text(answer)
    assert not is_in(client)


def test_an_app_is_set_up_with_its_picture_and_its_secret_is_stored_sealed() -> None:
    user = person()
    client = sign_ins.confirmed(user)
    page = text(client.get("/account/two-factor/totp/activate/"))
    secret = client.session["mfa.totp.secret"]
    assert secret in page
    assert 'src="data:image/svg+xml;base64,' in page

    answer = sign_ins.enter_code(client, "/account/two-factor/totp/activate/", secret)

    assert answer.headers["Location"] == "/account/two-factor/codes/"
    stored = str(list(Authenticator.objects.filter(user=user).values_list("data", flat=True)))
    assert secret not in stored
    codes = sign_ins.recovery_codes(user)
    assert len(codes) == 10
    shown = text(client.get("/account/two-factor/codes/"))
    assert all(code in shown for code in codes)
    assert text(client.get("/account/two-factor/codes/download/")).split() == codes
    assert "10 are left" in text(client.get(HOME))


def test_second_factors_change_only_for_whoever_has_just_given_the_password() -> None:
    user = person()
    sign_ins.add_app(user)
    client = signed_in(user)

    for path in (
        "/account/two-factor/totp/deactivate/",
        "/account/two-factor/codes/",
        "/account/two-factor/codes/generate/",
        "/account/two-factor/codes/download/",
        "/account/two-factor/passkeys/add/",
    ):
        answer = client.post(path) if path.endswith("generate/") else client.get(path)
        assert answer.headers["Location"].startswith("/account/reauthenticate/"), path
    assert Authenticator.objects.filter(user=user).count() == 2


def test_nobody_touches_the_passkey_of_another_person() -> None:
    owner, other = person(), sign_ins.confirmed(person())
    key = Authenticator.objects.create(user=owner, type=Authenticator.Type.WEBAUTHN, data={})

    for verb in ("edit", "remove"):
        assert other.get(f"/account/two-factor/passkeys/{key.pk}/{verb}/").status_code == 404
        assert other.post(f"/account/two-factor/passkeys/{key.pk}/{verb}/").status_code == 404
    assert Authenticator.objects.filter(pk=key.pk).exists()


def test_after_sign_in_nobody_is_led_to_another_site() -> None:
    user = person()
    for target in (
        "//evil.example",
        "///evil.example",
        "https://evil.example",
        "http:evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/%09/evil.example\t//evil.example",
        "javascript:alert(1)",
        "https://testserver@evil.example/",
        "https://testserver/",
    ):
        login = {"login": user.email, "password": PASSWORD}
        answers = [
            browser().post("/account/login/", login, query_params={"next": target}),
            browser().post("/account/login/", {**login, "next": target}),
        ]

        for answer in answers:
            location = answer.headers["Location"]
            assert location == "/" or location.startswith("/%09/evil.example"), target


def test_after_sign_in_a_page_that_was_asked_for_opens() -> None:
    user, client = person(), browser()
    asked = client.get(HOME)

    answer = client.post(
        asked.headers["Location"], {"login": user.email, "password": PASSWORD, "next": HOME}
    )

    assert answer.headers["Location"] == HOME


def paths() -> list[str]:
    """The path of every page of sign-in and of the account."""
    values = {"uidb36": "1", "key": "set-password", "pk": 1}
    found = []
    for pattern in urls.urlpatterns:
        wanted = pattern.pattern.regex.groupindex
        found.append(reverse(str(pattern.name), kwargs={name: values[name] for name in wanted}))
    assert len(found) >= 20
    return [*found, HOME]


def test_every_form_of_the_account_is_refused_without_its_token() -> None:
    user = person()
    sign_ins.add_app(user)
    client = browser(is_strict=True)
    client.force_login(user)

    answers = {path: client.post(path, {"password": PASSWORD}).status_code for path in paths()}

    assert answers == dict.fromkeys(paths(), 403)


def test_no_page_of_the_account_can_be_framed_or_stored_or_has_a_script_of_its_own() -> None:
    for client in (browser(), sign_ins.confirmed(person())):
        for path in [*paths(), "/account/two-factor/totp/activate/"]:
            answer = client.get(path)
            headers, page = answer.headers, text(answer)
            policy = headers["Content-Security-Policy"]
            assert headers["X-Frame-Options"] == "DENY", path
            assert "frame-ancestors 'none'" in policy, path
            assert "script-src 'self';" in policy, path
            assert headers["Referrer-Policy"] == "same-origin", path
            assert "no-store" in headers["Cache-Control"], path
            for own in ("<style", " style=", " onclick="):
                assert own not in page, path
            for script in page.split("<script")[1:]:
                tag = script.partition(">")[0]
                assert "src=" in tag or 'type="application/json"' in tag, path


def test_sign_in_gives_the_browser_another_session() -> None:
    user, client = person(), browser()
    client.get("/account/two-factor/passkeys/login/", headers={"Accept": "application/json"})
    before = client.cookies["postledger_session"].value

    sign_in(client, user)

    after = client.cookies["postledger_session"]
    assert after.value != before
    assert after["httponly"]
    assert after["samesite"] == "Lax"
    victim = browser()
    victim.cookies["postledger_session"] = before
    assert not is_in(victim)


def test_who_has_signed_out_cannot_use_the_old_session() -> None:
    client = signed_in(person())
    stolen = client.cookies["postledger_session"].value

    assert client.get("/account/logout/").status_code == 200
    assert is_in(client)
    client.post("/account/logout/")

    thief = browser()
    thief.cookies["postledger_session"] = stolen
    assert not is_in(client)
    assert not is_in(thief)


def change_password(client: Client, new: str) -> Any:
    return client.post(
        "/account/password/change/", {"oldpassword": PASSWORD, "password1": new}, follow=True
    )


def test_a_new_password_signs_other_devices_out_and_a_weak_one_is_refused() -> None:
    user = person()
    here, elsewhere = signed_in(user), signed_in(user)
    for weak in ("short", "password1234", "123456789012"):
        change_password(here, weak)
        user.refresh_from_db()
        assert user.check_password(PASSWORD), weak

    answer = change_password(here, "a much longer password")

    assert "Your password was changed. Other devices are signed out." in text(answer)
    assert is_in(here)
    assert not is_in(elsewhere)


def test_a_closed_account_and_a_removed_member_are_out_at_once() -> None:
    user = person()
    member = Member.objects.get(user=user)
    client, page = signed_in(user), f"/w/{member.workspace_id}/"
    assert client.get(page).status_code == 200

    Member.objects.filter(pk=member.pk).update(removed_at="2026-01-01T00:00:00Z")
    assert client.get(page).status_code == 404
    assert is_in(client)

    User.objects.filter(pk=user.pk).update(is_active=False)
    assert not is_in(client)
    assert sign_in(browser(), user).headers["Location"] == "/account/inactive/"


def test_there_is_no_sign_up() -> None:
    for path in ("/account/signup/", "/account/email/", "/account/login/code/"):
        assert browser().get(path).status_code == 404


def test_without_redis_sign_in_is_refused_with_the_reason(
    tmp_path: Path, settings: LazySettings
) -> None:
    user, client = person(), browser()
    secret = sign_ins.add_app(user)
    with installations.redis(tmp_path) as url:
        settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": url}}
        sign_in(client, user)

    answers = [
        sign_in(browser(), user),
        sign_ins.enter_code(client, "/account/two-factor/authenticate/", secret),
        browser().post("/account/password/reset/", {"email": user.email}),
    ]

    for answer in answers:
        assert answer.status_code == 503
        assert "Sign-in is not possible right now" in text(answer)
    assert not is_in(client)
    assert browser().get("/account/login/").status_code == 200
    assert is_in(signed_in(user))


def test_people_change_their_name_and_the_language_of_their_pages() -> None:
    user = person()
    client = signed_in(user)

    answer = client.post(HOME, {"name": "Bob", "language": "ru"}, follow=True)

    assert answer.headers["Content-Language"] == "ru"
    assert Member.objects.get(user=user).name == "Bob"
    for wrong in ({"name": "x" * 500, "language": "ru"}, {"name": "Bob", "language": "xx"}):
        assert client.post(HOME, wrong).status_code == 422


def text(answer: Any) -> str:
    return str(answer.content.decode())


def without_token(page: str) -> str:
    return "\n".join(line for line in page.splitlines() if "csrfmiddlewaretoken" not in line)
