/** Table of the citations of other nodes; part of the migrations, so never changed. */
export const CITATION_TABLES: readonly string[] = [
  // the first offer of a long form decides which rows it has
  `CREATE TABLE citation_object (
    long_form text COLLATE "C" PRIMARY KEY,
    origin_node text COLLATE "C" NOT NULL,            -- UUID of the node that made it
    checksum text COLLATE "C" NOT NULL,               -- SHA-256 of the canonical text of its rows, in hex
    offered_at_us bigint NOT NULL,
    -- of a complete one: the object with its rows, and a number that grows with each that was completed
    sha256 text COLLATE "C",
    seq bigint UNIQUE
  )`,
]
