-- The ledger. Partitioned tables get one partition a month (deliveries/partitions.py); their key
-- starts with the stream id, and a stream id starts with its month.

CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE SEQUENCE deliveries_stream_number MAXVALUE 2147483647;
CREATE SEQUENCE deliveries_lease_token;
-- Positions of one-mail streams: no row to fight over, gaps are harmless.
CREATE SEQUENCE deliveries_single_position CACHE 100;

CREATE TABLE deliveries_stream (
    id bigint PRIMARY KEY,
    workspace_id bigint NOT NULL REFERENCES accounts_workspace,
    sender_id bigint NOT NULL REFERENCES accounts_sender,
    kind text NOT NULL CHECK (kind IN ('campaign', 'topic', 'transactional')),
    title text NOT NULL,
    next_position bigint NOT NULL DEFAULT 0,
    held_reason text,
    held_since timestamptz,
    held_until timestamptz,
    held_by text,
    held_detail text,
    cancelled_at timestamptz,
    cancelled_by text,
    created_at timestamptz NOT NULL DEFAULT now(),
    planned bigint NOT NULL DEFAULT 0,
    accepted bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    suppressed bigint NOT NULL DEFAULT 0,
    expired bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    in_doubt bigint NOT NULL DEFAULT 0,
    CONSTRAINT deliveries_stream_hold_is_whole CHECK (
        (held_reason IS NULL) = (held_since IS NULL) AND (held_reason IS NULL) = (held_by IS NULL)
    )
) WITH (fillfactor = 50);
-- Serves the foreign keys and the list of a workspace's streams.
CREATE INDEX deliveries_stream_workspace ON deliveries_stream (workspace_id, id);
CREATE INDEX deliveries_stream_sender ON deliveries_stream (sender_id);

CREATE TABLE deliveries_senderhold (
    sender_id bigint PRIMARY KEY REFERENCES accounts_sender,
    reason text NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz,
    actor text NOT NULL,
    detail text NOT NULL
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
    try_number smallint NOT NULL,
    due_at timestamptz NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL,
    lease bigint,
    lease_until timestamptz,
    version integer NOT NULL DEFAULT 0,
    losses smallint NOT NULL DEFAULT 0,
    planned integer NOT NULL DEFAULT 0,
    accepted integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    suppressed integer NOT NULL DEFAULT 0,
    expired integer NOT NULL DEFAULT 0,
    cancelled integer NOT NULL DEFAULT 0,
    in_doubt integer NOT NULL DEFAULT 0,
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

CREATE TABLE deliveries_lease (
    token bigint PRIMARY KEY,
    holder text NOT NULL,
    taken_at timestamptz NOT NULL,
    check_at timestamptz NOT NULL,
    batch_ids bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- Serves the sweep: the leases that may be lost.
CREATE INDEX deliveries_lease_check ON deliveries_lease (check_at);

CREATE TABLE deliveries_streamdelta (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream_id bigint NOT NULL,
    planned integer NOT NULL DEFAULT 0,
    accepted integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    suppressed integer NOT NULL DEFAULT 0,
    expired integer NOT NULL DEFAULT 0,
    cancelled integer NOT NULL DEFAULT 0,
    in_doubt integer NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- Serves the books of one stream.
CREATE INDEX deliveries_streamdelta_stream ON deliveries_streamdelta (stream_id);

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
    last_try smallint NOT NULL DEFAULT 0,
    attempts smallint NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'waiting',
    address text NOT NULL,
    dedupe_key text COLLATE "C",
    variables jsonb,
    code text,
    message_id text,
    doubts smallint[],
    PRIMARY KEY (stream_id, position),
    CONSTRAINT deliveries_delivery_state CHECK (state IN (
        'waiting', 'accepted', 'failed', 'skipped', 'suppressed', 'expired', 'cancelled', 'in_doubt'
    ))
) PARTITION BY RANGE (stream_id);
-- One line per key and stream, however often it is planned.
CREATE UNIQUE INDEX deliveries_delivery_once ON deliveries_delivery (stream_id, dedupe_key)
    WHERE dedupe_key IS NOT NULL;

CREATE TABLE deliveries_body (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    request_id text NOT NULL,
    subject text NOT NULL,
    html text NOT NULL,
    text text NOT NULL,
    headers jsonb,
    PRIMARY KEY (stream_id, position)
) PARTITION BY RANGE (stream_id);

CREATE SEQUENCE deliveries_note_id;

CREATE TABLE deliveries_attempt (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    id bigint NOT NULL DEFAULT nextval('deliveries_note_id'),
    try_number smallint NOT NULL,
    at timestamptz NOT NULL,
    outcome text NOT NULL,
    state text NOT NULL,
    code text,
    detail text,
    message_id text,
    duration_ms integer,
    PRIMARY KEY (stream_id, position, id)
) PARTITION BY RANGE (stream_id);
-- Serves "what failed, grouped by cause".
CREATE INDEX deliveries_attempt_cause ON deliveries_attempt (stream_id, outcome, code);

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

-- A hash index costs the same two pages at any size; a tree of random ids would grow deeper.
CREATE TABLE deliveries_providermessage (
    stream_id bigint NOT NULL,
    position bigint NOT NULL,
    try_number smallint NOT NULL,
    message_id text NOT NULL
) PARTITION BY RANGE (stream_id);
CREATE INDEX deliveries_providermessage_id ON deliveries_providermessage USING hash (message_id);

-- Closed to everyone but the owner, whatever a later GRANT says.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'stream', 'senderhold', 'lane', 'batch', 'lease', 'streamdelta',
        'delivery', 'body', 'attempt', 'deliveryevent', 'providermessage'
    ] LOOP
        EXECUTE format('ALTER TABLE deliveries_%s ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY service_only ON deliveries_%s USING (false)', name);
    END LOOP;
END $$;

-- Whether work of a stream may be armed now. It first takes the gates of the stream and its
-- sender, shared, until the caller commits; whoever holds or cancels takes them alone. A volatile
-- function reads with a new snapshot, so a hold that won the gate is seen even by a statement
-- that began before it. A row lock would do too, but would write the stream's row at every arm.
CREATE FUNCTION deliveries_gate(stream bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1, (id & 2147483647)::integer),
            pg_advisory_xact_lock_shared(2, (sender_id & 2147483647)::integer)
    FROM deliveries_stream WHERE id = stream;
    RETURN EXISTS (
        SELECT FROM deliveries_stream s
        WHERE s.id = stream
          AND s.cancelled_at IS NULL
          AND (s.held_reason IS NULL OR s.held_until <= clock_timestamp())
          AND NOT EXISTS (
            SELECT FROM deliveries_senderhold h
            WHERE h.sender_id = s.sender_id AND (h.until IS NULL OR h.until > clock_timestamp())
          )
    );
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

-- The outside id of a delivery (try 0) or of one try; lib/ids.py is its twin.
CREATE FUNCTION delivery_uuid(stream_id bigint, "position" bigint, try_number integer)
RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (
        lpad(to_hex(stream_id), 12, '0') || '8' || lpad(to_hex(try_number), 3, '0')
        || to_hex((-9223372036854775808)::bigint | "position")
    )::uuid
$$;
