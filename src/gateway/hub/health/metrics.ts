import type { Config } from '../../../config/config.js'
import type { BudgetFacts } from '../../../http/byte-budget.js'
import type { Family } from '../../../http/metrics.js'
import { gauge } from '../../metrics/family.js'
import { fleetFamilies } from '../../metrics/fleet.js'
import { memoryFamilies } from '../../metrics/memory.js'
import { createLoopDelay, processFamilies } from '../../metrics/process.js'
import { passFamilies } from '../../metrics/retention.js'
import { searchFamilies } from '../../metrics/search.js'
import type { HubServices } from '../services.js'

/** Time without a report after which a gateway of this hub is silent, µs. */
const SILENT_US = 3_600_000_000

interface HubFigures {
  /** open connections */
  connections(): number
  memory(): BudgetFacts
}

/** Makes the reader of the families of `/metrics` that are sampled at each scrape. */
export function createHubFamilies(
  { state, disk, search, retention }: HubServices,
  { limits }: Pick<Config, 'limits'>,
  { connections, memory }: HubFigures,
): { read(): Promise<Family[]>; stop(): void } {
  const loop = createLoopDelay()
  return {
    async read() {
      const nowUs = state.clock.nowUs()
      const families = await Promise.all([
        processFamilies(),
        loop.families(),
        state.fleetMembers
          .summary(nowUs - SILENT_US)
          .then((gateways) => fleetFamilies({ membership: undefined, contact: null, gateways, nowUs })),
        memoryFamilies(memory(), limits.bytesInFlight),
        searchFamilies(search.searcher),
        retention.passes().then(passFamilies),
        [
          gauge('fieldgate_http_connections', 'Open connections', connections()),
          gauge(
            'fieldgate_disk_free_bytes',
            'Free space in the file system of the data directory',
            await disk.freeBytes(),
          ),
          gauge(
            'fieldgate_clock_trusted',
            '1 when the wall clock is trusted',
            state.clock.isTrusted() ? 1 : 0,
          ),
        ],
      ])
      return families.flat()
    },
    stop: () => loop.stop(),
  }
}
