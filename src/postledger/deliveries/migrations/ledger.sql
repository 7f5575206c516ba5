-- The ledger. Partitioned tables get one partition a month (deliveries/partitions.py); their key
-- starts with the stream id, and a stream id starts with its month. Only `deliveries/ledger/` writes
-- these tables. No foreign key leads to a stream: each insert of a child would lock and write the
-- stream's row, which thousands of inserts a second share.

CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE SEQUENCE deliveries_stream_number MAXVALUE 2147483647;
CREATE SEQUENCE deliveries_lease_token;
-- Positions of one-mail streams: no row to fight over, gaps are harmless. They follow the order of
-- arrival, so that searches can be answered newest first by position alone; a cache in each
-- connection would shuffle them.
CREATE SEQUENCE deliveries_single_position MAXVALUE 1125899906842623;

-- An epoch is one uninterrupted life of this ledger in one place. A restored backup, a promoted
-- standby and a copy are not in the place, or not in the time, that their last epoch names: a new
-- epoch begins, and nothing is sent in it before a person lifts the fence. The highest number is
-- the current one.
CREATE TABLE deliveries_epoch (
    number integer PRIMARY KEY,
    system_identifier bigint NOT NULL,
    timeline integer NOT NULL,
    database_oid bigint NOT NULL,
    cause text NOT NULL CHECK (cause IN ('setup', 'identity', 'witness')),
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),  -- by a worker, every few seconds
    -- The time that is lost: what happened in it is known outside alone.
    gap_from timestamptz,
    gap_to timestamptz,
    first_batch_id bigint NOT NULL,  -- batches below it are of earlier epochs
    token bigint NOT NULL,  -- the lease token that it began with
    consent_restored_at timestamptz,
    lifted_at timestamptz,  -- for all streams but campaigns
    campaigns_lifted_at timestamptz
);

-- The highest token of each connection's arms, committed with them. A sequence is no measure of how
-- far the ledger has come: after a crash it is up to 32 numbers ahead.
CREATE TABLE deliveries_tokenmark (
    backend integer PRIMARY KEY,
    token bigint NOT NULL
) WITH (fillfactor = 50);

-- Evidence that names no mail it may act on; kept for people to look at.
CREATE TABLE deliveries_unmatched (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stream_id bigint NOT NULL,
    "position" bigint NOT NULL,
    try_number integer NOT NULL,
    epoch integer NOT NULL,
    outcome text NOT NULL,
    source text NOT NULL,
    message_id text
);

-- Which database this is: cluster, timeline and database. Cluster and database stay the same for a
-- connection, so it remembers them: reading the control file costs more than a claim. The timeline
-- changes with a promotion; it is read from the log that is written now, because the control file
-- lags until a checkpoint.
CREATE FUNCTION deliveries_identity(
    OUT system_identifier bigint, OUT timeline integer, OUT database_oid bigint
) LANGUAGE plpgsql AS $$
DECLARE
    known text := current_setting('postledger.identity', true);
BEGIN
    IF coalesce(known, '') = '' THEN
        SELECT c.system_identifier || ' ' || d.oid INTO STRICT known
        FROM pg_control_system() AS c, pg_database AS d WHERE d.datname = current_database();
        PERFORM set_config('postledger.identity', known, false);
    END IF;
    system_identifier := split_part(known, ' ', 1);
    timeline := ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer;
    database_oid := split_part(known, ' ', 2);
END $$;

CREATE TABLE deliveries_stream (
    id bigint PRIMARY KEY,
    epoch integer NOT NULL DEFAULT 1,  -- in which it was opened
    lifted_epoch integer,  -- in which the fence was lifted for it alone
    workspace_id bigint NOT NULL REFERENCES accounts_workspace,
    sender_id bigint NOT NULL REFERENCES accounts_sender,
    member_id bigint REFERENCES accounts_member,  -- who launched it, where a person did
    kind text NOT NULL CHECK (kind IN ('campaign', 'topic', 'transactional')),
    title text NOT NULL,
    -- Mails of a test stream go to the sandbox, whatever account their sender has.
    is_test boolean NOT NULL DEFAULT false,
    -- A trial of a campaign goes to its testers; what is reported of its mails changes no contact.
    is_trial boolean NOT NULL DEFAULT false,
    delivery_window jsonb,  -- hours of each recipient's own day, outside which its mail waits
    next_position bigint NOT NULL DEFAULT 0,
    cancelled_at timestamptz,
    cancelled_by text,
    -- Of the block that its sender had when it was cancelled: what its waiting mail fails with.
    block_code text,
    block_category text,
    block_original_code text,
    block_detail text,
    created_at timestamptz NOT NULL DEFAULT now(),
    folded_at timestamptz,  -- when counters were last added to these; earlier work is in them
    planned bigint NOT NULL DEFAULT 0,
    accepted bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    suppressed bigint NOT NULL DEFAULT 0,
    expired bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    in_doubt bigint NOT NULL DEFAULT 0,
    -- What providers reported: deliveries with at least one such event. They stand beside the books
    -- and are no part of their sum.
    delivered bigint NOT NULL DEFAULT 0,
    bounced bigint NOT NULL DEFAULT 0,
    soft_bounced bigint NOT NULL DEFAULT 0,
    on_suppression_list bigint NOT NULL DEFAULT 0,
    complained bigint NOT NULL DEFAULT 0,
    dropped bigint NOT NULL DEFAULT 0,
    opened bigint NOT NULL DEFAULT 0,
    clicked bigint NOT NULL DEFAULT 0,
    reported bigint NOT NULL DEFAULT 0,
    -- When a person last released it from the guard, and the counters of the mail before: it counts
    -- afresh, and a late report of that mail is added to them.
    guard_since timestamptz,
    guard_accepted bigint NOT NULL DEFAULT 0,
    guard_delivered bigint NOT NULL DEFAULT 0,
    guard_bounced bigint NOT NULL DEFAULT 0,
    guard_complained bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
-- Serves the foreign keys and the list of a workspace's streams.
CREATE INDEX deliveries_stream_workspace ON deliveries_stream (workspace_id, id);
CREATE INDEX deliveries_stream_sender ON deliveries_stream (sender_id);
CREATE INDEX deliveries_stream_member ON deliveries_stream (member_id) WHERE member_id IS NOT NULL;

-- What holds a stream, one row for each cause. A cause is in force until its end; without one, a
-- person ends it.
CREATE TABLE deliveries_streamhold (
    stream_id bigint NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz,
    actor text NOT NULL,
    detail text NOT NULL,
    PRIMARY KEY (stream_id, reason)
);

-- What holds a sender, in the same way.
CREATE TABLE deliveries_senderhold (
    sender_id bigint NOT NULL REFERENCES accounts_sender,
    reason text NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz,
    actor text NOT NULL,
    detail text NOT NULL,
    -- Whether every sender of the account is held, each by a row of its own.
    is_account boolean NOT NULL,
    -- How often in a row the provider was found broken.
    times smallint NOT NULL,
    -- Of a block, which a person ends: what waiting mail fails with, and from when on.
    code text,
    category text,
    original_code text,
    fails_at timestamptz,
    -- Of a provider that did not answer, after the hold has ended: the claim that may try one mail,
    -- and until when the others wait for its answer.
    probe_lease bigint,
    probe_until timestamptz,
    PRIMARY KEY (sender_id, reason),
    CONSTRAINT deliveries_senderhold_block_is_whole CHECK (
        (code IS NULL) = (fails_at IS NULL) AND (code IS NULL) = (category IS NULL)
        AND (fails_at IS NULL OR (until IS NULL AND reason = 'sender_blocked'))
    )
);

-- Refusals that say that an address does not work, until they are applied to the contacts. A row
-- names no address: that of its delivery may be erased meanwhile.
CREATE TABLE deliveries_deadaddress (
    stream_id bigint NOT NULL,
    "position" bigint NOT NULL,
    code text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (stream_id, "position")
);

CREATE TABLE deliveries_lane (
    stream_id bigint PRIMARY KEY,
    priority smallint NOT NULL,
    turn_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Only live work is here, so what the dispatcher polls stays small whatever the ledger holds.
CREATE TABLE deliveries_batch (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream_id bigint NOT NULL,
    lo bigint NOT NULL,
    hi bigint NOT NULL,
    armed_to bigint,
    is_single boolean NOT NULL,
    try_number integer NOT NULL,
    due_at timestamptz NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL,
    lease bigint,
    lease_until timestamptz,
    version integer NOT NULL DEFAULT 0,
    losses smallint NOT NULL DEFAULT 0,
    lone_losses smallint NOT NULL DEFAULT 0,
    planned integer NOT NULL DEFAULT 0,
    CONSTRAINT deliveries_batch_has_positions CHECK (lo < hi AND (NOT is_single OR hi = lo + 1)),
    CONSTRAINT deliveries_batch_window_inside CHECK (armed_to > lo AND armed_to <= hi),
    CONSTRAINT deliveries_batch_armed_is_leased CHECK (armed_to IS NULL OR lease IS NOT NULL),
    CONSTRAINT deliveries_batch_lease_ends CHECK ((lease IS NULL) = (lease_until IS NULL)),
    -- No position is live twice. For singles the unique index on lo is enough.
    CONSTRAINT deliveries_batch_no_overlap EXCLUDE USING gist (
        stream_id WITH =, int8range(lo, hi) WITH &&
    ) WHERE (NOT is_single)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000
);
-- Serves claim: the due batches of one stream, oldest first. Nothing else is indexed, so that
-- claiming and arming stay HOT.
CREATE INDEX deliveries_batch_due ON deliveries_batch (stream_id, due_at);
-- Serves "which batch covers this position": the nearest start at or before it. The exclusion
-- constraint's own index is never read: repeated scans of that GiST index were seen to miss live
-- entries (docs/decisions, 0011).
CREATE UNIQUE INDEX deliveries_batch_start ON deliveries_batch (stream_id, lo);
-- Serves the claim of suspects: batches that lost a worker before they were armed. There are few.
CREATE INDEX deliveries_batch_suspect ON deliveries_batch (stream_id, due_at) WHERE losses > 0;

CREATE TABLE deliveries_lease (
    token bigint PRIMARY KEY,
    holder text NOT NULL,
    taken_at timestamptz NOT NULL,
    check_at timestamptz NOT NULL,
    is_alone boolean NOT NULL,
    batch_ids bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- Serves the sweep: the leases that may be lost.
CREATE INDEX deliveries_lease_check ON deliveries_lease (check_at);

CREATE TABLE deliveries_streamdelta (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream_id bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT statement_timestamp(),
    planned integer NOT NULL DEFAULT 0,
    accepted integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    suppressed integer NOT NULL DEFAULT 0,
    expired integer NOT NULL DEFAULT 0,
    cancelled integer NOT NULL DEFAULT 0,
    in_doubt integer NOT NULL DEFAULT 0,
    delivered integer NOT NULL DEFAULT 0,
    bounced integer NOT NULL DEFAULT 0,
    soft_bounced integer NOT NULL DEFAULT 0,
    on_suppression_list integer NOT NULL DEFAULT 0,
    complained integer NOT NULL DEFAULT 0,
    dropped integer NOT NULL DEFAULT 0,
    opened integer NOT NULL DEFAULT 0,
    clicked integer NOT NULL DEFAULT 0,
    reported integer NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- Serves the books of one stream.
CREATE INDEX deliveries_streamdelta_stream ON deliveries_streamdelta (stream_id);

-- How many results and reports of each kind a stream got in one slot of time, once they are folded.
-- A slot has 5 seconds; of reports, and of transactional mail, which goes on for a month, one minute.
-- A result that was taken back is subtracted in the slot in which that happened.
CREATE TABLE deliveries_streampace (
    stream_id bigint NOT NULL,
    slot timestamptz NOT NULL,  -- its beginning
    accepted integer NOT NULL,
    failed integer NOT NULL,
    skipped integer NOT NULL,
    suppressed integer NOT NULL,
    expired integer NOT NULL,
    cancelled integer NOT NULL,
    in_doubt integer NOT NULL,
    delivered integer NOT NULL,
    bounced integer NOT NULL,
    complained integer NOT NULL,
    reported integer NOT NULL,
    PRIMARY KEY (stream_id, slot)
) WITH (fillfactor = 70);

-- Settling writes none of the indexed columns and the partitions leave room in the page, so the
-- one update of a delivery is HOT: no index is touched and the table does not grow.
CREATE TABLE deliveries_delivery (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    planned_at timestamptz NOT NULL,
    settled_at timestamptz,
    resend_after timestamptz,
    contact_id bigint,
    duration_ms integer,
    last_try integer NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    -- Of its stream: there may be one for each language, or for each set of places.
    letter smallint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'waiting',
    address text NOT NULL,
    dedupe_key text COLLATE "C",
    variables jsonb,
    code text,
    message_id text,
    doubts integer[],
    PRIMARY KEY (stream_id, position),
    CONSTRAINT deliveries_delivery_state CHECK (state IN (
        'waiting', 'accepted', 'failed', 'skipped', 'suppressed', 'expired', 'cancelled', 'in_doubt'
    ))
) PARTITION BY RANGE (stream_id);
-- One line per key and stream, however often it is planned. The key of a run is the lowercase address,
-- and comes first: so this index also serves the search for an address in all runs.
CREATE UNIQUE INDEX deliveries_delivery_once ON deliveries_delivery (dedupe_key, stream_id)
    WHERE dedupe_key IS NOT NULL;

-- The content of one mail. The bodies that all lines of one letter share lie below 0, at -1 for the
-- first letter.
CREATE TABLE deliveries_body (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    request_id text NOT NULL,
    subject text NOT NULL,
    html text NOT NULL,
    text text NOT NULL,
    headers jsonb,
    size integer NOT NULL DEFAULT 0,
    to_name text NOT NULL DEFAULT '',
    reply_to text NOT NULL DEFAULT '',
    tags jsonb,
    attachments jsonb,
    letter text NOT NULL DEFAULT '',
    list_key text NOT NULL DEFAULT '',
    -- It holds a link that works until then and that only its reader may see: no view shows its
    -- HTML, and both parts are forgotten once the mail is sent. NULL: it holds no such link.
    secret_until timestamptz,
    digest bytea,  -- SHA-256 of what was stored; none once it was emptied
    PRIMARY KEY (stream_id, position)
) PARTITION BY RANGE (stream_id);
-- Serves forget_secrets, which empties those that it finds here.
CREATE INDEX deliveries_body_secret ON deliveries_body (secret_until)
    WHERE secret_until IS NOT NULL AND size > 0;

-- The words a transactional mail is found by: its address and its tags.
CREATE TABLE deliveries_word (
    stream_id bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (stream_id, word, position)
) PARTITION BY RANGE (stream_id);

CREATE SEQUENCE deliveries_note_id;

CREATE TABLE deliveries_attempt (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('deliveries_note_id'),
    try_number integer NOT NULL,
    at timestamptz NOT NULL,
    outcome text NOT NULL,
    state text NOT NULL,
    code text,
    detail text,
    message_id text,
    duration_ms integer,
    category text,
    original_code text,  -- the provider's own name for it, where `code` is ours
    delay_ms bigint,  -- until the retry that follows
    PRIMARY KEY (stream_id, position, id)
) PARTITION BY RANGE (stream_id);
-- Serves "what failed, grouped by cause".
CREATE INDEX deliveries_attempt_cause ON deliveries_attempt (stream_id, outcome, code);
-- Serves "what was given up", however many attempts ended well later.
CREATE INDEX deliveries_attempt_failed ON deliveries_attempt (stream_id, position)
    WHERE state = 'failed';

CREATE TABLE deliveries_deliveryevent (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('deliveries_note_id'),
    at timestamptz NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    data jsonb NOT NULL,
    PRIMARY KEY (stream_id, position, id)
) PARTITION BY RANGE (stream_id);

-- What providers reported of a mail on its way; one row for each fact, however often it is repeated.
CREATE TABLE deliveries_feedback (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    happened_at timestamptz NOT NULL,  -- as the provider says
    received_at timestamptz NOT NULL,
    try_number integer NOT NULL,
    key text COLLATE "C" NOT NULL,  -- the same for every repetition
    kind text NOT NULL,
    counts_as text,  -- the counter that it adds its delivery to
    name text NOT NULL,  -- the provider's own
    code text,
    detail text,
    message_id text,
    PRIMARY KEY (stream_id, position, key)
) PARTITION BY RANGE (stream_id);

-- A hash index costs the same two pages at any size; a tree of random ids would grow deeper.
CREATE TABLE deliveries_providermessage (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    try_number integer NOT NULL,
    message_id text NOT NULL
) PARTITION BY RANGE (stream_id);
CREATE INDEX deliveries_providermessage_id ON deliveries_providermessage USING hash (message_id);

-- Months that were dropped. Their partitions are never made again: an empty month would say that
-- nobody had mail in it.
CREATE TABLE deliveries_droppedmonth (
    month integer PRIMARY KEY,
    dropped_at timestamptz NOT NULL
);

SELECT close_tables('deliveries');

-- Whether nothing of this stream waits for the fence's judgement: upkeep leaves the others alone,
-- and nobody cancels or erases their mail. Not in a database that its epoch does not name either:
-- its lost time was not noticed yet.
CREATE FUNCTION deliveries_is_judged(stream bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN EXISTS (
    SELECT FROM deliveries_stream s, deliveries_epoch e, deliveries_identity() AS here
    WHERE s.id = stream
      AND e.number = (SELECT max(number) FROM deliveries_epoch)
      AND e.system_identifier = here.system_identifier
      AND e.timeline = here.timeline
      AND e.database_oid = here.database_oid
      AND (s.epoch = e.number OR s.lifted_epoch = e.number
           OR CASE s.kind WHEN 'campaign' THEN e.campaigns_lifted_at ELSE e.lifted_at END IS NOT NULL)
); END $$;

-- The current epoch, if work of this stream may be sent in it now; else NULL. A provider that did
-- not answer gets one mail first: work may be claimed while no claim has that mail, and may be armed
-- by the claim that has it. A test stream asks nothing of the provider.
CREATE FUNCTION deliveries_open_epoch(stream bigint, lease bigint DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN (
    SELECT e.number
    FROM deliveries_stream s, deliveries_epoch e, deliveries_identity() AS here
    WHERE s.id = stream
      AND e.number = (SELECT max(number) FROM deliveries_epoch)
      AND e.system_identifier = here.system_identifier
      AND e.timeline = here.timeline
      AND e.database_oid = here.database_oid
      AND (s.lifted_epoch = e.number
           OR CASE s.kind WHEN 'campaign' THEN e.campaigns_lifted_at ELSE e.lifted_at END IS NOT NULL)
      AND s.cancelled_at IS NULL
      AND NOT EXISTS (
        SELECT FROM deliveries_streamhold h
        WHERE h.stream_id = s.id AND (h.until IS NULL OR h.until > clock_timestamp())
      )
      AND NOT EXISTS (
        SELECT FROM deliveries_senderhold h
        WHERE h.sender_id = s.sender_id AND (
            h.until IS NULL OR h.until > clock_timestamp()
            OR (h.reason IN ('provider_broken', 'provider_down') AND NOT s.is_test
                AND CASE
                    WHEN lease IS NULL THEN h.probe_until > clock_timestamp()
                    ELSE h.probe_lease IS DISTINCT FROM lease
                END)
        )
      )
); END $$;

-- Whether work of a stream that was claimed in an epoch may be armed now. It first takes the gates
-- of the stream and its sender, shared, until the caller commits; whoever holds or cancels takes
-- them alone. A volatile function reads with a new snapshot, so a hold that won the gate is seen
-- even by a statement that began before it. A row lock would do too, but would write the stream's
-- row at every arm.
CREATE FUNCTION deliveries_gate(stream bigint, epoch integer, lease bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1, (id & 2147483647)::integer),
            pg_advisory_xact_lock_shared(2, (sender_id & 2147483647)::integer)
    FROM deliveries_stream WHERE id = stream;
    RETURN coalesce(deliveries_open_epoch(stream, lease) = epoch, false);
END $$;

-- Sees that a stream is walked for work until the caller's transaction ends, and after; returns
-- its kind while it takes mail. The lock keeps housekeeping from taking the lane away meanwhile.
CREATE FUNCTION deliveries_keep_lane(stream bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    stream_kind text;
    takes_mail boolean;
BEGIN
    -- A pooler keeps a client's connection through a failover. What is added to a promoted standby
    -- before it was fenced would get numbers that the lost time has given out.
    IF (SELECT timeline FROM deliveries_epoch ORDER BY number DESC LIMIT 1)
       <> ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer THEN
        RAISE cannot_connect_now USING MESSAGE = 'this database was promoted; connect again';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(3, (stream & 2147483647)::integer);
    SELECT kind, cancelled_at IS NULL INTO stream_kind, takes_mail
    FROM deliveries_stream WHERE id = stream;
    IF stream_kind IS NOT NULL
       AND NOT EXISTS (SELECT FROM deliveries_lane l WHERE l.stream_id = stream) THEN
        INSERT INTO deliveries_lane (stream_id, priority, turn_at)
        VALUES (
            stream,
            CASE stream_kind WHEN 'transactional' THEN 0 WHEN 'topic' THEN 1 ELSE 2 END,
            clock_timestamp()
        )
        ON CONFLICT (stream_id) DO NOTHING;
    END IF;
    RETURN CASE WHEN takes_mail THEN stream_kind END;
END $$;

-- Fails a statement that found fewer rows than it meant to change. PostgreSQL leaves out a row
-- that is found by its place and changed by another transaction while its lock is waited for.
CREATE FUNCTION deliveries_found_all(meant bigint, changed bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF meant <> changed THEN
        RAISE serialization_failure USING MESSAGE = format('%s rows of %s', changed, meant);
    END IF;
    RETURN true;
END $$;

-- Months since January 2000 by UTC; ids.month_of is its twin.
CREATE FUNCTION deliveries_month(moment timestamptz)
RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT (extract(year FROM utc) * 12 + extract(month FROM utc))::integer - 2000 * 12 - 1
    FROM (SELECT moment AT TIME ZONE 'UTC') AS given (utc)
$$;

-- The outside id of a delivery (try 0) or of one try; lib/ids.py is its twin.
CREATE FUNCTION delivery_uuid(stream_id bigint, "position" bigint, try_number integer)
RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
        lpad(to_hex(stream_id), 12, '0') || '8' || lpad(to_hex(try_number & 4095), 3, '0')
        || to_hex((2::bigint << 62) | ((try_number >> 12)::bigint << 50) | "position")
    )::uuid
$$;

-- The first epoch: this database, and nothing lost before it.
INSERT INTO deliveries_epoch (
    number, system_identifier, timeline, database_oid, cause, first_batch_id, token, lifted_at,
    campaigns_lifted_at
)
SELECT 1, system_identifier, timeline, database_oid, 'setup', 1, 0, now(), now()
FROM deliveries_identity();
