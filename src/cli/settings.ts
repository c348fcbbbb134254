import { existsSync } from 'node:fs'
import path from 'node:path'
import { type Config, type ConfigFault, type LoadedConfig, loadConfig, type Settings } from '../config.js'
import { layoutOf } from '../files/layout.js'
import { offerNativeDir } from '../storage/sqlite/connection/native.js'
import type { CliDeps, GlobalOptions } from './io.js'

/** Where settings are read from when no file is named. */
export const DEFAULT_FILE = 'edge.config.json'

/** The settings that a verb works with; every path in them is absolute. */
export interface RunSettings extends LoadedConfig {
  dataDir: string
}

/**
 * Puts the settings of a verb together. The file is `--config`, else `FIELDGATE_CONFIG`, else `edge.config.json` of the
 * current folder when there is one.
 *
 * @param flags settings that the verb's own flags give
 * @throws Error in one line with every fault
 */
export function readSettings(globals: GlobalOptions, deps: CliDeps, flags: Settings = {}): RunSettings {
  const settings = findSettings(globals, deps, flags)
  if (!('faults' in settings)) return settings
  const list = settings.faults.map((fault) => `${fault.path}: ${fault.message}`).join('; ')
  throw new Error(`the settings have ${settings.faults.length} fault(s): ${list}`)
}

/** The same, the faults as a list. */
export function findSettings(
  globals: GlobalOptions,
  deps: CliDeps,
  flags: Settings = {},
): RunSettings | { faults: ConfigFault[]; file: string | null } {
  const file = configFile(globals, deps)
  const dataDir = globals.dataDir === undefined ? {} : { dataDir: globals.dataDir }
  const loaded = loadConfig(file, deps.env, { ...flags, ...dataDir })
  if ('faults' in loaded) return { ...loaded, file }
  const config = withAbsolutePaths(loaded, deps.cwd)
  offerNativeDir(layoutOf(config.dataDir).nativeDir)
  return { ...loaded, config, dataDir: config.dataDir }
}

function configFile(globals: GlobalOptions, deps: CliDeps): string | null {
  const named = globals.config ?? (deps.env.FIELDGATE_CONFIG || undefined) // set to nothing is not set
  if (named !== undefined) return path.resolve(deps.cwd, named)
  const usual = path.join(deps.cwd, DEFAULT_FILE)
  return existsSync(usual) ? usual : null
}

/** A path in the file (or a default beside it) is meant from the file's folder, any other from the current one. */
function withAbsolutePaths({ config, origins, file }: LoadedConfig, cwd: string): Config {
  const absolute = (setting: string, value: string) => {
    const isOfFile = origins[setting] === 'file' || origins[setting] === 'default'
    return path.resolve(file !== null && isOfFile ? path.dirname(file) : cwd, value)
  }
  const { tlsCertFile, tlsKeyFile } = config.server
  return {
    ...config,
    dataDir: absolute('dataDir', config.dataDir),
    server: {
      ...config.server,
      ...(tlsCertFile === undefined ? {} : { tlsCertFile: absolute('server.tlsCertFile', tlsCertFile) }),
      ...(tlsKeyFile === undefined ? {} : { tlsKeyFile: absolute('server.tlsKeyFile', tlsKeyFile) }),
    },
    backup: {
      ...config.backup,
      ...(config.backup.dir === undefined ? {} : { dir: absolute('backup.dir', config.backup.dir) }),
    },
    routing: {
      ...config.routing,
      maps: config.routing.maps.map((map) => absolute('routing.maps', map)),
    },
  }
}
