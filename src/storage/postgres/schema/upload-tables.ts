/** Table of resumable uploads; part of the migrations, so never changed. */
export const UPLOAD_TABLES: readonly string[] = [
  // the bytes up to offset_bytes survive the process that took them
  `CREATE TABLE upload (
    upload_id text COLLATE "C" PRIMARY KEY CHECK (length(upload_id) = 36),
    key_id text COLLATE "C" NOT NULL,
    sha256 text COLLATE "C" NOT NULL CHECK (length(sha256) = 64),
    size_bytes bigint NOT NULL,
    offset_bytes bigint NOT NULL,
    -- what completion registers
    params text COLLATE "C" NOT NULL CHECK (json_typeof(params::json) = 'object'),
    created_at_us bigint NOT NULL,
    active_at_us bigint NOT NULL,
    -- the model it became; the row stays a while so that a lost answer can be asked for again
    model_id text COLLATE "C"
  )`,
  `CREATE INDEX upload_by_key ON upload (key_id)`,
  `CREATE INDEX upload_by_activity ON upload (active_at_us)`,
]

/** Table of the pieces of uploads; part of the migrations, so never changed. */
export const UPLOAD_PIECE_TABLES: readonly string[] = [
  // objects below the folder of the upload hold the bytes
  `CREATE TABLE upload_piece (
    upload_id text COLLATE "C" NOT NULL REFERENCES upload ON DELETE CASCADE,
    start_bytes bigint NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    sha256 text COLLATE "C" NOT NULL CHECK (length(sha256) = 64),
    PRIMARY KEY (upload_id, start_bytes)
  )`,
]
