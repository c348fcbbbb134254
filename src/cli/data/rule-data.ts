import { parseOffset } from '../../datetime.js'
import type { RetentionRows } from '../../storage/retention.js'
import type { TableStore } from '../../storage/tables.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { readSettings } from '../settings.js'
import { withTableData } from './table-data.js'

/** Tables of a gateway or a hub, and the rules by which their rows go. */
export interface RuleData {
  readonly store: Pick<TableStore, 'find' | 'list' | 'register'>
  readonly rules: RetentionRows
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** µs UTC */
  nowUs(): number
}

/**
 * Opens the rules of a gateway or a hub, whichever the settings say, for one verb.
 *
 * @throws Error in one line: the hub is not prepared
 */
export async function withRules<T>(
  globals: GlobalOptions,
  deps: CliDeps,
  act: (data: RuleData) => Promise<T>,
): Promise<T> {
  const { config, dataDir } = readSettings(globals, deps)
  if (config.role === 'gateway') return await withTableData(globals, deps, act)
  const { openHubVerb } = await import('../../gateway/hub/engines/verb.js')
  deps.makeFilesPrivate()
  const hub = await openHubVerb(config, dataDir)
  try {
    const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
    return await act({ ...hub.openTables(), timeZoneMin, nowUs: () => Date.now() * 1000 })
  } finally {
    await hub.close()
  }
}
