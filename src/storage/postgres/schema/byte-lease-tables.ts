/** Tables of processes that need or remove bytes, and of shared allowances; part of the migrations, so never changed. */
export const BYTE_LEASE_TABLES: readonly string[] = [
  // bytes stay while a row is there that is no removal; a removal begins while there is none
  `CREATE TABLE byte_lease (
    holder uuid PRIMARY KEY,
    is_removal boolean NOT NULL,
    ends_at timestamptz NOT NULL                      -- by the clock of the database
  )`,
]

/** Table of allowances that processes share; part of the migrations, so never changed. */
export const ALLOWANCE_TABLES: readonly string[] = [
  // not logged: after a crash or a fail-over all allowances are whole again
  `CREATE UNLOGGED TABLE allowance (
    owner text COLLATE "C" PRIMARY KEY,
    amount double precision NOT NULL,                 -- what is left; below 0 where processes took more together
    at timestamptz NOT NULL
  )`,
  `CREATE INDEX allowance_by_time ON allowance (at)`,
]
