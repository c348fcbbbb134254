/**
 * Tables for the identity of a hub and its callers; part of the migrations, so never changed. Text is compared by
 * its bytes (`COLLATE "C"`), as SQLite does, whatever the locale of the database; times are µs since 1970 UTC.
 */
export const ACCESS_TABLES: readonly string[] = [
  `CREATE TABLE meta (
    name text COLLATE "C" PRIMARY KEY,
    value text COLLATE "C" NOT NULL
  )`,
  // acts of command-line programs on their way to the log
  `CREATE TABLE audit_note (
    note_id uuid PRIMARY KEY,
    at_us bigint NOT NULL,
    event text NOT NULL                               -- JSON
  )`,
  `CREATE INDEX audit_note_by_time ON audit_note (at_us)`,
  `CREATE TABLE api_key (
    key_id text COLLATE "C" PRIMARY KEY CHECK (length(key_id) = 36),
    name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    scopes text NOT NULL CHECK (json_typeof(scopes::json) = 'array'),
    created_at_us bigint NOT NULL,
    last_used_at_us bigint,
    revoked_at_us bigint,
    expires_at_us bigint
  )`,
  // more than one row of a key while a rotation overlaps; the secret itself is nowhere
  `CREATE TABLE api_key_secret (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    key_id text COLLATE "C" NOT NULL REFERENCES api_key (key_id),
    created_at_us bigint NOT NULL,
    expires_at_us bigint
  )`,
  `CREATE INDEX api_key_secret_by_key ON api_key_secret (key_id)`,
  `CREATE TABLE session (
    session_id text COLLATE "C" PRIMARY KEY CHECK (length(session_id) = 36),
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    key_id text COLLATE "C" NOT NULL REFERENCES api_key (key_id),
    created_at_us bigint NOT NULL,
    expires_at_us bigint NOT NULL,
    closed_at_us bigint,
    last_used_at_us bigint NOT NULL
  )`,
  `CREATE INDEX session_by_key ON session (key_id)`,
  // key pairs of this hub, made once, the same for all of its processes
  `CREATE TABLE node_key (
    use text COLLATE "C" PRIMARY KEY CHECK (use IN ('signing', 'exchange')),
    public_key bytea NOT NULL CHECK (length(public_key) = 32),
    private_key bytea NOT NULL,                       -- AES-256-GCM under the key file
    created_at_us bigint NOT NULL
  )`,
  // public keys of other nodes
  `CREATE TABLE node_peer (
    node_id text COLLATE "C" PRIMARY KEY CHECK (length(node_id) = 36),
    name text COLLATE "C" NOT NULL UNIQUE,
    signing_key bytea NOT NULL CHECK (length(signing_key) = 32),
    exchange_key bytea NOT NULL CHECK (length(exchange_key) = 32),
    relay boolean NOT NULL,
    endpoint text,
    added_at_us bigint NOT NULL
  )`,
]
