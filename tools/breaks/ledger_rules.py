"""How each rule of the ledger is switched off: a text of the code, and what replaces it."""

from tools.breaks.breaks import SQL, Rule
from tools.breaks.fence_rules import FENCE

WORK = [
    Rule(
        "1 arm needs my lease (backstop)",
        ("ledger/arming.py", "      AND b.lease = %(lease)s\n", ""),
    ),
    Rule(
        "1 arm needs a running lease (backstop)",
        ("ledger/arming.py", "AND b.lease_until > clock_timestamp()", ""),
    ),
    Rule(
        "1 arm needs a lease",
        ("ledger/arming.py", "      AND b.lease = %(lease)s\n", ""),
        ("ledger/arming.py", "AND b.lease_until > clock_timestamp()", ""),
    ),
    Rule(
        "1 arm starts at lo",
        ("ledger/arming.py", "AND b.lo = w.lo\n      AND b.armed_to IS NULL", ""),
    ),
    Rule(
        "1 arm respects holds",
        (SQL, "WHERE h.stream_id = s.id AND (h.until", "WHERE false AND (h.until"),
    ),
    Rule(
        "1 arm respects sender holds",
        (
            SQL,
            "AND NOT EXISTS (\n        SELECT FROM deliveries_senderhold",
            "OR EXISTS (\n        SELECT FROM deliveries_senderhold",
        ),
    ),
    Rule(
        "1 only a probe is armed after a provider did not answer",
        (SQL, "ELSE h.probe_lease IS DISTINCT FROM lease", "ELSE false"),
    ),
    Rule(
        "2 evidence outdates",
        ("ledger/evidence.py", "SET version = version + 1", "SET version = version"),
    ),
    Rule("2 arm needs the version", ("ledger/arming.py", "AND b.version = w.version", "")),
    Rule(
        "3 settle needs the lease",
        ("ledger/settling.py", "AND b.lease = %(lease)s AND b.lo", "AND b.lo"),
    ),
    Rule(
        "3 only waiting lines settle",
        ("ledger/books.py", "AND state = 'waiting' AND last_try", "AND last_try"),
        ("ledger/books.py", "      AND d.state = 'waiting'\n", ""),
    ),
    Rule(
        "3 only newer tries settle (backstop)",
        (
            "ledger/books.py",
            "state = 'waiting' AND last_try < taken.try_number",
            "state = 'waiting'",
        ),
        ("ledger/books.py", "      AND d.last_try < span.try_number\n", ""),
    ),
    Rule(
        "4 cursor and results move together",
        ("ledger/settling.py", "w.moved_to, w.moved_to AS", "b.hi AS moved_to, w.moved_to AS"),
    ),
    Rule("5 a retry is a new try", ("ledger/settling.py", "g.try_number + 1, ", "g.try_number, ")),
    Rule(
        "5 send again is a new try",
        (
            "ledger/decisions.py",
            '{sql.next_try("decided.last_try", "decided.settled_at")}',
            "decided.last_try",
        ),
    ),
    Rule(
        "5 attempts count once",
        ("ledger/evidence.py", "(d.last_try < old.try_number)::int", "1"),
    ),
    Rule(
        "6a only an armed try is proved",
        ("ledger/sql.py", "item.try_number BETWEEN 1 AND d.last_try OR", "true OR"),
    ),
    Rule(
        "6 late acceptance counts",
        (
            "ledger/evidence.py",
            "WHERE d.state <> 'accepted'\n      AND (item.address IS NULL",
            "WHERE d.state = 'x'\n      AND (item.address IS NULL",
        ),
    ),
    Rule(
        "6 late refusal needs the doubt",
        ("ledger/evidence.py", "      AND d.state = 'in_doubt'\n", ""),
        ("ledger/evidence.py", "      AND item.try_number = ANY(d.doubts)\n", ""),
    ),
    Rule(
        "6 late refusal is of its try",
        ("ledger/evidence.py", "AND item.try_number = ANY(d.doubts)", ""),
    ),
    Rule(
        "7 doubt is sticky in settle",
        ("ledger/books.py", "d.doubts IS NOT NULL AND e.state", "false AND e.state"),
    ),
    Rule(
        "7 doubt is sticky in drain",
        ("ledger/closing.py", "WHEN d.doubts IS NULL THEN", "WHEN true THEN"),
    ),
    Rule(
        "7 armed becomes doubt",
        ("ledger/upkeep.py", "d.position < win.armed_to", "d.position < win.lo"),
    ),
    Rule("9 orphans", ("ledger/decisions.py", "d.resend_after <= clock_timestamp()", "true")),
    Rule(
        "10 drain leaves leases",
        (
            "ledger/closing.py",
            "WHERE b.stream_id = %(stream)s AND b.lease IS NULL AND",
            "WHERE b.stream_id = %(stream)s AND",
        ),
        (
            "ledger/closing.py",
            "WHERE id = ANY(%(ids)s::bigint[]) AND lease IS NULL\n    ORDER BY id\n",
            "WHERE id = ANY(%(ids)s::bigint[])\n    ORDER BY id\n",
        ),
    ),
    Rule(
        "18 giving up leaves leases",
        (
            "ledger/closing.py",
            "AND due_at <= statement_timestamp() AND lease IS NULL",
            "AND due_at <= statement_timestamp()",
        ),
        (
            "ledger/closing.py",
            "WHERE id = ANY(%(ids)s::bigint[]) AND lease IS NULL\n    ORDER BY id\n",
            "WHERE id = ANY(%(ids)s::bigint[])\n    ORDER BY id\n",
        ),
    ),
    Rule(
        "18 mail that is not due is not given up",
        (
            "ledger/closing.py",
            "AND due_at <= statement_timestamp() AND lease IS NULL",
            "AND lease IS NULL",
        ),
    ),
    Rule(
        "18 nothing is given up before its time",
        ("ledger/closing.py", "AND h.fails_at <= clock_timestamp()", "AND h.fails_at IS NOT NULL"),
    ),
    Rule(
        "18 a stream that is held is not given up",
        (
            "ledger/closing.py",
            "WHERE own.stream_id = s.id AND (own.until",
            "WHERE false AND (own.until",
        ),
    ),
    Rule(
        "18 a person's action gives the mail its time anew",
        (
            "ledger/holds/stream_holds.py",
            "WHERE sender_id = (SELECT sender_id FROM",
            "WHERE false AND sender_id = (SELECT sender_id FROM",
        ),
    ),
    Rule(
        "18 what was given up was never armed",
        ("ledger/sql.py", "'expired', 'poison', 'given_up'", "'expired', 'poison'"),
    ),
    Rule("10 cancel stops arming", (SQL, "AND s.cancelled_at IS NULL", "")),
    Rule("11 a click needs the state", ("ledger/decisions.py", "AND d.state = %(before)s", "")),
    Rule(
        "11 a click needs the try",
        ("ledger/decisions.py", "      AND d.last_try = seen.last_try\n", ""),
    ),
    Rule(
        "11 a click needs it uncovered",
        ("ledger/decisions.py", '{sql.covered("seen.position")}', "false"),
    ),
    Rule(
        "15 a cancelled mail is not armed",
        ("ledger/cancelling.py", " AND b.armed_to IS NULL\n", "\n"),
    ),
    Rule(
        "15 a cancelled mail is not in doubt",
        ("ledger/cancelling.py", " AND NOT delivery.is_doubtful AND", " AND"),
    ),
    Rule(
        "15 a cancelled mail was judged",
        ("ledger/cancelling.py", "is_doubtful AND delivery.is_judged", "is_doubtful"),
    ),
    Rule(
        "16 what was handed over keeps its values",
        ("ledger/decisions.py", "IS NOT NULL AND {sql.NEVER_ARMED}\n", "IS NOT NULL\n"),
    ),
    Rule(
        "16 who was erased gets no values back",
        ("ledger/decisions.py", "AND d.contact_id IS NOT NULL AND", "AND"),
    ),
    Rule(
        "17 a superseded failure was never armed",
        ("ledger/cancelling.py", "\n      AND {sql.NEVER_ARMED}\n", "\n"),
    ),
    Rule(
        "17 a superseded failure is of this epoch",
        ("ledger/sql.py", "AND e.began_at > d.planned_at", "AND false"),
    ),
    Rule(
        "17 a superseded failure ends",
        ("ledger/cancelling.py", "state = 'cancelled', settled_at", "settled_at"),
    ),
    Rule(
        "12 the parent shrinks",
        ("ledger/upkeep.py", "SET hi = b.lo + (b.hi - b.lo) / 2,", "SET"),
    ),
    Rule(
        "claim takes unleased work",
        ("ledger/claiming.py", "AND b.lease IS NULL\n      AND b.losses", "AND b.losses"),
    ),
    Rule(
        "a lease ends for all its batches",
        (
            "ledger/upkeep.py",
            "SELECT token, is_alone, unnest(batch_ids) AS id FROM",
            "SELECT token, is_alone, batch_ids[1] AS id FROM",
        ),
    ),
    Rule(
        "a lease is kept for all its batches",
        (
            "ledger/upkeep.py",
            "WHERE id = ANY(l.batch_ids) AND lease = l.token",
            "WHERE id = l.batch_ids[1] AND lease = l.token",
        ),
    ),
    Rule(
        "counters come from RETURNING",
        (
            "ledger/books.py",
            "count(*) FILTER (WHERE state = '",
            "1 + count(*) FILTER (WHERE state = '",
        ),
    ),
    Rule(
        "a retry batch spans no doubt",
        (
            "ledger/settling.py",
            "FROM spaced WHERE state <> 'accepted'",
            "FROM spaced WHERE state = 'waiting'",
        ),
    ),
    Rule(
        "12 a batch that is cut shrinks before its pieces exist",
        ("ledger/claiming.py", "SET hi = meant.hi, version", "SET version"),
    ),
    Rule(
        "4 an armed batch is not cut",
        (
            "ledger/claiming.py",
            "lease = %(lease)s AND armed_to IS NULL\n      AND lo =",
            "lease = %(lease)s\n      AND lo =",
        ),
    ),
    Rule(
        "14c an old claim cuts nothing",
        (
            "ledger/claiming.py",
            "AND hi = %(hi)s\n      AND %(epoch)s = (SELECT max(number) FROM deliveries_epoch)",
            "AND hi = %(hi)s",
        ),
    ),
    Rule(
        "a mail without an answer",
        (
            "ledger/settling.py",
            "FROM span WHERE NOT EXISTS",
            "FROM span WHERE false AND NOT EXISTS",
        ),
    ),
]

POISON = [
    Rule("13 claim leaves suspects", ("ledger/claiming.py", 'SQL("= 0")', 'SQL(">= 0")')),
    Rule(
        "13 a suspect is claimed alone",
        ("ledger/claiming.py", "limit=1,", "limit=9,"),
    ),
    Rule(
        "13 every loss makes a suspect",
        ("ledger/upkeep.py", "least(b.losses + 1, 1000)", "b.losses + win.is_lone_loss::int"),
    ),
    Rule(
        "13 only losses alone count",
        ("ledger/upkeep.py", "stale.is_alone AND b.armed_to IS NULL AS", "b.armed_to IS NULL AS"),
    ),
    Rule(
        "13 arming ends being alone",
        ("ledger/claiming.py", "SET is_alone = false", "SET is_alone = true"),
    ),
    Rule(
        "13 a settle forgives",
        ("ledger/settling.py", "win.moved_to), losses = 0, lone_losses = 0", "win.moved_to)"),
    ),
    Rule(
        "13 a window passed over forgives",
        ("ledger/arming.py", "%(lease_time)s, losses = 0, lone_losses = 0", "%(lease_time)s"),
    ),
    Rule(
        "13 a window swept armed forgives",
        (
            "ledger/upkeep.py",
            "least(b.losses + 1, 1000) ELSE 0 END",
            "least(b.losses + 1, 1000) ELSE b.losses END",
        ),
        (
            "ledger/upkeep.py",
            "win.is_lone_loss::int ELSE 0 END",
            "win.is_lone_loss::int ELSE b.lone_losses END",
        ),
    ),
    Rule(
        "13 the first half of one starts anew",
        ("ledger/upkeep.py", "- 1 ELSE 0 END\n    FROM sick", "- 1 ELSE 2 END\n    FROM sick"),
    ),
    Rule(
        "13 the second half of one starts anew",
        ("ledger/upkeep.py", "- 1 ELSE 0 END\nFROM parent", "- 1 ELSE 2 END\nFROM parent"),
    ),
    Rule(
        "13 only a batch of one fails",
        ("ledger/upkeep.py", "SELECT b.id, b.hi - b.lo = 1\n", "SELECT b.id, true\n"),
    ),
    Rule(
        "13 a batch of several needs three losses",
        ("ledger/upkeep.py", "HALVE_AFTER = 3", "HALVE_AFTER = 2"),
    ),
    Rule(
        "13 what is given back as a suspect is one",
        ("ledger/claiming.py", "THEN greatest(losses, 1) ELSE", "THEN losses ELSE"),
    ),
    Rule(
        "13 a batch of one needs more losses",
        ("ledger/upkeep.py", "THEN %(fail_after)s ELSE", "THEN %(fail_after)s - 1 ELSE"),
    ),
]

AMENDING = [
    Rule(
        "19 only the mail of a topic is readdressed",
        (
            "ledger/amending.py",
            "AND s.id = d.stream_id AND s.kind = %(kind)s",
            "AND s.id = d.stream_id",
        ),
    ),
    Rule(
        "19 only its lease readdresses a mail",
        (
            "ledger/amending.py",
            "b.stream_id = %(stream)s AND b.lease = %(lease)s AND b.armed_to IS NULL",
            "b.stream_id = %(stream)s",
        ),
    ),
    Rule(
        "19 what was tried keeps its address",
        ("ledger/amending.py", "AND d.doubts IS NULL AND d.attempts = 0", ""),
        ("ledger/amending.py", "AND a.outcome NOT IN (", "AND false AND a.outcome NOT IN ("),
    ),
    Rule(
        "19 what was tried before a requeue keeps its address",
        ("ledger/amending.py", "AND a.outcome NOT IN (", "AND false AND a.outcome NOT IN ("),
    ),
    Rule(
        "14c an old claim readdresses nothing",
        ("ledger/amending.py", "AND %(epoch)s = (SELECT max(number) FROM deliveries_epoch)", ""),
        (
            "ledger/amending.py",
            "SELECT FROM deliveries_epoch e WHERE e.cause <> 'setup' AND",
            "SELECT FROM deliveries_epoch e WHERE false AND",
        ),
    ),
    Rule(
        "20 a retry is not brought forward",
        ("ledger/amending.py", "AND b.reason IN {sql.NAMED_BY_RECIPIENTS}", ""),
    ),
    Rule(
        "20 a suspect is not brought forward",
        ("ledger/amending.py", "AND b.losses = 0 AND", "AND"),
    ),
    Rule(
        "20 leased mail is not brought forward (backstop)",
        (
            "ledger/amending.py",
            "WHERE b.lease IS NULL AND b.losses = 0 AND",
            "WHERE b.losses = 0 AND",
        ),
    ),
    Rule(
        "20 only the mail of a topic is brought forward",
        (
            "ledger/amending.py",
            "ON s.id = given.stream_id AND s.kind = %(kind)s",
            "ON s.id = given.stream_id",
        ),
    ),
]

BREAKS = [*WORK, *POISON, *FENCE, *AMENDING]
