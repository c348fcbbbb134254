/** Tables of `state.db` for joining; part of its migrations, so never changed. */
export const FLEET_TABLES = `
  -- hub: keys with which gateways join
  CREATE TABLE fleet_token (
    key_id TEXT PRIMARY KEY REFERENCES api_key (key_id),
    profile TEXT NOT NULL,
    max_uses INTEGER NOT NULL CHECK (max_uses > 0),
    uses INTEGER NOT NULL CHECK (uses BETWEEN 0 AND max_uses)
  ) STRICT, WITHOUT ROWID;

  -- hub: versions are never changed
  CREATE TABLE fleet_profile (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,                           -- SHA-256 of the canonical text
    body TEXT NOT NULL,                             -- JSON
    created_at_us INTEGER NOT NULL,
    created_by TEXT,                                -- name of a key; null for the command line
    PRIMARY KEY (name, version)
  ) STRICT, WITHOUT ROWID;

  -- hub: gateways of the fleet, also those that left
  CREATE TABLE fleet_member (
    node_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    profile TEXT NOT NULL,
    key_id TEXT NOT NULL REFERENCES api_key (key_id),
    signing_key TEXT NOT NULL,                      -- Ed25519, base64url
    exchange_key TEXT NOT NULL,                   -- X25519, base64url
    state TEXT NOT NULL CHECK (state IN ('member', 'left', 'revoked')),
    joined_at_us INTEGER NOT NULL,
    ended_at_us INTEGER,
    applied_digest TEXT,
    tried_digest TEXT,
    outcome TEXT CHECK (outcome IN ('applied', 'partly', 'put_back')),
    last_seen_us INTEGER,
    last_report TEXT                                -- JSON
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX fleet_member_by_key ON fleet_member (key_id);

  -- hub: reports of the last day, the last one of each ten minutes
  CREATE TABLE fleet_report (
    node_id TEXT NOT NULL REFERENCES fleet_member ON DELETE CASCADE,
    slot INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    body TEXT NOT NULL,                             -- JSON
    PRIMARY KEY (node_id, slot)
  ) STRICT, WITHOUT ROWID;

  -- gateway: its membership, one row
  CREATE TABLE fleet_membership (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    hub_url TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('joining', 'member', 'refused', 'left')),
    api_key TEXT,
    secret BLOB,                                    -- AES-256-GCM under the key file; null once it left
    hub TEXT,                                       -- JSON: HubIdentity
    reason TEXT,
    joined_at_us INTEGER,
    progress TEXT NOT NULL                          -- JSON: ProfileProgress
  ) STRICT;
`

/** Tables of `state.db` for files of profiles; part of its migrations, so never changed. */
export const FLEET_FILE_TABLES = `
  -- hub: files that profiles may name; their bytes are below fleet/files
  CREATE TABLE fleet_file (
    sha256 TEXT PRIMARY KEY CHECK (length(sha256) = 64),
    name TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    added_at_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- gateway: what the profile installed, so that what an operator made is recognised
  CREATE TABLE fleet_installed (
    kind TEXT NOT NULL CHECK (kind IN ('map', 'module')),
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    stamp TEXT NOT NULL,                            -- of the installed files; empty while they are exchanged
    PRIMARY KEY (kind, name)
  ) STRICT, WITHOUT ROWID;
`
