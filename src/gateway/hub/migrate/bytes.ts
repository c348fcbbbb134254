import { existsSync } from 'node:fs'
import { type BlobStore, createBlobStore } from '../../../files/blob-store.js'
import type { DataLayout } from '../../../files/layout.js'
import type { S3Store } from '../../../files/s3/store.js'
import type { MovedBytes, MovedKind, MoveSource } from '../../../storage/move.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import type { MoveWork } from '../../../storage/postgres/move/hub.js'
import { noteProgress, progressOf } from '../../../storage/postgres/move/progress.js'
import type { HubObjects } from '../engines/connect.js'

export const KINDS: readonly MovedKind[] = ['models', 'files', 'fleet']
/** Objects that are sent at a time; progress is noted after them. */
const AT_ONCE = 16

/** Bytes of a data directory; undefined where it has none of a kind. */
export function openBytes(layout: DataLayout, kind: MovedKind): BlobStore | undefined {
  const dir = { models: layout.modelsDir, files: layout.filesDir, fleet: layout.fleetFilesDir }[kind]
  return existsSync(dir) ? createBlobStore({ dir, tempDir: layout.tempDir }) : undefined
}

/** Names bytes that are missing there, or of another size, unless their row says so. */
export async function missingBytes(source: MoveSource, layout: DataLayout): Promise<string[]> {
  const faults: string[] = []
  for (const kind of KINDS) {
    const store = openBytes(layout, kind)
    for (const { sha256, sizeBytes, mayLack } of await source.bytes(kind)) {
      const found = (await store?.stat(sha256))?.sizeBytes
      if (mayLack || (found !== undefined && (sizeBytes === undefined || sizeBytes === found))) continue
      faults.push(`${kind}: found ${found ?? 'no'} bytes of ${sha256}, expected ${sizeBytes ?? 'them'}`)
    }
  }
  return faults
}

/** Copies all bytes, in the order of their digests. */
export async function moveBytes(
  { db, objects }: { db: PostgresDb; objects: HubObjects },
  source: MoveSource,
  layout: DataLayout,
  work: MoveWork,
): Promise<void> {
  for (const kind of KINDS) {
    const from = openBytes(layout, kind)
    const to = objects.store(kind)
    const [done = ''] = ((await progressOf(db.read, `bytes of ${kind}`)) ?? []).map(String)
    const left = (await source.bytes(kind)).filter(({ sha256 }) => sha256 > done)
    for (let at = 0; from !== undefined && at < left.length; at += AT_ONCE) {
      work.throwIfStopped()
      const some = left.slice(at, at + AT_ONCE)
      const copied = await Promise.allSettled(some.map((bytes) => copyObject(from, to, bytes)))
      for (const one of copied) if (one.status === 'rejected') throw one.reason
      const last = some.at(-1)?.sha256 ?? done
      await db.write((rows) => noteProgress(rows, `bytes of ${kind}`, [last]))
      work.onRows(some.length)
    }
  }
}

/** Copies one object. @throws Error for bytes that are not those of their digest */
export async function copyObject(
  from: BlobStore,
  to: S3Store,
  { sha256, mayLack }: MovedBytes,
): Promise<void> {
  const bytes = await from.open(sha256)
  if (bytes === undefined) {
    if (mayLack) return
    throw new Error(`found no bytes of ${sha256}, which were there at the beginning`)
  }
  const staged = await to.stage(bytes)
  if (staged.sha256 === sha256) return await staged.keep()
  await staged.drop()
  if (mayLack) return
  throw new Error(
    `the bytes of ${sha256} are damaged, they have the digest ${staged.sha256}: \`fieldgate doctor\` names what they belong to`,
  )
}

/** Reads all objects and compares them with their digests. @returns what differs */
export async function compareBytes(
  objects: HubObjects,
  source: MoveSource,
  layout: DataLayout,
  work: MoveWork,
): Promise<string[]> {
  const faults: string[] = []
  for (const kind of KINDS) {
    const from = openBytes(layout, kind)
    const to = objects.store(kind)
    const all = await source.bytes(kind)
    for (let at = 0; at < all.length; at += AT_ONCE) {
      work.throwIfStopped()
      const some = all.slice(at, at + AT_ONCE)
      const found = await Promise.all(some.map((bytes) => compare(from, to, bytes)))
      faults.push(...found.flat().map((fault) => `${kind}: ${fault}`))
      work.onRows(some.length)
    }
  }
  return faults
}

async function compare(
  from: BlobStore | undefined,
  to: S3Store,
  { sha256, mayLack, sizeBytes }: MovedBytes,
): Promise<string[]> {
  if (mayLack) return []
  const expected = sizeBytes ?? (await from?.stat(sha256))?.sizeBytes
  let found = 0
  try {
    const bytes = await to.open(sha256)
    if (bytes === undefined) return [`found no object of ${sha256}`]
    for await (const chunk of bytes) found += chunk.byteLength // a whole object is compared with its digest
  } catch (error) {
    return [`${sha256}: ${error instanceof Error ? error.message : String(error)}`]
  }
  return found === expected ? [] : [`found ${found} bytes of ${sha256}, expected ${expected}`]
}
