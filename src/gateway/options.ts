import type { Config } from '../config/config.js'
import type { DataLayout } from '../files/layout.js'
import type { HubRequest } from '../fleet/member/join-hub.js'
import type { Log } from '../log.js'
import type { DiskFaults } from './disk-faults.js'

export interface GatewayOptions {
  readonly config: Config
  readonly dataDir: string
  readonly log: Log
  /** file that worker threads run: this program itself */
  readonly workerEntry: string
  readonly version: string
  /** the settings file, which backups copy and modules must not read; absent when there is none */
  readonly configFile?: string | null
  /** hub that the gateway joins unless it is or was a member */
  readonly join?: HubRequest | undefined
}

/** The same options once the directories of `dataDir` exist. */
export interface ServicesOptions extends Omit<GatewayOptions, 'dataDir'> {
  readonly layout: DataLayout
  readonly diskFaults: DiskFaults
}
