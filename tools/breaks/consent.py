"""Breaks of consent: who is mailed although they said no, or not mailed although they said yes."""

from tools.breaks.breaks import Break

BREAKS = [
    # Who left every list gets no mail to all contacts, under a corrected address neither.
    Break(
        "a corrected address brings nobody back to all contacts",
        (
            "contacts/reach.py",
            "unnest(array_append(contact.former_addresses, contact.address))",
            "unnest(ARRAY[contact.address])",
        ),
        tests="tests/contacts/test_reach.py tests/contacts/test_leaving.py"
        " tests/contacts/test_audience.py",
    ),
    # Whoever left or is suppressed is not subscribed by a file that still has them.
    Break(
        "an import subscribes nobody who was kept back",
        (
            "imports/merging.py",
            "WHERE kept_back IS NULL AND subscription IS NULL",
            "WHERE subscription IS NULL",
        ),
        tests="tests/imports/test_importing.py tests/imports/test_old_states.py",
        otherwise="tests/imports",
    ),
    # After leaving everything, a confirmation is a yes to the one list that it names.
    Break(
        "who comes back for one list does not come back for the others",
        (
            "contacts/actions/subscriptions.py",
            "            _end_others(workspace_id, contact_id, list_id, change)\n",
            "",
        ),
        tests="tests/contacts/test_subscriptions.py tests/web/public",
    ),
    # A link of double opt-in that lies in a mailbox does not undo what its owner did later.
    Break(
        "a confirmation link is stale once its owner has left",
        (
            "web/public/confirm.py",
            "    if queries.has_left_since(",
            "    if False and queries.has_left_since(",
        ),
        tests="tests/web/public",
    ),
    # Consent is asked for once more after the arm, and before the provider is called.
    Break(
        "a withdrawal while the mail is composed stops it",
        ("mailing/gates.py", "    if then == now:\n", "    if then is not None:\n"),
        tests="tests/dispatch/test_last_moment.py tests/dispatch/test_gates.py",
    ),
    # RFC 8058: the mail program's POST is all that it takes.
    Break(
        "a one-click POST unsubscribes",
        (
            "web/public/unsubscribe.py",
            "is_applied = visit.is_post or _applies_on_get(visit)",
            "is_applied = (visit.is_post and not is_one_click) or _applies_on_get(visit)",
        ),
        tests="tests/web/public",
    ),
    # An old state that Supabase repeats does not end a consent that was given here since.
    Break(
        "Supabase does not repeat what was taken back here",
        (
            "supabase/rows.py",
            "their_at is not None and their_at < taken_back_at",
            "their_at is not None and their_at is taken_back_at",
        ),
        tests="tests/supabase/test_rows.py tests/supabase/test_syncing.py",
        otherwise="tests/supabase",
    ),
    # A file raises no consent: a row that only changes a name confirms nobody.
    Break(
        "an import without a list makes nobody mailable who never confirmed",
        (
            "imports/merging.py",
            "           is_unconfirmed OR NOT is_new AND NOT is_confirmed\n",
            "           is_unconfirmed\n",
        ),
        tests="tests/imports/test_importing.py tests/contacts/test_unconfirmed.py",
        otherwise="tests/imports",
    ),
    # Under a keyed hash, as the last one: an old file must not create the person anew.
    Break(
        "an erased person's former addresses stay suppressed",
        (
            "contacts/actions/erasing.py",
            "for each in suppressed:\n            suppression.suppress(",
            "for each in suppressed[:1]:\n            suppression.suppress(",
        ),
        tests="tests/privacy/test_erased_consent.py",
        otherwise="tests/privacy tests/web/dashboard/test_contact_edit.py",
    ),
    # Until then its notifications wait, whatever break the topic subscription had before.
    Break(
        "a break from a topic's list holds beside one of the topic subscription",
        (
            "notifications/subscriptions/standing.py",
            "greatest(subscription.snooze_until, consent.snooze_until) AS snooze_until",
            "coalesce(subscription.snooze_until, consent.snooze_until) AS snooze_until",
        ),
        tests="tests/notifications/test_terms.py tests/notifications/test_subscriptions.py",
        otherwise="tests/notifications",
    ),
]
