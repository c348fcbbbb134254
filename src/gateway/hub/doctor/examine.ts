import type { Config } from '../../../config/config.js'
import { type Check, error, type Finding, ok, warning, worst } from '../../../doctor/finding.js'
import { checkMaps } from '../../../doctor/maps.js'
import { messageOf } from '../../../errors.js'
import type { DataLayout } from '../../../files/layout.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import { requireMigrated } from '../../../storage/postgres/connection/migrate.js'
import { createUploadPieceRows } from '../../../storage/postgres/models/upload-pieces.js'
import { MIGRATIONS } from '../../../storage/postgres/schema/migrations.js'
import type { PostgresState } from '../../../storage/postgres/state.js'
import { type HubObjects, openHubDatabase, openHubObjects } from '../engines/connect.js'
import { requireOwnBucket } from '../engines/owner.js'
import { openHubState } from '../engines/state.js'
import { checkUploads } from './check-uploads.js'
import { type CompareOptions, compareKind } from './compare-kind.js'
import { namedKinds } from './named-kinds.js'

interface ExamineOptions extends CompareOptions {
  readonly config: Config
  readonly layout: DataLayout
}

/** Oldest PostgreSQL that a hub works with: 15.0 as its server tells it. */
const LEAST_VERSION = 150_000
/** Difference of clocks that is told, and one beyond which stores refuse signatures, ms. */
const CLOCK_WARNING_MS = 5000
const CLOCK_ERROR_MS = 600_000
/** Checks a hub and what its rows refer to. Only a probe object is written. */
export async function examineHub(options: ExamineOptions): Promise<Check[]> {
  const { config, layout, onProgress } = options
  const objects = openHubObjects(config, layout)
  const db = openHubDatabase(config)
  try {
    onProgress('database')
    const database = await checked('database', () => checkDatabase(db, config))
    onProgress('clock')
    const clock = await checked('clock', () => checkClock(db, options.nowMs))
    onProgress('objects')
    const bucket = await checked('objects', () => checkObjects(objects))
    const maps = await checked('maps', async () => checkMaps({ config, layout, onProgress }))
    return [database, clock, bucket, maps, ...(await checkRows(options, db, objects))]
  } finally {
    objects.close()
    await db.close()
  }
}

async function checkRows(options: ExamineOptions, db: PostgresDb, objects: HubObjects): Promise<Check[]> {
  const { config, layout } = options
  let state: PostgresState
  try {
    state = (await openHubState(db, config, layout)).state
  } catch (fault) {
    return [
      checkOf('hub', [error(messageOf(fault), 'run `fieldgate hub init`, or put the key file in its place')]),
    ]
  }
  const { readsBytes, nowMs, onProgress } = options
  const kinds = namedKinds({ db, state, objects })
  const checks = [
    await checked('hub', async () => {
      await requireOwnBucket(objects, state.meta)
      return [ok(`hub ${(await state.meta.nodeId()) ?? ''}; bucket and database belong together`)]
    }),
  ]
  for (const kind of kinds)
    checks.push(await checked(kind.check, () => compareKind(kind, { readsBytes, nowMs, onProgress })))
  const uploads = { pieces: objects.uploadPieces(), rows: createUploadPieceRows(db, state.clock) }
  checks.push(await checked('uploads', () => checkUploads({ ...uploads, readsBytes, onProgress })))
  return checks
}

/** Runs a check. What it throws is a finding. */
async function checked(name: string, work: () => Promise<Finding[]>): Promise<Check> {
  try {
    return checkOf(name, await work())
  } catch (fault) {
    return checkOf(name, [error(messageOf(fault), 'see docs/hub.md: what happens when an engine is away')])
  }
}

function checkOf(name: string, findings: Finding[]): Check {
  return { name, state: worst(findings.map(({ state }) => state)), findings }
}

async function checkDatabase(db: PostgresDb, { hub }: Config): Promise<Finding[]> {
  const text = `SELECT current_setting('server_version_num')::integer AS version,
    current_setting('synchronous_standby_names') AS standbys, current_setting('max_connections')::integer AS most`
  const row = await db.read.get<{ version: number; standbys: string; most: number }>(text)
  const { version = 0, standbys = '', most = 0 } = row ?? {}
  await db.write(async () => undefined) // commits, which waits for the standby
  await requireMigrated(db, MIGRATIONS)
  return [
    version < LEAST_VERSION
      ? error(`found PostgreSQL ${version / 10_000}, expected 15 or newer`, 'update the server')
      : ok(
          `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}, the schema is up to date, a commit was acknowledged`,
        ),
    ...standbyFindings(standbys, hub.requireSync, hub.database.hosts.length),
    ok(`${hub.database.connections} connections of each process, ${most} of the server`),
  ]
}

function standbyFindings(standbys: string, requiresSync: boolean, hosts: number): Finding[] {
  if (standbys !== '' && requiresSync) return [ok(`synchronous standby: ${standbys}`)]
  if (standbys !== '')
    return [
      warning(
        `synchronous standby: ${standbys}, but hub.requireSync is false`,
        'set hub.requireSync, so that nothing is acknowledged once the setting of the server is lost',
      ),
    ]
  const advice = 'set synchronous_standby_names of the server, see docs/hub.md'
  if (requiresSync)
    return [error('the server names no synchronous standby, hub.requireSync expects one', advice)]
  return hosts > 1
    ? [
        warning(
          'the server names no synchronous standby: what was acknowledged last is lost with the primary',
          advice,
        ),
      ]
    : [ok('one server without a standby: its backups are all there is')]
}

async function checkClock(db: PostgresDb, nowMs: () => number): Promise<Finding[]> {
  const beforeMs = nowMs()
  const row = await db.read.get<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  )
  const differenceMs = Math.round((row?.ms ?? 0) - (beforeMs + nowMs()) / 2)
  const text = `the clock of the database differs by ${differenceMs / 1000} s`
  const advice =
    'synchronise the clocks of all machines: sessions and keys end by them, and stores refuse requests of a wrong time'
  if (Math.abs(differenceMs) > CLOCK_ERROR_MS) return [error(text, advice)]
  return [Math.abs(differenceMs) > CLOCK_WARNING_MS ? warning(text, advice) : ok(text)]
}

async function checkObjects(objects: HubObjects): Promise<Finding[]> {
  await objects.store('models').check()
  return [ok(`the bucket ${objects.client.bucket} can be listed, read and written`)]
}
