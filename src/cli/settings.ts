import { existsSync } from 'node:fs'
import path from 'node:path'
import {
  type Config,
  type ConfigFault,
  type LoadedConfig,
  loadConfig,
  type Settings,
} from '../config/config.js'
import type { HubSettings } from '../config/hub.js'
import type { BrokerSettings } from '../config/ingest.js'
import { layoutOf } from '../files/layout.js'
import { offerNativeDir } from '../storage/sqlite/connection/native.js'
import type { CliDeps, GlobalOptions } from './io.js'

/** Settings file that is used when none is named, in the current folder. */
const DEFAULT_FILE = 'edge.config.json'

/** Effective settings of a verb; all paths are absolute. */
export interface RunSettings extends LoadedConfig {
  dataDir: string
}

/**
 * Reads the settings of a verb. The file is `--config`, or `FIELDGATE_CONFIG`, or `edge.config.json` in the
 * current folder if it exists.
 *
 * @param flags settings from the verb's own flags
 * @throws Error in one line with all faults
 */
export function readSettings(globals: GlobalOptions, deps: CliDeps, flags: Settings = {}): RunSettings {
  const settings = findSettings(globals, deps, flags)
  if (!('faults' in settings)) return settings
  const list = settings.faults.map((fault) => `${fault.path}: ${fault.message}`).join('; ')
  throw new Error(`the settings have ${settings.faults.length} fault(s): ${list}`)
}

/** Reads the settings of a verb, like `readSettings`; returns the faults instead of throwing. */
export function findSettings(
  globals: GlobalOptions,
  deps: CliDeps,
  flags: Settings = {},
): RunSettings | { faults: ConfigFault[]; file: string | null } {
  const file = configFile(globals, deps)
  const dataDir = globals.dataDir === undefined ? {} : { dataDir: globals.dataDir }
  const loaded = loadConfig(file, deps.env, { ...flags, ...dataDir })
  if ('faults' in loaded) return { ...loaded, file }
  const config = withAbsolutePaths(loaded, deps)
  offerNativeDir(layoutOf(config.dataDir).nativeDir)
  return { ...loaded, config, dataDir: config.dataDir }
}

function configFile(globals: GlobalOptions, deps: CliDeps): string | null {
  const named = globals.config ?? (deps.env.FIELDGATE_CONFIG || undefined) // an empty variable counts as unset
  if (named !== undefined) return path.resolve(deps.cwd, named)
  const usual = path.join(deps.cwd, DEFAULT_FILE)
  return existsSync(usual) ? usual : null
}

/**
 * Resolves paths: those of the file, and defaults, from the folder of the file, all others from the current
 * folder.
 */
function withAbsolutePaths({ config, origins, file }: LoadedConfig, { cwd, env }: CliDeps): Config {
  const absolute = (setting: string, value: string) => {
    const isOfFile = origins[setting] === 'file' || origins[setting] === 'default'
    return path.resolve(file !== null && isOfFile ? path.dirname(file) : cwd, value)
  }
  const { tlsCertFile, tlsKeyFile } = config.server
  const { keyFile } = config.encryption
  const credential = keyFile === undefined ? keyCredential(env) : absolute('encryption.keyFile', keyFile)
  return {
    ...config,
    dataDir: absolute('dataDir', config.dataDir),
    server: {
      ...config.server,
      ...(tlsCertFile === undefined ? {} : { tlsCertFile: absolute('server.tlsCertFile', tlsCertFile) }),
      ...(tlsKeyFile === undefined ? {} : { tlsKeyFile: absolute('server.tlsKeyFile', tlsKeyFile) }),
    },
    encryption: credential === undefined ? {} : { keyFile: credential },
    backup: {
      ...config.backup,
      ...(config.backup.dir === undefined ? {} : { dir: absolute('backup.dir', config.backup.dir) }),
    },
    hub: withAbsoluteHubFiles(config.hub, absolute),
    routing: {
      ...config.routing,
      maps: config.routing.maps.map((map) => absolute('routing.maps', map)),
    },
    ingest: {
      ...config.ingest,
      mqtt: {
        ...config.ingest.mqtt,
        brokers: config.ingest.mqtt.brokers.map((broker) =>
          withAbsoluteFiles(broker, (name) => absolute('ingest.mqtt.brokers', name)),
        ),
      },
    },
  }
}

/** Resolves the paths of the files that the settings of a hub name. */
function withAbsoluteHubFiles(
  hub: HubSettings,
  absolute: (setting: string, name: string) => string,
): HubSettings {
  const { passwordFile, tlsCaFile } = hub.database
  const { accessKeyFile, secretKeyFile, caFile } = hub.bytes
  const at = (section: string) => (name: string, key: string) => absolute(`hub.${section}.${key}`, name)
  return {
    ...hub,
    database: { ...hub.database, ...resolved({ passwordFile, tlsCaFile }, at('database')) },
    bytes: { ...hub.bytes, ...resolved({ accessKeyFile, secretKeyFile, caFile }, at('bytes')) },
  }
}

/** Resolves the paths of the files that a broker names. */
function withAbsoluteFiles(broker: BrokerSettings, absolute: (name: string) => string): BrokerSettings {
  const { passwordFile, caFile, certFile, keyFile } = broker
  return { ...broker, ...resolved({ passwordFile, caFile, certFile, keyFile }, absolute) }
}

/** Resolves those of some paths that are given. */
function resolved(
  files: Record<string, string | undefined>,
  absolute: (name: string, key: string) => string,
): Record<string, string> {
  const given = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(given.map(([key, name]) => [key, absolute(name, key)]))
}

/** Key file that systemd passes as the credential `secret.key`. @see systemd.exec(5), LoadCredential= */
function keyCredential({ CREDENTIALS_DIRECTORY }: CliDeps['env']): string | undefined {
  if (CREDENTIALS_DIRECTORY === undefined || CREDENTIALS_DIRECTORY === '') return undefined
  const file = path.join(CREDENTIALS_DIRECTORY, 'secret.key')
  return existsSync(file) ? file : undefined
}
