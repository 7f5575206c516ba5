"""Articles and slices over HTTP: written, changed, deleted, and seen as readers do."""

from typing import Any

import pytest

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from tests.web import newsroom
from tests.web.callers import Caller, Reply

OHIO = "ocd-division/country:us/state:oh"
COLUMBUS = f"{OHIO}/place:columbus"
EMPTY = {
    "scope_ocd_id": None,
    "section": "",
    "section_order": 0,
    "sort_index": 0,
    "is_headline": False,
    "title": "",
    "dek": "",
    "preheader": "",
    "body_md": "",
    "published_from": None,
    "published_until": None,
    "is_published": False,
}


@pytest.fixture
def news(alice: Caller) -> Caller:
    """Alice's program, with an article that has no slice."""
    assert alice.post("/v1/articles", {"key": "news", "title": "May"}).status == 201
    return alice


def add(who: Caller, **parts: Any) -> int:
    added = who.post("/v1/articles/news/slices", {"is_published": True, **parts})
    assert added.status == 201, added.body
    return int(added.body["id"])


def preview_article(who: Caller, *places: str, **more: Any) -> Reply:
    return who.post("/v1/articles/news/preview", {"ocd_ids": places, **more})


def test_an_article_is_made_found_and_retitled_and_its_key_taken_once(alice: Caller) -> None:
    made = alice.post("/v1/articles", {"key": "news", "title": "May"})
    found = alice.get("/v1/articles/news").body
    listed = alice.get("/v1/articles").body
    refused = alice.post("/v1/articles", {"key": "news", "title": "June"})
    changed = alice.ask("PATCH", "/v1/articles/news", {"title": "June"})

    assert made.status == 201
    assert made.body == {
        "key": "news",
        "title": "May",
        "slice_count": 0,
        "created_at": made.body["created_at"],
        "updated_at": made.body["updated_at"],
    }
    assert (found, listed) == (made.body, {"articles": [made.body]})
    assert (refused.status, refused.body["code"]) == (409, "article_exists")
    assert (changed.status, changed.body["title"]) == (200, "June")


def test_a_slice_is_deleted_and_an_article_with_its_slices_once_no_draft_uses_it(
    news: Caller,
) -> None:
    kept, gone = add(news), add(news)
    content = {"kind": "article", "key": "news"}
    draft = news.post("/v1/campaigns", {**newsroom.NEW, "content": content}).body["id"]

    deleted = news.ask("DELETE", f"/v1/articles/news/slices/{gone}")
    refused = news.ask("DELETE", "/v1/articles/news")
    news.ask("DELETE", f"/v1/campaigns/{draft}")

    assert (deleted.status, deleted.body) == (204, None)
    assert (refused.status, refused.body["code"]) == (409, "article_in_use")
    assert [piece["id"] for piece in news.get("/v1/articles/news/slices").body["slices"]] == [kept]
    assert news.ask("DELETE", f"/v1/articles/news/slices/{gone}").status == 404
    assert news.ask("PUT", f"/v1/articles/news/slices/{gone}", {}).status == 404
    assert news.ask("DELETE", "/v1/articles/news").status == 204
    assert news.get("/v1/articles/news").status == 404
    assert news.ask("DELETE", "/v1/articles/news").status == 404
    news.post("/v1/articles", {"key": "news", "title": "May"})
    assert news.get("/v1/articles/news/slices").body == {"slices": []}


def test_a_slice_comes_back_as_it_was_written_and_is_written_anew_as_a_whole(news: Caller) -> None:
    written = {
        "scope_ocd_id": OHIO,
        "section": "Lead",
        "section_order": 1,
        "sort_index": -2,
        "is_headline": True,
        "title": "Hello",
        "dek": "To Ohio",
        "preheader": "Hello & {{ name }}",
        "body_md": "Hello, *Ohio*.",
        "published_from": "2026-05-01T02:00:00+02:00",
        "published_until": "2026-06-01T00:00:00Z",
        "is_published": True,
    }

    added = news.post("/v1/articles/news/slices", written)
    listed = news.get("/v1/articles/news/slices").body
    id_ = added.body["id"]
    changed = news.ask("PUT", f"/v1/articles/news/slices/{id_}", {"title": "Bye"})

    assert added.status == 201
    assert added.body == {**written, "id": id_, "published_from": "2026-05-01T00:00:00Z"}
    assert listed == {"slices": [added.body]}
    assert news.get("/v1/articles/news").body["slice_count"] == 1
    assert (changed.status, changed.body) == (200, {**EMPTY, "id": id_, "title": "Bye"})
    assert news.get("/v1/articles/news/slices").body == {"slices": [changed.body]}


def test_a_slice_takes_no_year_that_nobody_means(news: Caller) -> None:
    for name in ("published_from", "published_until"):
        for far in ("9999-12-31T23:59:59Z", "9001-01-01T00:00:00Z", "1969-12-31T23:59:59Z"):
            refused = news.post("/v1/articles/news/slices", {**EMPTY, "title": "A", name: far})
            assert refused.status == 422, far
            assert refused.body["detail"].startswith(f"{name}: Use a year from 1970 to 9000")
    assert news.get("/v1/articles/news/slices").body == {"slices": []}


def test_what_is_no_slice_is_not_found(news: Caller) -> None:
    for number in ("0", str(2**63), "9" * 5000, "x", "-1"):
        assert news.ask("PUT", f"/v1/articles/news/slices/{number}", {}).status == 404, number


# code, what is changed
WRONG_SLICES: list[tuple[str, dict[str, Any]]] = [
    *(("INVALID_PAYLOAD", {"scope_ocd_id": id_}) for id_ in ("", "Berlin", "ocd-division/a b")),
    ("INVALID_PAYLOAD", {"section_order": 2**31}),
    ("INVALID_PAYLOAD", {"is_headline": "yes"}),
    ("INVALID_PAYLOAD", {"title": "x" * 501}),
    ("INVALID_PAYLOAD", {"body_md": "x" * 524_289}),
    ("INVALID_PAYLOAD", {"body_md": "\ud800"}),
    ("INVALID_PAYLOAD", {"published_from": "tomorrow"}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
    ("invalid_text", {"body_md": "é" * 262_145}),
    ("invalid_text", {"title": "a\x00"}),
    ("invalid_slice", {"is_headline": True}),
    ("invalid_slice", {"body_md": "{{ first_name }}"}),
]


def test_a_wrong_slice_is_refused(news: Caller) -> None:
    slice_id = add(news)
    for code, changes in WRONG_SLICES:
        for refused in (
            news.post("/v1/articles/news/slices", changes),
            news.ask("PUT", f"/v1/articles/news/slices/{slice_id}", changes),
        ):
            assert (refused.status, refused.body["code"]) == (422, code), changes

    [kept] = news.get("/v1/articles/news/slices").body["slices"]
    assert kept == {**EMPTY, "id": slice_id, "is_published": True}


# code, what is changed
WRONG_ARTICLES: list[tuple[str, dict[str, Any]]] = [
    *(("INVALID_PAYLOAD", {"key": key}) for key in ("", "A", "a\n", "a" * 201, 5)),
    ("INVALID_PAYLOAD", {"title": "x" * 101}),
    ("invalid_name", {"title": "a\x00"}),
    ("INVALID_PAYLOAD", {"surprise": 1}),
]


def test_a_wrong_article_is_refused(alice: Caller) -> None:
    for code, changes in WRONG_ARTICLES:
        refused = alice.post("/v1/articles", {"key": "news", "title": "May", **changes})
        assert (refused.status, refused.body["code"]) == (422, code), changes
    assert alice.get("/v1/articles").body == {"articles": []}


def test_a_reader_gets_the_slices_of_where_they_are_in_one_letter(news: Caller) -> None:
    everybody = add(news, is_headline=True, title="News", dek="Of May", body_md="For **all**.")
    ohio = add(news, scope_ocd_id=OHIO, body_md="For Ohio.")
    columbus = add(
        news, scope_ocd_id=COLUMBUS, is_headline=True, title="Columbus", body_md="For Columbus."
    )
    add(news, scope_ocd_id=f"{OHIO}/place:cleveland", body_md="For Cleveland.")

    here = preview_article(news, "ocd-division/country:us", OHIO, COLUMBUS).body
    nowhere = preview_article(news).body

    assert (here["subject"], here["dek"]) == ("Columbus", "")
    assert here["slice_ids"] == [everybody, ohio, columbus]
    assert "<strong>all</strong>" in here["html"]
    words = ["For all.", "For Ohio.", "For Columbus."]
    assert [here["text"].count(word) for word in words] == [1, 1, 1]
    assert sorted(words, key=here["text"].index) == words
    assert "Cleveland" not in here["html"]
    assert (nowhere["subject"], nowhere["dek"]) == ("News", "Of May")
    assert nowhere["slice_ids"] == [everybody]


def test_a_title_is_no_markdown_and_its_liquid_is_filled_in(news: Caller) -> None:
    id_ = add(news, is_headline=True, title="News")
    path = f"/v1/articles/news/slices/{id_}"
    written = {"is_headline": True, "is_published": True, "body_md": "Hello."}
    for title, subject in (
        *((title, title) for title in ("# 1 * C# [a](b) <b>_x_</b> & `c` \\", "1. One", "- x")),
        ("a | b ~~c~~ &amp; {", "a | b ~~c~~ &amp; {"),
        ('For {{ name | append: "!" }}', "For [name]!"),
    ):
        news.ask("PUT", path, {**written, "title": title, "dek": title})

        shown = preview_article(news).body

        assert shown["subject"] == subject, shown["findings"]
        assert shown["text"].count(subject) == 2, title
    news.ask("PUT", path, {**written, "dek": "Of  May"})
    assert preview_article(news).body["subject"] == "Of May", "of a headline without a title"


def test_only_what_is_published_at_the_time_is_shown(news: Caller) -> None:
    add(news, title="News", published_until="2026-06-01T00:00:00Z")
    later = add(news, title="June", published_from="2026-06-01T00:00:00Z")
    add(news, title="Draft", is_published=False)

    assert preview_article(news, at="2026-05-31T23:59:59Z").body["subject"] == "News"
    assert preview_article(news, at="2026-06-01T02:00:00+02:00").body["slice_ids"] == [later]


def test_a_letter_without_a_subject_or_with_a_fault_is_a_finding(news: Caller) -> None:
    ids = []
    for body in ("", "Words, but no title."):
        ids.append(add(news, body_md=body))
        shown = preview_article(news)

        assert shown.status == 200
        [fault] = shown.body["findings"]
        assert (fault["code"], fault["is_warning"]) == ("subject_required", False)
        assert (shown.body["subject"], shown.body["html"], shown.body["dek"]) == (None, None, None)
        assert shown.body["slice_ids"] == ids
    add(news, is_headline=True, title="News", body_md="{% if name %}")

    faulty = preview_article(news).body

    assert "liquid_invalid" in [fault["code"] for fault in faulty["findings"]]
    assert faulty["html"] is None


def test_the_letter_has_the_workspaces_footer(news: Caller, settings: Any) -> None:
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    add(news, is_headline=True, title="News", body_md="Hello.")
    lacking = preview_article(news).body
    organisation = Organisation("Acme", "1 Road", "https://acme.example/leave")
    workspaces.set_organisation(news.workspace_id, organisation, actor="alice")

    shown = preview_article(news).body

    assert "footer_missing" in [finding["code"] for finding in lacking["findings"]]
    assert shown["findings"] == []
    assert "Acme — 1 Road" in shown["html"]
    assert shown["text"].endswith("Unsubscribe: https://acme.example/leave")


def test_a_wrong_question_for_a_preview_is_refused(news: Caller) -> None:
    for asked in ({}, {"ocd_ids": "a"}, {"ocd_ids": ["a b"]}, {"ocd_ids": ["a"] * 1001}):
        refused = news.post("/v1/articles/news/preview", asked)

        assert (refused.status, refused.body["code"]) == (422, "INVALID_PAYLOAD"), asked
