import { error, type Finding, ok, warning } from '../../../doctor/finding.js'
import { messageOf } from '../../../errors.js'
import { type BlobStore, digestOf } from '../../../files/blob-store.js'
import type { NamedBytes, NamedKind } from './named-kinds.js'

export interface CompareOptions {
  /** false: sizes are compared alone, which reads no bytes */
  readonly readsBytes: boolean
  /** wall clock, ms */
  nowMs(): number
  onProgress(what: string): void
}

/** Bytes that are compared side by side. */
const SIDE_BY_SIDE = 4
/** Findings of one check that are named; the rest is counted. */
const NAMED = 20
/** Age below which an object without a row may be on its way, ms. */
const YOUNG_MS = 3_600_000

/** Compares the objects of a folder with the rows that name them, and names those that no row names. */
export async function compareKind(kind: NamedKind, options: CompareOptions): Promise<Finding[]> {
  const { what, store, pages } = kind
  const faults: string[] = []
  const named = new Set<string>()
  let isWhole = false
  try {
    for await (const page of pages())
      for (let at = 0; at < page.length; at += SIDE_BY_SIDE) {
        const some = page.slice(at, at + SIDE_BY_SIDE)
        const found = await Promise.all(some.map((one) => faultOf(store, one, options.readsBytes)))
        faults.push(...found.filter((fault) => fault !== undefined))
        for (const { sha256 } of some) named.add(sha256)
        options.onProgress(`${what} ${named.size}`)
      }
    isWhole = true
  } catch (fault) {
    faults.push(messageOf(fault))
  }
  // which objects no row names is known only with all rows
  const unnamed = isWhole ? await findUnnamed(kind, named, options) : []
  return [...lackFindings(what, faults, { count: named.size, readsBytes: options.readsBytes }), ...unnamed]
}

function lackFindings(
  what: string,
  faults: readonly string[],
  { count, readsBytes }: { count: number; readsBytes: boolean },
): Finding[] {
  if (faults.length === 0) {
    const how = readsBytes ? ' with the right SHA-256' : ', as far as sizes tell'
    return [ok(`${count} of the kind "${what}" have their bytes${how}`)]
  }
  const advice =
    'put the bytes back from a version of the bucket or from the node that has them; see docs/hub.md'
  const more = faults.length > NAMED ? [error(`and ${faults.length - NAMED} more`, advice)] : []
  return [...faults.slice(0, NAMED).map((fault) => error(`${what} ${fault}`, advice)), ...more]
}

/** Returns what is wrong with the bytes of a row; undefined for nothing. */
export async function faultOf(
  store: Pick<BlobStore, 'open' | 'stat'>,
  { sha256, sizeBytes }: NamedBytes,
  readsBytes: boolean,
): Promise<string | undefined> {
  const found = await store.stat(sha256)
  if (found === undefined) return `${sha256}: found no bytes`
  if (sizeBytes !== undefined && found.sizeBytes !== sizeBytes)
    return `${sha256}: found ${found.sizeBytes} bytes, expected ${sizeBytes}`
  if (!readsBytes) return undefined
  try {
    const bytes = await store.open(sha256)
    if (bytes === undefined) return `${sha256}: found no bytes`
    const facts = await digestOf(bytes)
    return facts.sha256 === sha256 ? undefined : `${sha256}: found bytes of the SHA-256 ${facts.sha256}`
  } catch (fault) {
    return `${sha256}: ${messageOf(fault)}`
  }
}

async function findUnnamed(
  { folder, store, isReleased }: NamedKind,
  named: ReadonlySet<string>,
  { nowMs, onProgress }: CompareOptions,
): Promise<Finding[]> {
  const unnamed: string[] = []
  let count = 0
  for await (const { sha256, putAtMs } of store.listAged()) {
    onProgress(`${folder}/ ${++count}`)
    if (named.has(sha256) || putAtMs > nowMs() - YOUNG_MS || (await isReleased(sha256))) continue
    unnamed.push(sha256)
  }
  if (unnamed.length === 0) return []
  const advice =
    'nothing, if they are few: the hub removes them within days. Many are a sign that the database was set back, or is another one'
  const which = unnamed.slice(0, NAMED).map((sha256) => `${folder}/${sha256}`)
  const more = unnamed.length > NAMED ? `, and ${unnamed.length - NAMED} more` : ''
  return [warning(`no row names ${unnamed.length} objects: ${which.join(', ')}${more}`, advice)]
}
