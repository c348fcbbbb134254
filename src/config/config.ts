import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { messageOf } from '../errors.js'
import { checkValue, describeFound, type SchemaFault } from '../messages/fault-text.js'
import { hubFaults } from './hub-faults.js'
import { linesOf, type Places, placeOf } from './places.js'
import { type Config, makeConfigSchema } from './schema.js'

export type { Config } from './schema.js'

/** Origin of a setting's value. */
export type Origin = 'default' | 'file' | 'environment' | 'flag'

export interface LoadedConfig {
  config: Config
  /** dotted path → origin, for every setting that has a value */
  origins: Record<string, Origin>
  /** file that was read; null for none */
  file: string | null
}

export interface ConfigFault {
  /** dotted, for instance `server.port` */
  path: string
  message: string
}

/** Settings nested as in the file. A setting that was not given is absent or undefined. */
export type Settings = { [key: string]: Settings | unknown }

const ENV_PREFIX = 'FIELDGATE_'
/** Environment variables that are not settings; other parts of the program read them. */
const ENV_RESERVED = new Set([
  'FIELDGATE_SQLITE_ADDON',
  'FIELDGATE_NATIVE_DIR',
  'FIELDGATE_CONFIG',
  'FIELDGATE_JOIN',
])

/**
 * Loads the settings: defaults, overridden by the file, the environment and flags, in this order.
 *
 * @param file path of `edge.config.json`, null for none
 * @param env `FIELDGATE_SERVER__PORT=8080` sets `server.port`; names are matched without regard to case
 * @returns the configuration, or all faults
 */
export function loadConfig(
  file: string | null,
  env: Record<string, string | undefined> = {},
  flags: Settings = {},
): LoadedConfig | { faults: ConfigFault[] } {
  const read = file === null ? { settings: {}, text: '' } : readSettings(file)
  if ('fault' in read) return { faults: [read.fault] }
  const fromFile = read.settings
  const fromEnv = settingsOfEnv(env)
  const merged = merge(merge(fromFile, fromEnv.settings), flags)
  const checked = checkValue(makeConfigSchema(), merged, { isOnce: true })
  const schemaFaults =
    'data' in checked
      ? [...crossFaults(checked.data), ...hubFaults(checked.data, leafPaths(merged))]
      : checked.faults.flatMap(faultsOf)
  if (!('data' in checked) || fromEnv.faults.length + schemaFaults.length > 0) {
    const places: Places = {
      flags: leafPaths(flags).filter((path) => has(flags, path)),
      variables: fromEnv.variables,
      file,
      lines: linesOf(read.text),
    }
    return { faults: [...fromEnv.faults, ...schemaFaults.map((fault) => withPlace(fault, places))] }
  }
  const origins: Record<string, Origin> = {}
  for (const path of leafPaths(checked.data)) {
    origins[path] = has(flags, path)
      ? 'flag'
      : has(fromEnv.settings, path)
        ? 'environment'
        : has(fromFile, path)
          ? 'file'
          : 'default'
  }
  return { config: checked.data, origins, file }
}

/** Makes the JSON Schema of `edge.config.json`. */
export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(makeConfigSchema(), { io: 'input', target: 'draft-7' }) as Record<string, unknown>
}

/** Lists the settings with description, type and default, in the order of the schema. */
export function describeSettings(): { path: string; type: string; default: unknown; description: string }[] {
  const rows: { path: string; type: string; default: unknown; description: string }[] = []
  const walk = (schema: JsonSchema, path: string) => {
    for (const [key, child] of Object.entries(schema.properties ?? {})) {
      const childPath = path === '' ? key : `${path}.${key}`
      if (child.properties !== undefined) walk(child, childPath)
      else
        rows.push({
          path: childPath,
          type: typeOf(child),
          default: child.default,
          description: child.description ?? '',
        })
    }
  }
  walk(configJsonSchema() as JsonSchema, '')
  return rows
}

interface JsonSchema {
  type?: string
  properties?: Record<string, JsonSchema>
  default?: unknown
  description?: string
  enum?: string[]
}

function typeOf(schema: JsonSchema): string {
  return schema.enum?.join(' | ') ?? schema.type ?? 'any'
}

/** Words for common errors of reading the file. */
const READ_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a directory, expected a settings file',
}

function readSettings(file: string): { settings: Settings; text: string } | { fault: ConfigFault } {
  const faulty = (message: string) => ({ fault: { path: file, message } })
  let text: string
  try {
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return faulty(READ_FAULTS[code] ?? `cannot be read: ${messageOf(error)}`)
  }
  if (text.trim() === '') return faulty('is empty, expected a JSON object; {} uses all defaults')
  try {
    const value: unknown = JSON.parse(text)
    if (isSettings(value)) return { settings: value, text }
    return faulty(`found ${describeFound(value)}, expected a JSON object`)
  } catch (error) {
    return faulty(`is not JSON: ${messageOf(error)}`)
  }
}

function settingsOfEnv(env: Record<string, string | undefined>): {
  settings: Settings
  faults: ConfigFault[]
  /** dotted path → variable */
  variables: Map<string, string>
} {
  const variables = new Map<string, string>()
  const names = Object.keys(env).filter((name) => name.startsWith(ENV_PREFIX) && !ENV_RESERVED.has(name))
  if (names.length === 0) return { settings: {}, faults: [], variables } // listing the settings takes 10 ms
  const known = new Map(describeSettings().map((row) => [row.path.toLowerCase(), row]))
  const settings: Settings = {}
  const faults: ConfigFault[] = []
  for (const name of names) {
    const text = env[name]
    if (text === undefined) continue
    const row = known.get(
      name.slice(ENV_PREFIX.length).replaceAll('__', '.').toLowerCase().replaceAll('_', ''),
    )
    if (row === undefined)
      faults.push({ path: name, message: 'is not a setting; `fieldgate config print` lists them' })
    else {
      const value = valueOfEnv(text, row.type)
      assign(settings, row.path.split('.'), value)
      // what an object gives is merged with the file, key by key
      for (const leaf of isSettings(value) ? leafPaths(value, row.path) : [row.path])
        variables.set(leaf, name)
    }
  }
  return { settings, faults, variables }
}

/**
 * Reads a variable: as text for a text setting, else as JSON. Text that is not JSON is refused by the schema.
 */
function valueOfEnv(text: string, type: string): unknown {
  if (type === 'string' || type.includes('|')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text // the schema refuses it, with the setting and the expected value
  }
}

function assign(settings: Settings, path: string[], value: unknown): void {
  const [key, ...rest] = path
  if (key === undefined) return
  if (rest.length === 0) {
    settings[key] = value
    return
  }
  const inner = isSettings(settings[key]) ? settings[key] : {}
  settings[key] = inner
  assign(inner, rest, value)
}

function merge(base: Settings, over: Settings): Settings {
  const merged: Settings = { ...base }
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue
    const below = merged[key]
    merged[key] = isSettings(value) && isSettings(below) ? merge(below, value) : value
  }
  return merged
}

/** Faults of settings that depend on each other. */
function crossFaults(config: Config): ConfigFault[] {
  return [...tlsFaults(config), ...signatureFaults(config)]
}

/** Without a key every model would be refused. */
function signatureFaults({ modelStore }: Config): ConfigFault[] {
  const { requireSignature, signedStores, signedKinds, trustedKeys } = modelStore
  const isDemanded = requireSignature || signedStores.length + signedKinds.length > 0
  if (!isDemanded || trustedKeys.length > 0) return []
  const message = 'expected at least one key, because models need a signature'
  return [{ path: 'modelStore.trustedKeys', message }]
}

function tlsFaults({ server }: Config): ConfigFault[] {
  if ((server.tlsCertFile === undefined) === (server.tlsKeyFile === undefined)) return []
  return [{ path: 'server.tlsCertFile', message: 'expected both tlsCertFile and tlsKeyFile, or neither' }]
}

function faultsOf({ path, message, keys }: SchemaFault): ConfigFault[] {
  const at = path.join('.')
  if (keys === undefined) return [{ path: at === '' ? '(whole file)' : at, message }]
  const expected = message.slice(message.lastIndexOf('expected only'))
  return keys.map((key) => ({
    path: at === '' ? key : `${at}.${key}`,
    message: `is not a setting, ${expected}`,
  }))
}

function withPlace(fault: ConfigFault, places: Places): ConfigFault {
  const place = placeOf(fault.path, places)
  return place === undefined ? fault : { ...fault, message: `${fault.message} (${place})` }
}

function leafPaths(value: Settings, path = ''): string[] {
  return Object.entries(value).flatMap(([key, child]) => {
    const childPath = path === '' ? key : `${path}.${key}`
    return isSettings(child) && Object.keys(child).length > 0 ? leafPaths(child, childPath) : [childPath]
  })
}

function has(settings: Settings, path: string): boolean {
  return valueAt(settings, path) !== undefined
}

function valueAt(settings: Settings, path: string): unknown {
  let at: unknown = settings
  for (const key of path.split('.')) {
    const isInList = Array.isArray(at) && /^\d+$/.test(key)
    at = isInList ? (at as unknown[])[Number(key)] : isSettings(at) ? at[key] : undefined
  }
  return at
}

function isSettings(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
