/** Tables of `state.db` for messages that come in by themselves; part of its migrations, so never changed. */
export const INGEST_TABLES = `
  -- brokers: what their sessions are subscribed to, and how they are
  CREATE TABLE ingest_broker (
    name TEXT PRIMARY KEY,
    filters TEXT NOT NULL CHECK (json_type(filters) = 'array'),
    status TEXT CHECK (json_type(status) = 'object'),
    noted_at_us INTEGER
  ) STRICT, WITHOUT ROWID;

  -- messages that could not be stored
  CREATE TABLE ingest_reject (
    seq INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    broker TEXT NOT NULL,
    topic TEXT NOT NULL,
    reason TEXT NOT NULL,
    payload BLOB NOT NULL,                          -- the first bytes
    payload_bytes INTEGER NOT NULL
  ) STRICT;

  -- how far the changes of a table are published, by rule
  CREATE TABLE ingest_cursor (
    name TEXT PRIMARY KEY,
    table_id INTEGER NOT NULL,
    change INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- messages that wait for their broker
  CREATE TABLE ingest_outbox (
    seq INTEGER PRIMARY KEY,
    broker TEXT NOT NULL,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    qos INTEGER NOT NULL CHECK (qos IN (0, 1)),
    is_retained INTEGER NOT NULL CHECK (is_retained IN (0, 1))
  ) STRICT;
  CREATE INDEX ingest_outbox_by_broker ON ingest_outbox (broker, seq);
`

/** Modbus buses, as `INGEST_TABLES` has brokers; part of the migrations of `state.db`, so never changed. */
export const BUS_TABLE = `
  CREATE TABLE ingest_bus (
    name TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (json_type(status) = 'object'),
    noted_at_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`
