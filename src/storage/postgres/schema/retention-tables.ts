/** Tables of rows that go by themselves; part of the migrations, so never changed. */
export const RETENTION_TABLES: readonly string[] = [
  `CREATE TABLE loader_retention (
    table_id bigint PRIMARY KEY REFERENCES loader_table ON DELETE CASCADE,
    rule text NOT NULL,                               -- JSON: RetentionRule
    removed bigint NOT NULL DEFAULT 0,                -- rows that the rule has removed, those of thinning included
    thinned bigint NOT NULL DEFAULT 0,                -- those of thinning
    unsent bigint NOT NULL DEFAULT 0,                 -- those that a feed had not sent
    last_run_us bigint,                               -- when rows were removed last, µs UTC
    thin_from_us bigint,                              -- start of the first interval that is not thinned; null for all
    thin_change bigint NOT NULL DEFAULT 0,            -- rows that changed later and are older are thinned once more
    pass text                                         -- JSON: PassState of the last pass; null before the first one
  )`,
  // rows that are gone, by origin and day, for the comparison with other nodes, which may have them
  `CREATE TABLE loader_removed_day (
    table_id bigint NOT NULL REFERENCES loader_table ON DELETE CASCADE,
    origin_id integer NOT NULL,
    day integer NOT NULL,                             -- UTC day of the rows' last write at the origin, since 1970
    rows bigint NOT NULL,
    sum numeric,                                      -- as in loader_digest_day; null where it is not known
    PRIMARY KEY (table_id, origin_id, day)
  ) WITH (fillfactor = 70)`,
  // ids up to last_row that no row has; null where they were not counted
  'ALTER TABLE loader_state ADD COLUMN gone bigint',
]
