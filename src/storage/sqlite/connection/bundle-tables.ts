/** Tables of `state.db` for bundles; part of its migrations, so never changed. */
export const BUNDLE_TABLES = `
  -- may send rows of other nodes
  ALTER TABLE node_peer ADD COLUMN relay INTEGER NOT NULL DEFAULT 0 CHECK (relay IN (0, 1));
  -- base URL by which upstreams of models name it; null for that of the upstream of feeds with its name
  ALTER TABLE node_peer ADD COLUMN endpoint TEXT;

  CREATE TABLE bundle_written (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle_id TEXT NOT NULL UNIQUE CHECK (length(bundle_id) = 36),
    node_id TEXT NOT NULL,                          -- receiver
    written_at_us INTEGER NOT NULL,
    contents TEXT,                                  -- JSON: BundleContents; null while it is being written
    acknowledged_at_us INTEGER
  ) STRICT;
  CREATE INDEX bundle_written_by_node ON bundle_written (node_id, seq);

  CREATE TABLE bundle_applied (
    node_id TEXT NOT NULL,                          -- sender
    bundle_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,                         -- feed_epoch there
    seq INTEGER NOT NULL,                           -- number there
    applied_at_us INTEGER NOT NULL,
    PRIMARY KEY (node_id, bundle_id)
  ) STRICT, WITHOUT ROWID;

  -- what the next bundles tell a node: gaps in its feeds, rows that were refused, models that came
  CREATE TABLE bundle_news (
    node_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('gap', 'refused', 'receipt')),
    about TEXT NOT NULL,                            -- feed, row or transfer
    news TEXT NOT NULL,                             -- JSON
    first_seq INTEGER,                              -- first bundle that carries it
    PRIMARY KEY (node_id, kind, about)
  ) STRICT, WITHOUT ROWID;
`

/** Lets bundles bring aggregated models; part of the migrations, so never changed. */
export const BUNDLE_WISHES = `
  -- stores whose newest aggregated model a node wants, as its last bundle told
  CREATE TABLE bundle_wish (
    node_id TEXT PRIMARY KEY,
    wishes TEXT NOT NULL CHECK (json_type(wishes) = 'array') -- JSON: StoreWish
  ) STRICT, WITHOUT ROWID;
`

/** Lets bundles tell how much of a citation is here; part of the migrations, so never changed. */
export const BUNDLE_NEWS_OF_CITATIONS = `
  ALTER TABLE bundle_news RENAME TO bundle_news_before;
  CREATE TABLE bundle_news (
    node_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('gap', 'refused', 'receipt', 'citation')),
    about TEXT NOT NULL,                            -- feed, row, transfer or citation
    news TEXT NOT NULL,                             -- JSON
    first_seq INTEGER,                              -- first bundle that carries it
    PRIMARY KEY (node_id, kind, about)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO bundle_news SELECT node_id, kind, about, news, first_seq FROM bundle_news_before;
  DROP TABLE bundle_news_before;
`
