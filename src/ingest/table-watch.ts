import type { BrokerSettings } from '../config/ingest.js'
import type { Log } from '../log.js'
import type { TableReader } from '../storage/tables.js'
import { createMapping, type Mapping } from './map-message.js'
import { type MappingReport, reportOf } from './mapped-tables.js'
import type { Subscription } from './mqtt/encode.js'

/** The maps of a broker, and whether their tables can take rows. */
export interface TableWatch {
  readonly mappings: readonly Mapping[]
  /** Compares the maps with the tables. @returns true when something has changed */
  look(): Promise<boolean>
  /** Returns the subscriptions of the maps whose tables can take rows. */
  subscriptions(): readonly Subscription[]
  faults(): readonly string[]
  warnings(): readonly string[]
}

interface WatchDeps {
  readonly tables: Pick<TableReader, 'find'>
  readonly log: Pick<Log, 'warn'>
}

/** Creates the watch over the tables of a broker's maps. */
export function createTableWatch({ tables, log }: WatchDeps, { name, maps }: BrokerSettings): TableWatch {
  const mappings = maps.map(createMapping)
  let reports: readonly MappingReport[] = []
  return {
    mappings,
    async look() {
      const found: MappingReport[] = []
      for (const mapping of mappings) found.push(reportOf(mapping, await tables.find(mapping.settings.table)))
      const old = reports
      reports = found
      for (const [at, { fault }] of found.entries())
        if (fault !== undefined && fault !== old[at]?.fault) log.warn({ broker: name, fault }, 'a map waits')
      return JSON.stringify(found) !== JSON.stringify(old)
    },
    subscriptions: () => {
      const usable = mappings.filter((_mapping, at) => reports[at]?.fault === undefined)
      const byFilter = new Map<string, Subscription>()
      for (const { settings } of usable) {
        const { filter, qos, retained } = settings
        const other = byFilter.get(filter)
        byFilter.set(filter, {
          filter,
          qos: other !== undefined && other.qos > qos ? other.qos : qos,
          isRetainedWanted: retained || other?.isRetainedWanted === true,
        })
      }
      return [...byFilter.values()]
    },
    faults: () => reports.flatMap(({ fault }) => fault ?? []),
    warnings: () => reports.flatMap(({ warning }) => warning ?? []),
  }
}
