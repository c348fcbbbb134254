/** Tables of `state.db` for the keys of nodes; part of its migrations, so never changed. */
export const NODE_TABLES = `
  -- key pairs of this node, made once
  CREATE TABLE node_key (
    use TEXT PRIMARY KEY CHECK (use IN ('signing', 'exchange')),
    public_key BLOB NOT NULL CHECK (length(public_key) = 32),
    private_key BLOB NOT NULL,                      -- AES-256-GCM under the data directory's key file
    created_at_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- public keys of other nodes
  CREATE TABLE node_peer (
    node_id TEXT PRIMARY KEY CHECK (length(node_id) = 36),
    name TEXT NOT NULL UNIQUE,
    signing_key BLOB NOT NULL CHECK (length(signing_key) = 32),
    exchange_key BLOB NOT NULL CHECK (length(exchange_key) = 32),
    added_at_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`
