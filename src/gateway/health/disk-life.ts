import { type DiskForecast, forecastDisk } from '../../files/disk-forecast.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { RetentionStore } from '../../storage/retention.js'
import type { State } from '../../storage/state.js'

interface DiskLifeDeps {
  readonly state: Pick<State, 'diskSamples' | 'clock'>
  readonly disk: Pick<DiskSpace, 'freeBytes'>
  readonly store: Pick<RetentionStore, 'space'>
  readonly reserveBytes: number
}

/** Time that the disk lasts. */
export interface DiskLife {
  /** Notes the free space, once an hour; where the clock may be wrong nothing. */
  sample(): Promise<void>
  /** Returns undefined before the first hour. */
  forecast(): Promise<DiskForecast | undefined>
}

const HOUR_US = 3_600_000_000

/** Creates the forecast of the disk. */
export function createDiskLife({ state, disk, store, reserveBytes }: DiskLifeDeps): DiskLife {
  const { diskSamples, clock } = state
  const now = async () => {
    const { freePages, pageBytes } = await store.space()
    return { atUs: clock.nowUs(), freeBytes: (await disk.freeBytes()) + freePages * pageBytes }
  }
  return {
    async sample() {
      if (!clock.isTrusted()) return
      const last = (await diskSamples.list()).at(-1)
      const age = clock.nowUs() - (last?.atUs ?? Number.NEGATIVE_INFINITY)
      if (age < 0 || age >= HOUR_US) await diskSamples.note(await now())
    },
    forecast: async () => forecastDisk(await diskSamples.list(), await now(), reserveBytes),
  }
}
