-- What the rows of unfinished imports had as addresses, to know one that a file has twice, however
-- far apart: the rows of a chunk together, read again only by whoever resumes the import. Without a
-- foreign key: an import takes its own rows away at its end.
CREATE TABLE imports_importedrow (
    import_id bigint NOT NULL,
    first_row bigint NOT NULL,
    hashes bytea NOT NULL,
    row_numbers bytea NOT NULL,
    PRIMARY KEY (import_id, first_row)
);

SELECT close_tables('imports');
