/** Tables of `state.db` for feeds that come down; part of its migrations, so never changed. */
export const FEED_DOWN_TABLES = `
  -- one table may go up and come down between the same two nodes: the direction joins the unique key
  CREATE TABLE feed_next (
    feed_id TEXT PRIMARY KEY CHECK (length(feed_id) = 36),
    data_name TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('up', 'down')),
    upstream TEXT NOT NULL REFERENCES sync_upstream (name),
    conds TEXT,                                     -- JSON; null for every row
    columns TEXT,                                   -- JSON: names; null for all
    priority INTEGER NOT NULL,                      -- larger goes first
    max_bytes_per_second INTEGER NOT NULL,          -- 0 for no limit
    windows TEXT NOT NULL,                          -- JSON: HH:MM-HH:MM
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    from_text TEXT NOT NULL,                        -- as given: now, all or an instant
    start TEXT NOT NULL,                            -- JSON: FeedStart; of a feed down as the upstream answered
    progress TEXT NOT NULL,                         -- JSON: FeedProgress; the receiver's cursor wins
    created_at_us INTEGER NOT NULL,
    UNIQUE (data_name, upstream, direction)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO feed_next SELECT feed_id, data_name, 'up', upstream, conds, columns, priority,
    max_bytes_per_second, windows, enabled, from_text, start, progress, created_at_us FROM feed;
  CREATE TABLE feed_set_aside_next (
    feed_id TEXT NOT NULL REFERENCES feed_next ON DELETE CASCADE,
    change INTEGER NOT NULL,                        -- number of the row's last change; of a feed down one of its batch
    row_key TEXT NOT NULL,                          -- values of the unique key, as JSON
    reason TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (feed_id, change)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO feed_set_aside_next SELECT feed_id, change, row_key, reason, at_us FROM feed_set_aside;
  DROP TABLE feed_set_aside;
  DROP TABLE feed;
  ALTER TABLE feed_next RENAME TO feed;
  ALTER TABLE feed_set_aside_next RENAME TO feed_set_aside;

  -- tables that a key may send and read; a key without a row here reads none
  CREATE TABLE key_table (
    key_id TEXT NOT NULL,
    data_name TEXT NOT NULL,                        -- * for every table
    PRIMARY KEY (key_id, data_name)
  ) STRICT, WITHOUT ROWID;

  -- feeds that other nodes ask for
  CREATE TABLE feed_asked (
    key_id TEXT NOT NULL,
    feed_id TEXT NOT NULL CHECK (length(feed_id) = 36),
    asked TEXT NOT NULL,                            -- JSON: AskedFeed
    asked_at_us INTEGER NOT NULL,                   -- when it last changed
    PRIMARY KEY (key_id, feed_id)
  ) STRICT, WITHOUT ROWID;
`
