import { BUNDLE_NEWS_OF_CITATIONS, BUNDLE_TABLES, BUNDLE_WISHES } from './bundle-tables.js'
import type { Migrations } from './database.js'
import { FEED_DOWN_TABLES } from './feed-down-tables.js'
import { FEED_TABLES } from './feed-tables.js'
import { FLEET_FILE_TABLES, FLEET_TABLES } from './fleet-tables.js'
import { BUS_TABLE, INGEST_TABLES } from './ingest-tables.js'
import { MODEL_TABLES } from './model-tables.js'
import { NODE_TABLES } from './node-tables.js'
import { TRIGGER_TABLES } from './trigger-tables.js'

/**
 * Schema of `state.db`: identity of the gateway, callers, models, outbox. Times are µs UTC. Append only.
 * `state-schema.ts` declares the same tables for drizzle; a test compares the two.
 */
export const STATE_MIGRATIONS: Migrations = [
  `
  -- single facts about this gateway: node_id, last_seen_us
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE api_key (
    key_id TEXT PRIMARY KEY CHECK (length(key_id) = 36),
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    scopes TEXT NOT NULL CHECK (json_type(scopes) = 'array'),
    created_at_us INTEGER NOT NULL,
    last_used_at_us INTEGER,
    revoked_at_us INTEGER,
    expires_at_us INTEGER
  ) STRICT, WITHOUT ROWID;

  -- more than one row of a key while a rotation overlaps; the secret itself is nowhere
  CREATE TABLE api_key_secret (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    key_id TEXT NOT NULL REFERENCES api_key (key_id),
    created_at_us INTEGER NOT NULL,
    expires_at_us INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX api_key_secret_by_key ON api_key_secret (key_id);

  CREATE TABLE session (
    session_id TEXT PRIMARY KEY CHECK (length(session_id) = 36),
    token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    key_id TEXT NOT NULL REFERENCES api_key (key_id),
    created_at_us INTEGER NOT NULL,
    expires_at_us INTEGER NOT NULL,
    closed_at_us INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX session_by_key ON session (key_id);
  `,
  MODEL_TABLES,
  `
  -- bytes of deleted models, which the sweep may remove; other bytes without a row are a sign of loss
  CREATE TABLE released_blob (sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TRIGGER model_released AFTER DELETE ON model BEGIN
    INSERT OR IGNORE INTO released_blob VALUES (old.sha256);
  END;
  `,
  `
  -- sessions from before count as used when this gateway last ran
  ALTER TABLE session ADD COLUMN last_used_at_us INTEGER NOT NULL DEFAULT 0;
  UPDATE session SET last_used_at_us =
    max(created_at_us, coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'last_seen_us'), 0));
  `,
  `
  -- signatures beside their models, which are listed without reading the bundles
  CREATE TABLE model_signature (
    seq INTEGER PRIMARY KEY REFERENCES model (seq) ON DELETE CASCADE,
    -- JSON text, as supplied
    bundle TEXT NOT NULL,
    -- key that made the signature, or that the bundle names
    key_hint TEXT CHECK (length(key_hint) = 64),
    -- null while that key is not trusted: nothing was verified
    verdict TEXT CHECK (verdict IN ('valid', 'invalid'))
  ) STRICT;
  CREATE INDEX model_signature_open ON model_signature (seq) WHERE verdict IS NULL;
  `,
  FEED_TABLES,
  NODE_TABLES,
  FLEET_TABLES,
  FEED_DOWN_TABLES,
  BUNDLE_TABLES,
  `
  -- a delta that carries the bytes: JSON of its base, digest, size and error
  ALTER TABLE transfer ADD COLUMN delta TEXT CHECK (json_type(delta) = 'object');
  ALTER TABLE transfer ADD COLUMN saved_bytes INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- when a member first reported the profile that it tried last
  ALTER TABLE fleet_member ADD COLUMN tried_at_us INTEGER;
  CREATE INDEX fleet_member_by_profile ON fleet_member (profile);
  `,
  `
  -- rows of feeds that go once more, see sync.resend
  CREATE TABLE feed_resend (
    feed_id TEXT PRIMARY KEY REFERENCES feed ON DELETE CASCADE,
    asked_at_us INTEGER NOT NULL,
    from_day INTEGER NOT NULL,                      -- UTC days of the rows, since 1970, both included
    to_day INTEGER NOT NULL,
    row_count INTEGER NOT NULL,                     -- rows when it was asked for
    sent INTEGER NOT NULL,
    after_row INTEGER NOT NULL                      -- id of the last row that was looked at
  ) STRICT, WITHOUT ROWID;
  `,
  FLEET_FILE_TABLES,
  BUNDLE_NEWS_OF_CITATIONS,
  `
  -- where the node that asks has the feed: JSON of its table here, epoch and cursor
  ALTER TABLE feed_asked ADD COLUMN told TEXT CHECK (json_type(told) = 'object');
  `,
  `
  CREATE INDEX feed_asked_by_feed ON feed_asked (feed_id);
  CREATE INDEX feed_asked_by_node ON feed_asked (asked ->> '$.node');
  `,
  INGEST_TABLES,
  BUNDLE_WISHES,
  TRIGGER_TABLES,
  `
  -- free space of the last week, an hour apart: bytes of the file system, and those within data.db that rows can use
  CREATE TABLE disk_sample (at_us INTEGER PRIMARY KEY, free_bytes INTEGER NOT NULL) STRICT;
  `,
  BUS_TABLE,
]
