/** Tables of a hub for its fleet; part of the migrations, so never changed. */
export const FLEET_TABLES: readonly string[] = [
  // keys with which gateways join
  `CREATE TABLE fleet_token (
    key_id text COLLATE "C" PRIMARY KEY REFERENCES api_key (key_id),
    profile text COLLATE "C" NOT NULL,
    max_uses bigint NOT NULL CHECK (max_uses > 0),
    uses bigint NOT NULL CHECK (uses BETWEEN 0 AND max_uses)
  )`,
  // versions are never changed
  `CREATE TABLE fleet_profile (
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    digest text COLLATE "C" NOT NULL,                 -- SHA-256 of the canonical text
    body text NOT NULL,                               -- JSON
    created_at_us bigint NOT NULL,
    created_by text,                                  -- name of a key; null for the command line
    PRIMARY KEY (name, version)
  )`,
]

/** Gateways of the fleet, and the files of profiles; part of the migrations, so never changed. */
export const MEMBER_TABLES: readonly string[] = [
  // gateways of the fleet, also those that left
  `CREATE TABLE fleet_member (
    node_id text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    profile text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL REFERENCES api_key (key_id),
    signing_key text NOT NULL,                        -- Ed25519, base64url
    exchange_key text NOT NULL,                       -- X25519, base64url
    state text NOT NULL CHECK (state IN ('member', 'left', 'revoked')),
    joined_at_us bigint NOT NULL,
    ended_at_us bigint,
    applied_digest text,
    tried_digest text,
    tried_at_us bigint,
    outcome text CHECK (outcome IN ('applied', 'partly', 'put_back')),
    last_seen_us bigint,
    last_report text,                                 -- JSON
    -- facts of the last report, read from it when it came
    is_ready boolean NOT NULL DEFAULT true,
    release text CHECK (release IN ('open', 'rolled_back')),
    has_rollback boolean NOT NULL DEFAULT false
  )`,
  `CREATE INDEX fleet_member_by_key ON fleet_member (key_id)`,
  `CREATE INDEX fleet_member_by_profile ON fleet_member (profile)`,
  // reports of the last day, the last one of each ten minutes
  `CREATE TABLE fleet_report (
    node_id text COLLATE "C" NOT NULL REFERENCES fleet_member ON DELETE CASCADE,
    slot bigint NOT NULL,
    at_us bigint NOT NULL,
    body text NOT NULL,                               -- JSON
    PRIMARY KEY (node_id, slot)
  )`,
  // node that sends with a key: the first that did
  `CREATE TABLE key_node (
    key_id text COLLATE "C" PRIMARY KEY,
    node_id text COLLATE "C" NOT NULL
  )`,
  `CREATE INDEX key_node_by_node ON key_node (node_id)`,
  // files that profiles may name; their bytes are kept beside, by digest
  `CREATE TABLE fleet_file (
    sha256 text COLLATE "C" PRIMARY KEY CHECK (length(sha256) = 64),
    name text COLLATE "C" NOT NULL,
    size_bytes bigint NOT NULL,
    added_at_us bigint NOT NULL
  )`,
]

/** Further facts of the last report, for the list of gateways; part of the migrations, so never changed. */
export const OVERVIEW_TABLES: readonly string[] = [
  `ALTER TABLE fleet_member ADD COLUMN oldest_s bigint, ADD COLUMN clock_us bigint,
    ADD COLUMN has_finding boolean NOT NULL DEFAULT false,
    ADD COLUMN lng double precision, ADD COLUMN lat double precision`,
]
