-- What a single mail by request needs: all parts of its content, and the words it is found by.

-- Mails of a test stream go to the sandbox, whatever account their sender has.
ALTER TABLE deliveries_stream ADD COLUMN is_test boolean NOT NULL DEFAULT false;

-- The body at position -1 is the one that all lines of its stream share.
ALTER TABLE deliveries_body
    ADD COLUMN to_name text NOT NULL DEFAULT '',
    ADD COLUMN reply_to text NOT NULL DEFAULT '',
    ADD COLUMN tags jsonb,
    ADD COLUMN attachments jsonb;

-- Positions of one-mail streams follow the order of arrival, so that searches can be answered
-- newest first by position alone; a cache in each connection would shuffle them.
ALTER SEQUENCE deliveries_single_position CACHE 1;

-- The words a transactional mail is found by: its address and its tags.
CREATE TABLE deliveries_word (
    stream_id bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (stream_id, word, position)
) PARTITION BY RANGE (stream_id);
ALTER TABLE deliveries_word ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_only ON deliveries_word USING (false);

-- The months that exist get their part of the new table as deliveries/partitions.py makes it.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN
        SELECT replace(c.relname, 'deliveries_delivery_', 'deliveries_word_') AS name,
               pg_get_expr(c.relpartbound, c.oid) AS bounds
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'deliveries_delivery'::regclass
    LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF deliveries_word %s', part.name, part.bounds);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part.name);
        EXECUTE format('CREATE POLICY service_only ON %I USING (false)', part.name);
    END LOOP;
END $$;

-- Sees that a stream is walked for work until the caller's transaction ends, and after; returns
-- its kind while it takes mail. The lock keeps housekeeping from taking the lane away meanwhile.
CREATE FUNCTION deliveries_keep_lane(stream bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    stream_kind text;
    takes_mail boolean;
BEGIN
    -- A pooler keeps a client's connection through a failover. What is added to a promoted standby
    -- before its fence has fallen would get numbers that the lost time has given out.
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
