import type { Maintenance } from '../../maintenance.js'
import { createDatabases } from './databases.js'
import { createDirectoryLocks } from './directory-locks.js'
import { createStoredFacts } from './stored-facts.js'

/** Maintenance of SQLite databases. It keeps nothing open between calls. */
export function createMaintenance(): Maintenance {
  return { databases: createDatabases(), facts: createStoredFacts(), locks: createDirectoryLocks() }
}
