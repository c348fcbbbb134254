/** Tables of `state.db` for triggers; part of its migrations, so never changed. */
export const TRIGGER_TABLES = `
  CREATE TABLE module_trigger (
    name TEXT PRIMARY KEY,
    "on" TEXT NOT NULL CHECK (json_type("on") = 'object'),    -- JSON: TriggerOn
    call TEXT NOT NULL CHECK (json_type(call) = 'object'),    -- JSON: the params of dataproc.exec
    overlap TEXT NOT NULL CHECK (overlap IN ('skip', 'queue', 'cancel')),
    retries INTEGER NOT NULL,
    retry_wait_s REAL NOT NULL,
    wait_s REAL NOT NULL,
    is_enabled INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
    key_id TEXT NOT NULL,                           -- whose rights the runs have
    key_name TEXT NOT NULL,
    created_at_us INTEGER NOT NULL,
    mark TEXT CHECK (json_type(mark) = 'object')    -- JSON: TriggerMark
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE module_trigger_run (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    trigger_name TEXT NOT NULL REFERENCES module_trigger ON DELETE CASCADE,
    due_at_us INTEGER NOT NULL,
    until_us INTEGER NOT NULL,
    count INTEGER NOT NULL,
    started_at_us INTEGER,
    interruptions INTEGER NOT NULL DEFAULT 0,
    facts TEXT NOT NULL CHECK (json_type(facts) = 'object')   -- JSON: TriggerRunFacts
  ) STRICT;
  CREATE INDEX module_trigger_run_by_trigger ON module_trigger_run (trigger_name, seq);
  CREATE INDEX module_trigger_run_going ON module_trigger_run (seq) WHERE facts ->> '$.state' = 'running';
`
