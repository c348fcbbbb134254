import { DATA_MIGRATIONS } from './data-migrations.js'
import { STATE_MIGRATIONS } from './state-migrations.js'

/** Schema versions that this program makes and reads. */
export const KNOWN_VERSIONS = {
  'state.db': STATE_MIGRATIONS.length,
  'data.db': DATA_MIGRATIONS.length,
} as const

export type DatabaseName = keyof typeof KNOWN_VERSIONS

/** Why a database of a version cannot be served by this program; null when it can, an older one after its migration. */
export function restorableFault(name: DatabaseName, version: number): string | null {
  const known = KNOWN_VERSIONS[name]
  if (version <= known) return null
  return `${name} has schema version ${version}, this Fieldgate knows ${known}: install a newer Fieldgate`
}
