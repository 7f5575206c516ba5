"""How each rule of the fence is switched off: a text of the code, and what replaces it."""

from tools.breaks.breaks import SQL, Rule

_TIMELINE = "      AND e.timeline = here.timeline\n"
_DATABASE = "      AND e.database_oid = here.database_oid\n"

FENCE = [
    Rule(
        "14a a database that is not the epoch's sends nothing",
        (SQL, f"{_TIMELINE}{_DATABASE}      AND (s.lifted", f"{_DATABASE}      AND (s.lifted"),
    ),
    Rule("14a a fenced stream sends nothing", (SQL, "AND (s.lifted_epoch = e.number", "AND (true")),
    Rule(
        "14a a stream is lifted alone",
        (
            "ledger/fence.py",
            "WHERE s.id = %(stream)s AND e.number = %(epoch)s",
            "WHERE %(stream)s::bigint > 0 AND e.number = %(epoch)s",
        ),
    ),
    Rule(
        "14a campaigns are lifted apart",
        ("ledger/fence.py", "if campaigns or kind != StreamKind.CAMPAIGN:", "if True:"),
    ),
    Rule(
        "14a only the epoch that was looked at is lifted",
        (
            "ledger/fence.py",
            "  AND e.number = (SELECT max(number) FROM deliveries_epoch)\nRETURNING s.id",
            "RETURNING s.id",
        ),
    ),
    Rule(
        "14a a database below its witness is noticed",
        ("ledger/fence.py", "epoch.token < witness.token", "False"),
    ),
    Rule(
        "14b what was due is in doubt",
        (
            "ledger/fence.py",
            "WHERE d.stream_id = %(stream)s AND d.position >= win.lo",
            "WHERE false AND d.position >= win.lo",
        ),
    ),
    Rule(
        "14b the lift puts in doubt first",
        ("ledger/fence.py", "    put_all_in_doubt(stream_id)\n    if not", "    if not"),
    ),
    Rule(
        "14b what was leased is in doubt",
        (
            "ledger/fence.py",
            "AND (b.due_at < e.gap_to",
            "AND b.lease IS NULL AND (b.due_at < e.gap_to",
        ),
    ),
    Rule(
        "14b what is due later goes on",
        (
            "ledger/fence.py",
            "AND (b.due_at < e.gap_to OR",
            "AND (true OR",
        ),
    ),
    Rule(
        "14b what is accepted after the fall goes on",
        ("ledger/fence.py", "AND b.id < e.first_batch_id", ""),
    ),
    Rule(
        "14b what was lifted is judged no more (backstop)",
        ("ledger/fence.py", "      AND s.lifted_epoch IS DISTINCT FROM e.number\n", ""),
    ),
    Rule(
        "14b what was throttled is in doubt",
        (
            "ledger/fence.py",
            "OR b.reason IN {sql.BROUGHT_FORWARD}",
            "",
        ),
    ),
    Rule(
        "14b what recipients may bring forward is in doubt",
        ("ledger/fence.py", "OR s.kind = 'topic' AND b.reason IN {sql.NAMED_BY_RECIPIENTS}", ""),
    ),
    Rule(
        "14b the lost time ends no earlier than the witness",
        ("ledger/fence.py", "e.seen_at, %(witnessed_at)s)", "e.seen_at, NULL::timestamptz)"),
        ("ledger/fence.py", '            "witnessed_at": witness.at,\n', ""),
    ),
    Rule(
        "14b an unnoticed restore is judged",
        (SQL, f"{_TIMELINE}{_DATABASE}      AND (s.epoch", f"{_DATABASE}      AND (s.epoch"),
    ),
    Rule(
        "14b the sweep waits for the judgement",
        ("ledger/upkeep.py", "AND deliveries_is_judged(b.stream_id)", ""),
    ),
    Rule(
        "14b the drain waits for the judgement",
        ("ledger/closing.py", "AND deliveries_is_judged(%(stream)s)", ""),
    ),
    Rule(
        "14b giving up waits for the judgement",
        ("ledger/closing.py", "  AND deliveries_is_judged(s.id)\n", ""),
    ),
    Rule(
        "14b a restore gives the mail of blocked senders its time anew",
        ("ledger/fence.py", "WHERE fails_at IS NOT NULL", "WHERE false"),
    ),
    Rule(
        "14b erasing waits for the judgement",
        ("ledger/erasing.py", "  AND deliveries_is_judged(b.stream_id) ORDER", " ORDER"),
    ),
    Rule(
        "14b a run plans on in doubt",
        ("ledger/planning.py", "        if added:\n", "        if False:\n"),
    ),
    Rule(
        "14c arm needs the epoch of its claim (backstop)",
        (
            SQL,
            "coalesce(deliveries_open_epoch(stream, lease) = epoch, false)",
            "deliveries_open_epoch(stream, lease) IS NOT NULL",
        ),
    ),
    Rule(
        "14c settle needs the epoch of its claim",
        (
            "ledger/settling.py",
            "WHERE %(epoch)s = (SELECT max(number) FROM deliveries_epoch)",
            "WHERE %(epoch)s::int IS NOT NULL",
        ),
    ),
    Rule(
        "14c wait needs the epoch of its claim",
        (
            "ledger/claiming.py",
            "AND %(epoch)s = (SELECT max(number) FROM deliveries_epoch)\nRETURNING id",
            "AND %(epoch)s::int IS NOT NULL\nRETURNING id",
        ),
    ),
    Rule(
        "14d tokens leap",
        (
            "ledger/fence.py",
            "token = max(token, witness.token) + leap_count * NUMBER_LEAP",
            "token = max(token, leap_count)",
        ),
    ),
    Rule(
        "14d positions of requests leap",
        (
            "ledger/fence.py",
            "(SELECT last_value FROM deliveries_single_position) + %(leap)s",
            "(SELECT last_value FROM deliveries_single_position)",
        ),
    ),
    Rule(
        "14d batch numbers leap",
        (
            "ledger/fence.py",
            "(SELECT last_value FROM deliveries_batch_id_seq) + %(leap)s",
            "(SELECT last_value FROM deliveries_batch_id_seq)",
        ),
    ),
    Rule(
        "14d positions of a stream leap",
        (
            "ledger/fence.py",
            "next_position = next_position + %(leap)s",
            "next_position = next_position + 0 * %(leap)s",
        ),
    ),
    Rule(
        "14d tries of what is put in doubt leap",
        (
            "ledger/fence.py",
            "last_try = win.try_number + %(leap)s *",
            "last_try = win.try_number + %(leap)s * 0 *",
        ),
    ),
    Rule(
        "14d tries of what a person decides leap",
        (
            "ledger/decisions.py",
            '{sql.next_try("decided.last_try", "decided.settled_at")}',
            "decided.last_try + 1",
        ),
    ),
    Rule(
        "14d tries of what evidence denies leap",
        (
            "ledger/evidence.py",
            '{sql.next_try("disproved.last_try", "disproved.settled_at")}',
            "disproved.last_try + 1",
        ),
    ),
    Rule(
        "14d no epoch's number comes again",
        ("ledger/fence.py", "max(seen_epoch, witness.epoch) + 1", "seen_epoch + 1"),
    ),
    Rule(
        "14e an earlier acceptance counts",
        (
            "ledger/evidence.py",
            "return _accept(stream_id, matched, is_earlier=True) if matched else 0",
            "return 0",
        ),
    ),
    Rule(
        "14e an earlier acceptance beats a failure",
        (
            "ledger/evidence.py",
            "WHERE d.state <> 'accepted' AND d.planned_at",
            "WHERE d.state = 'in_doubt' AND d.planned_at",
        ),
    ),
    Rule(
        "14e earlier evidence is for its address",
        (
            "ledger/evidence.py",
            "      AND (item.address IS NULL OR",
            "      AND (true OR",
        ),
        (
            "ledger/evidence.py",
            "began_at\n  AND (item.address IS NULL OR",
            "began_at\n  AND (true OR",
        ),
    ),
    Rule(
        "14e evidence that names no line is kept",
        ("ledger/evidence.py", "    if keeps_unmatched:\n", "    if False:\n"),
    ),
    Rule(
        "14e an earlier denial ends no doubt",
        (
            "ledger/evidence.py",
            "item for item in current if item.entry.state not in",
            "item for item in evidence if item.entry.state not in",
        ),
    ),
    Rule(
        "14e earlier evidence finds no later line (backstop)",
        ("ledger/evidence.py", " AND d.planned_at < e.began_at", ""),
    ),
    Rule(
        "14e earlier evidence finds no later line, nor its number",
        ("ledger/evidence.py", " AND d.planned_at < e.began_at", ""),
        (
            "ledger/fence.py",
            "(SELECT last_value FROM deliveries_single_position) + %(leap)s",
            "(SELECT last_value FROM deliveries_single_position)",
        ),
    ),
    Rule(
        "14f a decision waits for bytes of the lost time",
        (
            "ledger/decisions.py",
            "        AND NOT {sql.BYTES_OF_LOST_TIME}\n",
            "",
        ),
    ),
    Rule(
        "14f so does one about a doubt of the lost time",
        (
            "ledger/fence.py",
            "resend_after = win.began_at + ",
            "resend_after = win.began_at - interval '1 day' + ",
        ),
    ),
]
