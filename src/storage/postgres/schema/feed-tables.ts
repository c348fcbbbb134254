/** Tables for feeds of tables between nodes; part of the migrations, so never changed. */
export const FEED_TABLES: readonly string[] = [
  // nodes to which feeds of tables go
  `CREATE TABLE sync_upstream (
    name text COLLATE "C" PRIMARY KEY,
    endpoint text NOT NULL,
    apikey text NOT NULL,
    secret bytea NOT NULL,                            -- AES-256-GCM under the key file
    created_at_us bigint NOT NULL,
    made_by uuid NOT NULL UNIQUE                      -- call that made it
  )`,
  `CREATE TABLE feed (
    feed_id text COLLATE "C" PRIMARY KEY CHECK (length(feed_id) = 36),
    data_name text COLLATE "C" NOT NULL,
    direction text COLLATE "C" NOT NULL CHECK (direction IN ('up', 'down')),
    upstream text COLLATE "C" NOT NULL REFERENCES sync_upstream (name),
    conds text,                                       -- JSON; null for every row
    columns text,                                     -- JSON: names; null for all
    priority bigint NOT NULL,                         -- larger goes first
    max_bytes_per_second bigint NOT NULL,             -- 0 for no limit
    windows text NOT NULL,                            -- JSON: HH:MM-HH:MM
    enabled boolean NOT NULL,
    from_text text NOT NULL,                          -- as given: now, all or an instant
    start text NOT NULL,                              -- JSON: FeedStart; of a feed down as the upstream answered
    progress text NOT NULL,                           -- JSON: FeedProgress; the receiver's cursor wins
    created_at_us bigint NOT NULL,
    UNIQUE (data_name, upstream, direction)
  )`,
  // rows that a receiver refused for good
  `CREATE TABLE feed_set_aside (
    feed_id text COLLATE "C" NOT NULL REFERENCES feed ON DELETE CASCADE,
    change bigint NOT NULL,                           -- number of the row's last change; of a feed down one of its batch
    row_key text NOT NULL,                            -- values of the unique key, as JSON
    reason text NOT NULL,                             -- any text
    at_us bigint NOT NULL,
    PRIMARY KEY (feed_id, change)
  )`,
  // rows of feeds that go once more
  `CREATE TABLE feed_resend (
    feed_id text COLLATE "C" PRIMARY KEY REFERENCES feed ON DELETE CASCADE,
    asked_at_us bigint NOT NULL,
    from_day bigint NOT NULL,                         -- UTC days of the rows, since 1970, both included
    to_day bigint NOT NULL,
    row_count bigint NOT NULL,                        -- rows when it was asked for
    sent bigint NOT NULL,
    after_row bigint NOT NULL                         -- id of the last row that was looked at
  )`,
  // tables that a key may send and read; a key without a row here reads none
  `CREATE TABLE key_table (
    key_id text COLLATE "C" NOT NULL,
    data_name text COLLATE "C" NOT NULL,              -- * for every table
    PRIMARY KEY (key_id, data_name)
  )`,
  // feeds that other nodes ask for
  `CREATE TABLE feed_asked (
    key_id text COLLATE "C" NOT NULL,
    feed_id text COLLATE "C" NOT NULL CHECK (length(feed_id) = 36),
    node text COLLATE "C" NOT NULL,
    data_name text COLLATE "C" NOT NULL,
    asked text NOT NULL,                              -- JSON: AskedFeed
    asked_at_us bigint NOT NULL,                      -- when it last changed
    told text,                                        -- JSON: ToldCursor
    PRIMARY KEY (key_id, feed_id)
  )`,
  `CREATE INDEX feed_asked_by_feed ON feed_asked (feed_id)`,
  `CREATE INDEX feed_asked_by_node ON feed_asked (node)`,
  `CREATE INDEX feed_asked_by_table ON feed_asked (data_name)`,
]

/** Tables for bundles; part of the migrations, so never changed. */
export const BUNDLE_TABLES: readonly string[] = [
  `CREATE TABLE bundle_written (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id text COLLATE "C" NOT NULL UNIQUE CHECK (length(bundle_id) = 36),
    node_id text COLLATE "C" NOT NULL,                -- receiver
    written_at_us bigint NOT NULL,
    contents text,                                    -- JSON: BundleContents; null while it is being written
    acknowledged_at_us bigint
  )`,
  `CREATE INDEX bundle_written_by_node ON bundle_written (node_id, seq)`,
  `CREATE TABLE bundle_applied (
    node_id text COLLATE "C" NOT NULL,                -- sender
    bundle_id text COLLATE "C" NOT NULL,
    epoch bigint NOT NULL,                            -- incarnation of its data
    seq bigint NOT NULL,                              -- number there
    applied_at_us bigint NOT NULL,
    PRIMARY KEY (node_id, bundle_id)
  )`,
  // what the next bundles tell a node
  `CREATE TABLE bundle_news (
    node_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('gap', 'refused', 'receipt', 'citation')),
    about text COLLATE "C" NOT NULL,                  -- any text: feed, row, transfer or citation
    news text NOT NULL,                               -- JSON
    first_seq bigint,                                 -- first bundle that carries it
    PRIMARY KEY (node_id, kind, about)
  )`,
  // stores whose newest aggregated model a node wants, as its last bundle told
  `CREATE TABLE bundle_wish (
    node_id text COLLATE "C" PRIMARY KEY,
    wishes text NOT NULL                              -- JSON: StoreWish
  )`,
]
