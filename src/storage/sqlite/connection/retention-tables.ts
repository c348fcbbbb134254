/** Adds the rules by which rows of loader tables go, and what is known of rows that are gone; see `sqlite/retention/`. */
export const RETENTION_TABLES = `
  -- largest row id and change number that were given when rows were removed: none is given again
  ALTER TABLE loader_table ADD COLUMN last_row INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE loader_table ADD COLUMN last_change INTEGER NOT NULL DEFAULT 0;
  -- rows whose entries the spatial index still has, see clean-runs.ts
  ALTER TABLE loader_table ADD COLUMN removed_rows INTEGER NOT NULL DEFAULT 0;

  CREATE TABLE loader_retention (
    table_id INTEGER PRIMARY KEY REFERENCES loader_table ON DELETE CASCADE,
    rule TEXT NOT NULL,                             -- JSON: RetentionRule
    rows INTEGER NOT NULL,                          -- rows of the table, kept with each write
    removed INTEGER NOT NULL DEFAULT 0,             -- rows that the rule has removed, those of thinning included
    thinned INTEGER NOT NULL DEFAULT 0,             -- those of thinning
    unsent INTEGER NOT NULL DEFAULT 0,              -- those that a feed had not sent
    last_run_us INTEGER,                            -- when rows were removed last, µs UTC
    thin_from_us INTEGER,                           -- start of the first interval that is not thinned; null for all
    thin_change INTEGER NOT NULL DEFAULT 0          -- rows that changed later and are older are thinned once more
  ) STRICT;

  -- rows that are gone, by origin and day, for the comparison with other nodes, which may have them
  CREATE TABLE loader_removed_day (
    table_id INTEGER NOT NULL REFERENCES loader_table ON DELETE CASCADE,
    origin_id INTEGER NOT NULL,                     -- of row_origin
    day INTEGER NOT NULL,                           -- UTC day of the rows' last write at the origin, since 1970
    rows INTEGER NOT NULL,
    sum BLOB,                                       -- as in loader_digest_day; null where it is not known
    PRIMARY KEY (table_id, origin_id, day)
  ) STRICT, WITHOUT ROWID;
`
