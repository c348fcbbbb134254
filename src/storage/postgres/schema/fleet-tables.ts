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
