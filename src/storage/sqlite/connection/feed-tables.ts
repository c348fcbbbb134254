/** Tables of `state.db` for feeds of tables between nodes; part of its migrations, so never changed. */
export const FEED_TABLES = `
  -- nodes to which feeds of tables go
  CREATE TABLE sync_upstream (
    name TEXT PRIMARY KEY,
    endpoint TEXT NOT NULL,
    apikey TEXT NOT NULL,
    secret BLOB NOT NULL,                           -- AES-256-GCM under the data directory's key file
    created_at_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE feed (
    feed_id TEXT PRIMARY KEY CHECK (length(feed_id) = 36),
    data_name TEXT NOT NULL,
    upstream TEXT NOT NULL REFERENCES sync_upstream (name),
    conds TEXT,                                     -- JSON; null for every row
    columns TEXT,                                   -- JSON: names; null for all
    priority INTEGER NOT NULL,                      -- larger goes first
    max_bytes_per_second INTEGER NOT NULL,          -- 0 for no limit
    windows TEXT NOT NULL,                          -- JSON: HH:MM-HH:MM
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    from_text TEXT NOT NULL,                        -- as given: now, all or an instant
    start TEXT NOT NULL,                            -- JSON: FeedStart
    progress TEXT NOT NULL,                         -- JSON: FeedProgress; the receiver's cursor wins
    created_at_us INTEGER NOT NULL,
    UNIQUE (data_name, upstream)
  ) STRICT, WITHOUT ROWID;

  -- rows that a receiver refused for good
  CREATE TABLE feed_set_aside (
    feed_id TEXT NOT NULL REFERENCES feed ON DELETE CASCADE,
    change INTEGER NOT NULL,                        -- number of the row's last change in its table
    row_key TEXT NOT NULL,                          -- values of the unique key, as JSON
    reason TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (feed_id, change)
  ) STRICT, WITHOUT ROWID;

  -- node that sends with a key: the first that did
  CREATE TABLE key_node (
    key_id TEXT PRIMARY KEY,
    node_id TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_node_by_node ON key_node (node_id);
`
