import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Config } from '../../../config/config.js'
import { type DataLayout, layoutOf, makeDirectories, RESTORE_PART } from '../../../files/layout.js'
import { copyKeyFile, createKeyring, readKeyFile } from '../../../storage/keyring.js'
import type { MoveSource } from '../../../storage/move.js'
import { createMetaStore } from '../../../storage/postgres/access/meta.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import { migrate } from '../../../storage/postgres/connection/migrate.js'
import {
  beginMove,
  compareRows,
  countRows,
  endMove,
  findTarget,
  type MoveTarget,
  type MoveWork,
  moveRows,
} from '../../../storage/postgres/move/hub.js'
import { MIGRATIONS } from '../../../storage/postgres/schema/migrations.js'
import { createDirectoryLocks } from '../../../storage/sqlite/maintenance/directory-locks.js'
import { openMoveSource } from '../../../storage/sqlite/move/source.js'
import { type HubObjects, openHubDatabase, openHubObjects } from '../engines/connect.js'
import { bucketOwner, claimBucket, claimedBucket, requireOwner } from '../engines/owner.js'
import { compareArchive, moveArchive } from './archive.js'
import { compareBytes, KINDS, missingBytes, moveBytes } from './bytes.js'

export interface MoveOptions {
  readonly config: Config
  /** data directory of this process, with the key file of the hub */
  readonly layout: DataLayout
  /** data directory that moves */
  readonly from: string
  /** key file of that; absent for the one in it */
  readonly fromKeyFile: string | undefined
  /** what a hub cannot take stays behind */
  readonly leavesBehind: boolean
  /** compares alone */
  readonly verifiesOnly: boolean
  readonly signal: AbortSignal
  onProgress(fraction: number, what: string, count: number): void
}

/** Result of a move. */
export interface Moved {
  readonly nodeId: string
  readonly rows: number
  readonly objects: number
  readonly citations: number
  /** what stayed behind */
  readonly behind: readonly string[]
  /** false where only the comparison was asked for, or an earlier call had moved all */
  readonly hasMoved: boolean
}

/**
 * Moves a data directory to the database and the bucket of a hub, and compares both. It may be cut off at any time and
 * called again. The directory is only read.
 *
 * @throws Error in one line for what cannot be moved, before anything is written, and for what differs at the end
 */
export async function moveToHub(options: MoveOptions): Promise<Moved> {
  const from = layoutOf(options.from, options.fromKeyFile)
  const unlock = await lockSource(from)
  try {
    const source = openMoveSource(from)
    try {
      return await moveFrom(source, from, options)
    } finally {
      source.close()
    }
  } finally {
    await unlock()
  }
}

/** @throws Error in one line while a gateway serves the directory, or for one that is none */
async function lockSource({ root, stateDb }: DataLayout): Promise<() => Promise<void>> {
  if (!existsSync(stateDb)) throw new Error(`${root} is no data directory of a gateway: it has no state.db`)
  if (existsSync(path.join(root, RESTORE_PART)))
    throw new Error(`a restore into ${root} was cut off: run \`fieldgate restore\` with it again first`)
  const locked = await createDirectoryLocks().lock(root)
  if ('lock' in locked) return () => locked.lock.release()
  if (locked.fault === 'unwritable') return async () => undefined // nothing can serve it either
  throw new Error(`a gateway serves ${root}: stop it first`, { cause: locked.cause })
}

async function moveFrom(source: MoveSource, from: DataLayout, options: MoveOptions): Promise<Moved> {
  const { config, layout } = options
  const behind = await source.behind()
  const { nodeId, fingerprint } = await requireMovable(source, from, behind, options)
  const objects = openHubObjects(config, layout)
  const db = openHubDatabase(config)
  try {
    const target = await findTarget(db)
    requireTarget(target, nodeId)
    const rows = await countRows(source)
    let count = 0
    for (const kind of KINDS) count += (await source.bytes(kind)).length
    const work = workOf(options, rows + count)
    const hasMoved = !options.verifiesOnly && target?.move?.isDone !== true
    if (hasMoved) {
      await prepareTarget({ db, objects }, { target, nodeId, fingerprint, from, layout })
      await moveBytes({ db, objects }, source, from, work('moves bytes'))
      await moveRows(db, source, work('moves rows'))
      await moveArchive({ db, objects }, from, layout, work('moves datasets and citations'))
    } else if (target?.move === undefined)
      throw new Error(
        `the database holds nothing of ${from.root} yet: run \`fieldgate hub migrate\` without --verify`,
      )
    const compared = work('compares')
    const archive = await compareArchive({ db, objects }, from, compared)
    const faults = [
      ...archive.faults,
      ...(await compareRows(db, source, compared)),
      ...(await compareBytes(objects, source, from, compared)),
    ]
    if (faults.length > 0) throw new Error(`${faults.length} parts differ: ${faults.slice(0, 10).join('; ')}`)
    if (hasMoved) await endMove(db, nodeId)
    return { nodeId, rows, objects: count, citations: archive.citations, behind, hasMoved }
  } finally {
    objects.close()
    await db.close()
  }
}

/** @throws Error that names all that cannot be moved */
async function requireMovable(
  source: MoveSource,
  from: DataLayout,
  behind: readonly string[],
  { layout, leavesBehind, verifiesOnly }: MoveOptions,
): Promise<{ nodeId: string; fingerprint: string }> {
  if (source.nodeId === undefined) throw new Error(`${from.root} was never served: there is nothing to move`)
  const key = readKeyFile(from.keyFile)
  if (key === undefined)
    throw new Error(`the key file ${from.keyFile} is missing: name its place with --from-key-file`)
  const { fingerprint } = createKeyring(key)
  if (source.keyFingerprint !== undefined && source.keyFingerprint !== fingerprint)
    throw new Error(`the key file ${from.keyFile} holds another key than that of ${from.root}`)
  const own = readKeyFile(layout.keyFile)
  if (own !== undefined && createKeyring(own).fingerprint !== fingerprint)
    throw new Error(
      `the key file ${layout.keyFile} holds another key than ${from.keyFile}: a hub goes on with the key of what it was made of, so move the other one away`,
    )
  const faults = [...(await source.faults()), ...(await missingBytes(source, from))]
  if (faults.length > 0)
    throw new Error(
      `${faults.length} parts cannot be moved, nothing was written: ${faults.slice(0, 20).join('; ')}`,
    )
  if (behind.length > 0 && !leavesBehind && !verifiesOnly)
    throw new Error(
      `a hub has no place for: ${behind.join('; ')}. Nothing was written; with --leave-behind the rest moves`,
    )
  return { nodeId: source.nodeId, fingerprint }
}

/** @throws Error in one line for a database with other data */
function requireTarget(target: MoveTarget | undefined, nodeId: string): void {
  if (target === undefined || (target.nodeId === undefined && target.move === undefined)) return
  if (target.move?.node === nodeId) return
  throw new Error(
    `the database holds a hub already (${target.nodeId}), expected an empty schema or the move of ${nodeId}: choose another hub.database.schema`,
  )
}

interface Preparing {
  readonly target: MoveTarget | undefined
  readonly nodeId: string
  readonly fingerprint: string
  readonly from: DataLayout
  readonly layout: DataLayout
}

/** Makes schema, key file and bucket ready. Each step is skipped where it was done before. */
async function prepareTarget(
  { db, objects }: { db: PostgresDb; objects: HubObjects },
  { target, nodeId, fingerprint, from, layout }: Preparing,
): Promise<void> {
  const meta = createMetaStore(db)
  const owner = await bucketOwner(objects)
  const noted = target === undefined ? undefined : await claimedBucket(meta)
  // before the claim was noted, a bucket of the same node is this one's
  requireOwner(objects, { owner, nodeId, noted })
  await objects.store('models').check()
  await migrate(db, MIGRATIONS, () => Date.now() * 1000)
  makeDirectories(layout)
  copyKeyFile(from.keyFile, layout.keyFile)
  await beginMove(db, nodeId, fingerprint)
  await claimBucket(objects, meta, nodeId)
}

/** Counts what is done in each of the three parts of a move. */
function workOf({ signal, onProgress }: MoveOptions, total: number): (what: string) => MoveWork {
  return (what) => {
    let done = 0
    return {
      onRows(count) {
        done += count
        onProgress(Math.min(1, done / Math.max(1, total)), `${what}: ${done} of ${total}`, done)
      },
      throwIfStopped() {
        if (signal.aborted) throw new Error('stopped: run it again, it goes on where it was')
      },
    }
  }
}
