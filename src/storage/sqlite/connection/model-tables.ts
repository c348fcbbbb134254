/**
 * Tables of the model store and the outbox. They are in one file, `state.db`, because a model and the
 * transfers it causes are written in one transaction. Bytes are in the blob store under their SHA-256.
 */
export const MODEL_TABLES = `
  CREATE TABLE model_store (
    store_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    -- name, '_', creation time in epoch seconds
    long_form TEXT NOT NULL UNIQUE,
    created_at_us INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE model (
    -- order of registration; breaks ties of every order
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    model_id TEXT NOT NULL UNIQUE CHECK (length(model_id) = 36),
    store_id INTEGER NOT NULL REFERENCES model_store (store_id),
    kind TEXT NOT NULL,
    description TEXT NOT NULL,
    meta TEXT NOT NULL CHECK (json_type(meta) = 'object'),
    md5 TEXT NOT NULL CHECK (length(md5) = 32),
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    -- 10 registered here, 20 received as feedback, 30 aggregated, 40 fetched from upstream
    state INTEGER NOT NULL CHECK (state IN (10, 20, 30, 40)),
    hop_count INTEGER NOT NULL CHECK (hop_count >= 0),
    round INTEGER NOT NULL,
    lng REAL NOT NULL,
    lat REAL NOT NULL,
    start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL,
    tenant_id TEXT NOT NULL,
    -- where it was first registered; null when that was here
    origin_node TEXT,
    origin_model_id TEXT,
    -- node ids it came through, first one first, as a JSON array
    chain TEXT NOT NULL DEFAULT '[]' CHECK (json_type(chain) = 'array'),
    -- gone for callers; the row stays while a transfer still has to carry the bytes
    deleted_at_us INTEGER,
    -- the bytes are not what they were
    damaged_at_us INTEGER,
    -- why the row cannot be shown, null when it can
    quarantined TEXT
  ) STRICT;
  CREATE INDEX model_by_store ON model (store_id, seq);
  CREATE INDEX model_by_sha256 ON model (sha256);

  -- kept for ever, also when the model is deleted: a repeated feedback must never become a second model
  CREATE TABLE model_origin (
    origin_node TEXT NOT NULL,
    origin_model_id TEXT NOT NULL,
    store_id INTEGER NOT NULL,
    model_id TEXT NOT NULL,
    -- the model_info that was answered
    answer TEXT NOT NULL,
    PRIMARY KEY (origin_node, origin_model_id, store_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE upstream (
    upstream_id INTEGER PRIMARY KEY AUTOINCREMENT,
    store_id INTEGER NOT NULL REFERENCES model_store (store_id),
    endpoint TEXT NOT NULL,
    apikey TEXT NOT NULL,
    -- AES-256-GCM under the data directory's key file
    secret BLOB NOT NULL,
    upstream_store TEXT NOT NULL,
    alias TEXT NOT NULL,
    description TEXT NOT NULL,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX upstream_by_store ON upstream (store_id);

  -- the outbox. No foreign keys: a transfer outlives its model and its upstream as a record of what happened
  CREATE TABLE transfer (
    transfer_id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('feedback', 'fetch')),
    model_id TEXT,
    store_id INTEGER NOT NULL,
    upstream_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'sending', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    bytes_sent INTEGER NOT NULL DEFAULT 0,
    size_bytes INTEGER,
    -- what was told when the last attempt failed; waiting itself is counted on the monotonic clock
    next_attempt_us INTEGER,
    last_error TEXT,
    last_error_name TEXT,
    created_at_us INTEGER NOT NULL,
    finished_at_us INTEGER,
    -- 1 when an attempt may have reached the upstream although no answer came back
    may_be_received INTEGER NOT NULL DEFAULT 0,
    -- where a resumable upload goes on
    resume_url TEXT,
    -- model_info as the upstream answered it
    answer TEXT
  ) STRICT;
  -- never a second copy upstream
  CREATE UNIQUE INDEX transfer_once ON transfer (model_id, upstream_id) WHERE kind = 'feedback';
  CREATE INDEX transfer_waiting ON transfer (upstream_id, kind, transfer_id) WHERE state IN ('queued', 'sending');

  -- resumable uploads that are not whole yet; the bytes up to offset_bytes are on disk beyond a power cut
  CREATE TABLE upload (
    upload_id TEXT PRIMARY KEY CHECK (length(upload_id) = 36),
    key_id TEXT NOT NULL,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    size_bytes INTEGER NOT NULL,
    offset_bytes INTEGER NOT NULL,
    -- what completion registers
    params TEXT NOT NULL CHECK (json_type(params) = 'object'),
    created_at_us INTEGER NOT NULL,
    active_at_us INTEGER NOT NULL,
    -- the model it became; the row stays a while so that a lost answer can be asked for again
    model_id TEXT
  ) STRICT, WITHOUT ROWID;
`
