import type { Config } from './schema.js'

/** Settings of parts that a hub does not have, by their first words, and what takes their place. */
const NOT_ON_HUB: readonly (readonly [prefix: string, why: string])[] = [
  ['dataproc', 'a hub runs no modules'],
  ['ingest', 'a hub reads no brokers and no devices; its gateways do'],
  ['backup', 'a hub is backed up by the means of PostgreSQL and of the object store, see docs/hub.md'],
  [
    'retention.minFreeBytes',
    'the disk of a hub is that of its database: give its tables a rule of age, number or size',
  ],
  [
    'retention.giveFirst',
    'the disk of a hub is that of its database: give its tables a rule of age, number or size',
  ],
  ['reads.walBytes', 'a hub has no write-ahead log of its own'],
]

/** Settings without which a hub cannot work. */
const NEEDED = [
  ['database', 'name'],
  ['database', 'user'],
  ['bytes', 'endpoint'],
  ['bytes', 'bucket'],
  ['bytes', 'accessKeyFile'],
  ['bytes', 'secretKeyFile'],
] as const

interface Fault {
  path: string
  message: string
}

/**
 * Faults of the role: settings of a hub without the role, those of a gateway with it, and missing ones.
 *
 * @param given dotted paths of all settings that were given, defaults left out
 */
export function hubFaults(config: Config, given: readonly string[]): Fault[] {
  if (config.role === 'gateway')
    return given
      .filter((path) => isBelow(path, 'hub'))
      .map((path) => ({ path, message: 'found the role gateway, expected hub in the setting role' }))
  const refused = given.flatMap((path) => {
    const why = NOT_ON_HUB.find(([prefix]) => isBelow(path, prefix))?.[1]
    return why === undefined ? [] : [{ path, message: `is no setting of the role hub: ${why}` }]
  })
  return [...refused, ...missingFaults(config)]
}

function missingFaults({ hub }: Config): Fault[] {
  const { hosts, password, passwordFile } = hub.database
  const sections: Record<string, Record<string, unknown>> = { database: hub.database, bytes: hub.bytes }
  const missing = NEEDED.filter(([section, key]) => sections[section]?.[key] === undefined)
  return [
    ...(hosts.length === 0
      ? [{ path: 'hub.database.hosts', message: 'found none, the role hub needs at least one' }]
      : []),
    ...missing.map(([section, key]) => ({
      path: `hub.${section}.${key}`,
      message: 'is missing, the role hub needs it',
    })),
    ...(password !== undefined && passwordFile !== undefined
      ? [{ path: 'hub.database.password', message: 'found beside passwordFile, expected one of the two' }]
      : []),
  ]
}

function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}.`)
}
