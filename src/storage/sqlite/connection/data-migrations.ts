import { randomUUID } from 'node:crypto'
import { type Db, identifier, type Migrations } from './database.js'
import { RETENTION_TABLES } from './retention-tables.js'

/** Schema of data.db. Append only: what a released gateway has run is never changed. */
export const DATA_MIGRATIONS: Migrations = [
  `
  -- the loader's tables; an id is never given twice, so caches may be keyed by it
  CREATE TABLE loader_table (
    table_id INTEGER PRIMARY KEY AUTOINCREMENT,
    data_name TEXT NOT NULL UNIQUE,
    table_name TEXT NOT NULL UNIQUE COLLATE NOCASE, -- SQLite does not tell names apart by ASCII case
    schema TEXT NOT NULL,
    columns TEXT NOT NULL,                          -- JSON: the columns as they were defined, in order
    unique_columns TEXT NOT NULL,                   -- JSON: names
    data_version INTEGER NOT NULL DEFAULT 0,        -- grows with every call that changed rows
    moved_rows INTEGER NOT NULL DEFAULT 0,          -- rows that left their place in the spatial index
    next_run INTEGER NOT NULL DEFAULT 1,            -- id of the next run there; none is given twice
    created_at_us INTEGER NOT NULL
  ) STRICT;

  -- parts of a table's spatial index that are merged as one, see table-index.ts
  CREATE TABLE loader_segment (
    table_id INTEGER NOT NULL REFERENCES loader_table ON DELETE CASCADE,
    first_run INTEGER NOT NULL,
    run_count INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    PRIMARY KEY (table_id, first_run)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- datasets and citations: see dataset.ts and citation-versions.ts

  -- the order of commits, and when each was; every change of a versioned row carries its number
  CREATE TABLE row_transaction (
    tx INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    versioned_id INTEGER,                           -- of changes in cited loader tables: which table,
    data_version INTEGER                            -- and its version, to know one call's changes by
  ) STRICT;
  CREATE UNIQUE INDEX row_transaction_loader ON row_transaction (versioned_id, data_version)
    WHERE versioned_id IS NOT NULL;
  INSERT INTO row_transaction (tx, at_us) VALUES (1, 0);

  CREATE TABLE dataset (
    dataset_id INTEGER PRIMARY KEY AUTOINCREMENT,
    short_form TEXT NOT NULL UNIQUE,
    long_form TEXT NOT NULL UNIQUE,
    created_at_us INTEGER NOT NULL,
    usename TEXT NOT NULL,                          -- name of the key that made it
    table_name TEXT NOT NULL UNIQUE,                -- prov_ and 32 hex digits
    columns TEXT NOT NULL,                          -- JSON: DatasetColumn[], in order
    key_columns TEXT NOT NULL,                      -- JSON: names
    next_row_id INTEGER NOT NULL DEFAULT 1,         -- a row id is never given twice
    last_tx INTEGER NOT NULL                        -- transaction that last changed its rows
  ) STRICT;

  -- tables whose overwritten rows are kept as long as a citation sees them
  CREATE TABLE versioned_table (
    versioned_id INTEGER PRIMARY KEY AUTOINCREMENT,
    dataset_id INTEGER UNIQUE REFERENCES dataset,
    loader_table_id INTEGER UNIQUE REFERENCES loader_table,
    cited_tx INTEGER NOT NULL DEFAULT 0,            -- newest transaction that a citation names
    CHECK ((dataset_id IS NULL) <> (loader_table_id IS NULL))
  ) STRICT;

  CREATE TABLE citation (
    citation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    short_form TEXT NOT NULL,
    long_form TEXT NOT NULL UNIQUE,
    created_at_us INTEGER NOT NULL,
    versioned_id INTEGER NOT NULL REFERENCES versioned_table,
    tx INTEGER NOT NULL,                            -- it sees rows with from tx <= tx < to tx
    transaction_time_us INTEGER NOT NULL,           -- when the newest change it sees was made
    last_row_id INTEGER NOT NULL,                   -- rows of a higher id came later
    column_count INTEGER NOT NULL,                  -- columns of a higher position came later
    checksum TEXT,                                  -- SHA-256 in hex; null until it is worked out
    row_count INTEGER,
    row_index BLOB                                  -- row ids at every so many rows, see citation-row-index.ts
  ) STRICT;
  CREATE INDEX citation_short_form ON citation (short_form, citation_id);
  CREATE INDEX citation_versions ON citation (versioned_id, tx);

  -- long forms that were ever given, also of what is deleted: what a paper points to never comes to mean another thing
  CREATE TABLE taken_name (long_form TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

  -- tables that nothing names any more; dropped in small steps
  CREATE TABLE dropped_table (table_name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  `,
  `
  -- instants at which rows of a table begin or cease to be valid, see table-changes.ts
  CREATE TABLE loader_change (
    table_id INTEGER NOT NULL REFERENCES loader_table ON DELETE CASCADE,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (table_id, at_us)
  ) STRICT, WITHOUT ROWID;
  -- how many they are; -1 = not known, for a table that had rows before they were kept; -2 = more than are kept
  ALTER TABLE loader_table ADD COLUMN change_count INTEGER NOT NULL DEFAULT -1;
  `,
  `
  -- digests of pages of the cited rows, which reading compares; null until they are computed, see page-digests.ts
  ALTER TABLE citation ADD COLUMN page_digests BLOB;
  `,
  `
  -- nodes at which rows of loader tables were first put; 0 is this gateway
  CREATE TABLE row_origin (
    origin_id INTEGER PRIMARY KEY,
    node_id TEXT NOT NULL UNIQUE                    -- UUID; empty for this gateway
  ) STRICT;
  INSERT INTO row_origin (origin_id, node_id) VALUES (0, '');
  `,
  addOriginsAndChanges,
  `
  -- name of a table between nodes: a table that is dropped and registered again has another one
  ALTER TABLE loader_table ADD COLUMN table_uuid TEXT NOT NULL DEFAULT '';

  -- incarnation of the change numbers of this file: a restored backup gives numbers again, under a greater epoch
  CREATE TABLE feed_epoch (epoch INTEGER NOT NULL) STRICT;
  INSERT INTO feed_epoch (epoch) VALUES (1);

  -- how far the feeds of other nodes have arrived; written with the rows
  CREATE TABLE feed_cursor (
    sender TEXT NOT NULL,                           -- UUID of the node that sends
    feed TEXT NOT NULL,                             -- UUID of the feed there
    sender_table TEXT NOT NULL,                     -- table_uuid there
    epoch INTEGER NOT NULL,                         -- feed_epoch there
    digest TEXT NOT NULL,                           -- of the definition
    cursor INTEGER NOT NULL,                        -- last change that is stored here
    table_id INTEGER NOT NULL REFERENCES loader_table ON DELETE CASCADE,
    PRIMARY KEY (sender, feed)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX feed_cursor_table ON feed_cursor (table_id);
  `,
  nameTables,
  addDays,
  `
  -- tables whose rows are counted with their digests, by origin and day: those that a feed sends or receives, see row-digests.ts
  CREATE TABLE loader_digest (
    table_id INTEGER PRIMARY KEY REFERENCES loader_table ON DELETE CASCADE,
    counted INTEGER NOT NULL DEFAULT 0,             -- rows whose last change is this one or an earlier one are in the sums
    is_stale INTEGER NOT NULL DEFAULT 0             -- 1: another program has written rows, they are to be counted again
  ) STRICT;
  CREATE TABLE loader_digest_day (
    table_id INTEGER NOT NULL REFERENCES loader_digest ON DELETE CASCADE,
    origin_id INTEGER NOT NULL,                     -- of row_origin
    day INTEGER NOT NULL,                           -- UTC day of the rows' last write at the origin, since 1970
    rows INTEGER NOT NULL,
    sum BLOB NOT NULL,                              -- of the rows' SHA-256 modulo 2^256, 32 bytes, little endian
    PRIMARY KEY (table_id, origin_id, day)
  ) STRICT, WITHOUT ROWID;
  `,
  addVersions,
  `
  -- citations of other nodes: their rows are in a dataset that no name finds
  ALTER TABLE citation ADD COLUMN origin_node TEXT;     -- UUID of the node that made it; null = this gateway
  ALTER TABLE citation ADD COLUMN origin_name TEXT;     -- name of the dataset or table there
  ALTER TABLE citation ADD COLUMN origin_realname TEXT;
  ALTER TABLE dataset ADD COLUMN copy_of TEXT;          -- long form of that citation; null for a dataset
  CREATE TABLE citation_copy (
    origin_node TEXT NOT NULL,
    long_form TEXT NOT NULL,
    checksum TEXT NOT NULL,                             -- SHA-256 that the rows must have
    dataset_id INTEGER REFERENCES dataset ON DELETE SET NULL, -- null when the copy was deleted
    PRIMARY KEY (origin_node, long_form)
  ) STRICT, WITHOUT ROWID;
  `,
  countRowIds,
  RETENTION_TABLES,
]

/**
 * Notices rows that other programs add by their number instead of a trigger, see `tables/row-digests.ts`.
 * Tables that are counted are counted again, in the background.
 */
function countRowIds(db: Db): void {
  db.exec(`
    ALTER TABLE loader_digest ADD COLUMN rows INTEGER NOT NULL DEFAULT 0; -- rows in the sums
    ALTER TABLE loader_digest ADD COLUMN free_ids INTEGER;  -- ids up to the last one that no row has; null before all are counted
    UPDATE loader_digest SET is_stale = 1;
  `)
  const sql = 'SELECT table_name FROM loader_table JOIN loader_digest USING (table_id)'
  for (const name of db.prepare<[], string>(sql).pluck().all())
    db.exec(`DROP TRIGGER ${identifier(`${name}_digest insert`)}`)
}

/** Gives the rows of every loader table the day of their last write at their origin: not known. */
function addDays(db: Db): void {
  const names = db.prepare<[], string>('SELECT table_name FROM loader_table').pluck().all()
  for (const name of names)
    db.exec(`ALTER TABLE ${identifier(name)} ADD COLUMN "row day" INTEGER NOT NULL DEFAULT 0`)
}

/** Gives the rows of every loader table a version and a sender: not known, which is older than any. */
function addVersions(db: Db): void {
  const names = db.prepare<[], string>('SELECT table_name FROM loader_table').pluck().all()
  for (const name of names) {
    db.exec(`ALTER TABLE ${identifier(name)} ADD COLUMN "row version" INTEGER`)
    db.exec(`ALTER TABLE ${identifier(name)} ADD COLUMN "row sender" INTEGER`)
  }
}

/** Gives every loader table its name between nodes. */
function nameTables(db: Db): void {
  const ids = db.prepare<[], number>('SELECT table_id FROM loader_table').pluck().all()
  const name = db.prepare('UPDATE loader_table SET table_uuid = ? WHERE table_id = ?')
  for (const id of ids) name.run(randomUUID(), id)
}

/**
 * Gives the rows of every loader table an origin and a change number, see `tables/ddl.ts`. The rows stay as
 * they are stored; only the unique index is built again, 1.2 s for a million rows.
 */
function addOriginsAndChanges(db: Db): void {
  const tables = db
    .prepare<[], { name: string; keys: string }>(
      'SELECT table_name AS name, unique_columns AS keys FROM loader_table',
    )
    .all()
  for (const { name, keys } of tables) {
    const table = identifier(name)
    const key = (JSON.parse(keys) as string[]).map(identifier).join(', ')
    db.exec(`
      ALTER TABLE ${table} ADD COLUMN "row origin" INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ${table} ADD COLUMN "row change" INTEGER;
      DROP INDEX ${identifier(`${name}_key`)};
      CREATE UNIQUE INDEX ${identifier(`${name}_key`)} ON ${table} (${key}, "row origin");
      CREATE INDEX ${identifier(`${name}_change`)} ON ${table} ("row change") WHERE "row change" IS NOT NULL;
    `)
  }
}
