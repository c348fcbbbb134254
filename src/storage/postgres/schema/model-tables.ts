/**
 * Tables of the model store and the outbox; part of the migrations, so never changed. `made_by` names the call that
 * made a row: a repeat finds its own. Columns of any text hold the form of `storedText`.
 */
export const MODEL_TABLES: readonly string[] = [
  `CREATE TABLE model_store (
    store_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
    long_form text COLLATE "C" NOT NULL UNIQUE,       -- name, '_', creation time in epoch seconds
    created_at_us bigint NOT NULL,
    made_by uuid NOT NULL UNIQUE
  )`,
  `CREATE TABLE model (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- order of registration
    model_id text COLLATE "C" NOT NULL UNIQUE CHECK (length(model_id) = 36),
    store_id bigint NOT NULL REFERENCES model_store (store_id),
    kind text COLLATE "C" NOT NULL,                   -- any text
    description text COLLATE "C" NOT NULL,            -- any text
    meta text COLLATE "C" NOT NULL CHECK (json_typeof(meta::json) = 'object'),
    md5 text COLLATE "C" NOT NULL CHECK (length(md5) = 32),
    sha256 text COLLATE "C" NOT NULL CHECK (length(sha256) = 64),
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    -- 10 registered here, 20 received as feedback, 30 aggregated, 40 fetched from upstream
    state integer NOT NULL CHECK (state IN (10, 20, 30, 40)),
    hop_count integer NOT NULL CHECK (hop_count >= 0),
    round bigint NOT NULL,
    lng double precision NOT NULL,
    lat double precision NOT NULL,
    start_us bigint NOT NULL,
    end_us bigint NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,              -- any text
    -- where it was first registered; null when that was here
    origin_node text COLLATE "C",                     -- any text
    origin_model_id text COLLATE "C",                 -- any text
    -- node ids it came through, first one first
    chain text NOT NULL CHECK (json_typeof(chain::json) = 'array'),
    deleted_at_us bigint,                             -- gone for callers; kept while a transfer needs the bytes
    damaged_at_us bigint,                             -- the bytes are not what they were
    quarantined text                                  -- why the row cannot be shown, null when it can
  )`,
  `CREATE INDEX model_by_store ON model (store_id, seq)`,
  `CREATE INDEX model_by_sha256 ON model (sha256)`,
  `CREATE INDEX model_deleted ON model (seq) WHERE deleted_at_us IS NOT NULL`,
  // kept for ever, also when the model is deleted: a repeated feedback must never become a second model
  `CREATE TABLE model_origin (
    origin_node text COLLATE "C" NOT NULL,            -- any text
    origin_model_id text COLLATE "C" NOT NULL,        -- any text
    store_id bigint NOT NULL,
    model_id text COLLATE "C" NOT NULL,
    answer text NOT NULL,                             -- JSON: the model as it was answered
    PRIMARY KEY (origin_node, origin_model_id, store_id)
  )`,
  // signatures beside their models, which are listed without reading the bundles
  `CREATE TABLE model_signature (
    seq bigint PRIMARY KEY REFERENCES model (seq) ON DELETE CASCADE,
    bundle text NOT NULL,                             -- any text: JSON, as supplied
    key_hint text COLLATE "C" CHECK (length(key_hint) = 64),
    verdict text COLLATE "C" CHECK (verdict IN ('valid', 'invalid')) -- null while the key is not trusted
  )`,
  `CREATE INDEX model_signature_open ON model_signature (seq) WHERE verdict IS NULL`,
  // bytes of deleted models, which the sweep may remove; other bytes without a row are a sign of loss
  `CREATE TABLE released_blob (sha256 text COLLATE "C" PRIMARY KEY)`,
  // model from whose bytes the delta of an upload was made
  `ALTER TABLE upload ADD COLUMN delta_base text COLLATE "C"`,
]

/** Tables of the outbox; part of the migrations, so never changed. */
export const TRANSFER_TABLES: readonly string[] = [
  `CREATE TABLE upstream (
    upstream_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    store_id bigint NOT NULL REFERENCES model_store (store_id),
    endpoint text COLLATE "C" NOT NULL,               -- any text, as the four below
    apikey text COLLATE "C" NOT NULL,
    secret bytea NOT NULL,                            -- AES-256-GCM under the key file
    upstream_store text COLLATE "C" NOT NULL,
    alias text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    created_at_us bigint NOT NULL,
    updated_at_us bigint NOT NULL,
    made_by uuid NOT NULL UNIQUE
  )`,
  `CREATE INDEX upstream_by_store ON upstream (store_id)`,
  // no foreign keys: a transfer outlives its model and its upstream as a record of what happened
  `CREATE TABLE transfer (
    transfer_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('feedback', 'fetch')),
    model_id text COLLATE "C",
    store_id bigint NOT NULL,
    upstream_id bigint NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('queued', 'sending', 'delivered', 'failed')),
    begun_by uuid,                                    -- call that began the last attempt
    attempts bigint NOT NULL DEFAULT 0,
    bytes_sent bigint NOT NULL DEFAULT 0,
    size_bytes bigint,
    next_attempt_us bigint,
    last_error text COLLATE "C",                      -- any text
    last_error_name text COLLATE "C",
    created_at_us bigint NOT NULL,
    finished_at_us bigint,
    may_be_received boolean NOT NULL DEFAULT false,   -- an attempt may have reached the upstream without an answer
    resume_url text COLLATE "C",                      -- any text: where a resumable upload goes on
    answer text,                                      -- any text: JSON of the model as the upstream answered it
    answer_model_id text COLLATE "C",                 -- any text: its id there
    delta text,                                       -- JSON: a delta that carries the bytes
    delta_bytes bigint,                               -- its size
    saved_bytes bigint NOT NULL DEFAULT 0
  )`,
  // never a second copy upstream
  `CREATE UNIQUE INDEX transfer_once ON transfer (model_id, upstream_id) WHERE kind = 'feedback'`,
  `CREATE INDEX transfer_waiting ON transfer (upstream_id, kind, transfer_id) WHERE state IN ('queued', 'sending')`,
  `CREATE INDEX transfer_by_answer ON transfer (upstream_id, answer_model_id) WHERE state = 'delivered'`,
]
