import { z } from 'zod'
import { MAX_SIGNATURE_CHARS } from '../../update/statement.js'

/** Name of a profile. */
export const ProfileName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'expected 1 to 63 letters, digits or any of . _ -')
  .describe('name of a profile')

const TableName = z.string().min(1).max(200).describe('name of a table')
const Window = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/, 'expected HH:MM-HH:MM')
const Windows = z.array(Window).max(24)

/** Members of a feed that a profile may give: those of `sync.create_feed`. */
const feedShape = {
  table: TableName,
  conds: z.unknown().optional().describe('condition on rows, as of event data; absent for every row'),
  columns: z.array(z.string().min(1).max(63)).min(1).max(1000).optional().describe('absent for all columns'),
  priority: z.int().min(0).max(9).default(5).describe('feeds with a larger number go first'),
  max_bytes_per_second: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('0 for no limit'),
  windows: Windows.default([]).describe('local times in which it is sent; empty: always'),
}

const Up = z.strictObject({
  ...feedShape,
  from: z.enum(['now', 'all']).default('all').describe('now: rows put from then on; all: every row'),
})

const Down = z.strictObject(feedShape)

const StoreName = z.string().min(1).max(200)
const Store = z.strictObject({
  store: StoreName.describe('model store of the gateway; it is created where it is missing'),
  hub_store: StoreName.optional().describe('model store of the hub; the same name unless given'),
})

/** SHA-256 of a file of the hub. */
const FileDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'expected the SHA-256 of a file of the hub: 64 hex digits in lower case')

/** Name of a map or of a module. */
const InstalledName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'expected 1 to 63 letters, digits or any of . _ -')

/** Release of the program. */
const Release = z.strictObject({
  version: z
    .string()
    .max(100)
    .regex(/^\d+\.\d+\.\d+[0-9A-Za-z.+-]*$/, 'expected a version such as 1.2.0'),
  digest: FileDigest,
  signature: z.string().max(MAX_SIGNATURE_CHARS).describe('text of the .sig file of the release'),
})

/** Settings of a gateway that a profile may set. They replace those of its own settings while it is a member. */
const RemoteSettings = z.strictObject({
  'sync.maxBytesPerSecond': z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('rate of all that is sent to other nodes; 0 for no limit'),
  'sync.windows': Windows.optional().describe('local times in which anything is sent; empty: always'),
  'fleet.reportS': z.int().min(1).max(86_400).optional().describe('time between two reports, seconds'),
})

/** Way of a version to the gateways. */
const Stages = z.strictObject({
  canary_percent: z.int().min(1).max(100).default(100).describe('share of gateways that try a version first'),
  max_trouble: z
    .int()
    .min(0)
    .max(100_000)
    .default(0)
    .describe('gateways that may put it back or not be ready before it stops'),
  wait_s: z
    .int()
    .min(0)
    .max(2_592_000)
    .default(0)
    .describe('time for which the first gateways must have it before the others get it, seconds'),
})

/** Wishes of a hub for its gateways. */
export const Profile = z
  .strictObject({
    description: z.string().max(1000).default(''),
    up: z.array(Up).max(200).default([]).describe('tables that gateways send to the hub'),
    down: z.array(Down).max(200).default([]).describe('tables that gateways receive from the hub'),
    relay: z.boolean().default(false).describe('true: gateways pass on rows of other nodes'),
    model_stores: z
      .array(Store)
      .max(200)
      .default([])
      .describe('model stores whose models go to the hub, and whose aggregated models come from it'),
    maps: z
      .record(InstalledName, FileDigest)
      .optional()
      .describe('maps that gateways have: name → SHA-256 of the map file'),
    modules: z
      .record(InstalledName, FileDigest)
      .optional()
      .describe('modules that gateways have: name → SHA-256 of a tar archive'),
    releases: z
      .strictObject({ 'linux-x64': Release.optional(), 'linux-arm64': Release.optional() })
      .optional()
      .describe('signed releases of the program that gateways stage: target → release'),
    position_table: TableName.optional().describe(
      'table of the gateway whose last row tells its position, for reports',
    ),
    settings: RemoteSettings.default({}).describe('settings that are set from afar'),
    stages: Stages.prefault({}).describe('way of this version to the gateways'),
    ready_within_s: z
      .int()
      .min(1)
      .max(3600)
      .default(120)
      .describe('time after which a gateway that is not ready puts the former profile back, seconds'),
  })
  .check(onceEach('up', 'table'), onceEach('down', 'table'), onceEach('model_stores', 'store'))

export type Profile = z.output<typeof Profile>
export type ProfileUp = Profile['up'][number]
export type ProfileRelease = z.output<typeof Release>
export type RemoteSettings = Profile['settings']

type Lists = Record<string, readonly Record<string, unknown>[]>

/** Refuses a list that names one thing twice. */
function onceEach(list: string, name: string): z.core.CheckFn<unknown> {
  return (context) => {
    const items = (context.value as Lists)[list] ?? []
    items.forEach((item, at) => {
      const first = items.findIndex((other) => other[name] === item[name])
      if (first < at)
        context.issues.push({
          code: 'custom',
          input: item[name],
          path: [list, at, name],
          message: `expected a ${name} that $.${list}[${first}] does not name`,
        })
    })
  }
}

/** Profile of a gateway without one. */
export const EMPTY_PROFILE: Profile = {
  ...{ description: '', up: [], down: [], relay: false, model_stores: [], settings: {}, ready_within_s: 120 },
  stages: { canary_percent: 100, max_trouble: 0, wait_s: 0 },
}
