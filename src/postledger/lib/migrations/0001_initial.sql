-- Closed to everyone but the owner, whatever a later GRANT says: a hosted PostgreSQL may grant its
-- public roles every table. The tables of one app, as far as they are not closed yet.
CREATE FUNCTION close_tables(app text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    open_table regclass;
BEGIN
    FOR open_table IN
        SELECT oid FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
          AND starts_with(relname, app || '_') AND NOT relrowsecurity
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', open_table);
        EXECUTE format('CREATE POLICY service_only ON %s USING (false)', open_table);
    END LOOP;
END $$;

SELECT close_tables('lib');
