import type { Config } from '../config/config.js'
import type { DataLayout } from '../files/layout.js'
import type { HubRequest } from '../fleet/member/join-hub.js'
import type { Fetch } from '../http/server/server.js'
import type { Log } from '../log.js'
import type { DiskFaults } from './health/disk-faults.js'

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

/** A verb and a pattern of paths. */
export interface ServedRoute {
  readonly verb: string
  readonly path: string
}

export interface Gateway {
  url: string
  port: number
  /** every served path as the router has it; the verb `ALL` matches every verb */
  routes: readonly ServedRoute[]
  /** takes over settings that can change while serving. @returns paths of those that need a restart */
  reload(next: Config): Promise<string[]>
  /** true when the worker threads answer within `limitMs`, or are known to be busy */
  isAlive(limitMs: number): Promise<boolean>
  /** makes the code of a link that signs a key in to the console, once and within ten minutes; a hub has none */
  offerSignIn?(keyId: string): string
  /** refuses new calls with 503, lets running ones end, closes everything */
  stop(): Promise<void>
}

/** A gateway or hub behind a server that listens. */
export interface Opened extends Omit<Gateway, 'url' | 'port'> {
  readonly fetch: Fetch
}
