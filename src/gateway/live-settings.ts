import type { Config } from '../config/config.js'
import type { RemoteSettings } from '../fleet/profile/schema.js'

/** Settings, some of which the profile of a hub replaces while the gateway runs. */
export interface LiveSettings {
  /** reads the present value of each */
  readonly config: Config
  /** Uses the settings of a profile; those that it does not name have their own values again. */
  use(settings: RemoteSettings): void
}

/** Creates settings that a profile may replace. They must be read when they are used, and not copied. */
export function createLiveSettings(config: Config): LiveSettings {
  let remote: RemoteSettings = {}
  return {
    config: {
      ...config,
      sync: {
        ...config.sync,
        get windows() {
          return remote['sync.windows'] ?? config.sync.windows
        },
        get maxBytesPerSecond() {
          return remote['sync.maxBytesPerSecond'] ?? config.sync.maxBytesPerSecond
        },
      },
      fleet: {
        ...config.fleet,
        get reportS() {
          return remote['fleet.reportS'] ?? config.fleet.reportS
        },
      },
    },
    use(settings) {
      remote = settings
    },
  }
}
