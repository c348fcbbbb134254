/** Table of leases; part of the migrations, so never changed. */
export const LEASE_TABLES: readonly string[] = [
  // one row for each task that one process of a hub does at a time
  `CREATE TABLE lease (
    task text COLLATE "C" PRIMARY KEY,
    epoch bigint NOT NULL,                            -- grows with each change of the holder
    holder text COLLATE "C" NOT NULL,                 -- id of a process
    ends_at timestamptz NOT NULL                      -- by the clock of the database
  )`,
]
