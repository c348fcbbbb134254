import { DATA_MIGRATIONS } from './data-migrations.js'
import { STATE_MIGRATIONS } from './state-migrations.js'

/** Schema versions that this program writes and reads. */
export const KNOWN_VERSIONS = {
  'state.db': STATE_MIGRATIONS.length,
  'data.db': DATA_MIGRATIONS.length,
} as const

export type DatabaseName = keyof typeof KNOWN_VERSIONS

/**
 * Returns why this program cannot serve a database of a schema version; null if it can. An older version is migrated first.
 */
export function restorableFault(name: DatabaseName, version: number): string | null {
  const known = KNOWN_VERSIONS[name]
  if (version <= known) return null
  return `${name} has schema version ${version}, this Fieldgate knows ${known}: install a newer Fieldgate`
}
