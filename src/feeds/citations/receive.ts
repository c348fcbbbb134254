import { type Caller, isAllowed } from '../../auth/caller.js'
import { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { isFault, type Stored } from '../../storage/columns/column-type.js'
import { sizeFault } from '../../storage/columns/value-size.js'
import {
  type CitationCopies,
  type CopyKey,
  citationDiffers,
  type OpenCopy,
} from '../../storage/exchange/citation-copies.js'
import type { FeedSenders } from '../../storage/exchange/feeds.js'
import { createPause } from '../../storage/work/pause.js'
import { linesOfBody } from '../batch/decode.js'
import { MAX_BATCH_ROWS, SHA256, UUID } from '../batch/format.js'
import { badBatch, readHeaderLine, readLine } from '../batch/lines.js'
import { requireNode } from '../receive/rights.js'
import { type CheckedOffer, CITATION_VERSION, type CitationHeader, type CitationProgress } from './format.js'
import { fromCarried } from './values.js'

/** Receives citations of other nodes. */
export interface CitationReceiver {
  /**
   * Takes an offer.
   *
   * @param node UUID of the sender
   * @throws AppError CITATION_DIFFERS, FORBIDDEN, LOOP, DISK_FULL
   */
  offer(caller: Caller, node: string, offer: CheckedOffer): Promise<CitationProgress>
  /**
   * Takes rows; what it answers is on disk. With the last row the citation can be read.
   *
   * @param checksum of the path
   * @throws AppError BAD_BATCH, BAD_RECORD, UNKNOWN_FEED, CURSOR_MISMATCH, CITATION_DIFFERS, FORBIDDEN, LOOP,
   *   DISK_FULL, BUSY
   */
  take(caller: Caller, checksum: string, body: Uint8Array): Promise<CitationProgress>
}

interface ReceiverDeps {
  readonly copies: CitationCopies
  readonly senders: FeedSenders
  /** UUID of this node */
  readonly nodeId: string
  /** `limits.valueBytes` */
  readonly valueBytes: number
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  /** Returns a fresh UUID. */
  newId(): string
  /** µs UTC */
  nowUs(): number
}

/** Offers that are kept; rows of one that was put out are offered again. */
const MAX_OFFERS = 100
/** Longest stretch of work between two turns of the event loop, ms. */
const SLICE_MS = 5

/** Creates the receiver of a gateway. Offers whose rows are arriving are kept in memory: they are made again. */
export function createCitationReceiver(deps: ReceiverDeps): CitationReceiver {
  const { copies, nodeId } = deps
  const offers = new Map<string, CheckedOffer>()
  const progress = async (offer: CheckedOffer, rows: number): Promise<CitationProgress> => {
    if (rows < offer.rowCount) return { rows, complete: false }
    await finish(deps, offer)
    offers.delete(offer.longForm)
    return { rows, complete: true }
  }
  return {
    async offer(caller, node, offer) {
      await requireNode(deps, caller, node)
      requireRelay(caller, node, offer.origin)
      await deps.requireSpace(0)
      await deps.senders.bind(caller.keyId, node)
      if (offer.origin === nodeId) return { rows: offer.rowCount, complete: true } // it was made here
      const { rows, isComplete } = await copies.open(offer, deps.newId(), deps.nowUs())
      if (isComplete) return { rows, complete: true }
      const [oldest] = offers.keys()
      if (offers.size >= MAX_OFFERS && oldest !== undefined) offers.delete(oldest)
      offers.set(offer.longForm, offer)
      return await progress(offer, rows)
    },
    async take(caller, checksum, body) {
      await deps.requireSpace(body.byteLength)
      const { header, rows } = await decodeRows(body)
      if (header.checksum !== checksum)
        throw badBatch(
          `checksum: found ${header.checksum}, expected ${checksum.slice(0, 100)}, as the path has it`,
        )
      await requireNode(deps, caller, header.node)
      requireRelay(caller, header.node, header.origin)
      const key: CopyKey = { origin: header.origin, longForm: header.long_form }
      const copy = await copies.find(key)
      const offer = offers.get(key.longForm)
      if (copy === undefined || offer?.checksum !== checksum || offer.origin !== key.origin)
        throw notOffered(key)
      if (copy.rows + rows.length > offer.rowCount)
        throw badBatch(`rows: found ${copy.rows + rows.length}, expected at most ${offer.rowCount}`)
      const stored = await readRows(copy, rows, deps.valueBytes)
      return await progress(offer, await copies.append(key, header.after, stored, caller.keyId))
    },
  }
}

/** Compares the checksum of the rows and makes the citation. @throws AppError CITATION_DIFFERS */
async function finish({ copies }: ReceiverDeps, offer: CheckedOffer): Promise<void> {
  const pass = await copies.openSums(offer)
  if (pass === undefined) throw notOffered(offer)
  for (;;) {
    const sums = await pass.step(SLICE_MS)
    if (sums === undefined) {
      await new Promise((resolve) => setImmediate(resolve))
      continue
    }
    if (sums.checksum === offer.checksum) return await copies.finish(offer, sums)
    await copies.abandon(offer)
    const reason = `arrived with rows of the SHA-256 ${sums.checksum}, expected ${offer.checksum}`
    throw citationDiffers(offer.longForm, reason)
  }
}

/** @throws AppError FORBIDDEN when the key may not send citations of other nodes */
function requireRelay(caller: Caller, node: string, origin: string): void {
  if (origin === node || isAllowed(caller.scopes, 'sync:relay')) return
  const message = `The key lacks the scope sync:relay, found a citation of the node ${origin}, expected one of ${node}`
  throw new AppError('FORBIDDEN', { scope: 'sync:relay', origin }, { message })
}

/** @throws AppError BAD_BATCH */
async function decodeRows(
  body: Uint8Array,
): Promise<{ header: CitationHeader; rows: readonly (readonly unknown[])[] }> {
  const [head = '', ...lines] = await linesOfBody(body)
  const header = readHeader(head)
  if (lines.length !== header.rows) throw badBatch(`found ${lines.length} rows, expected ${header.rows}`)
  const pause = createPause(undefined, SLICE_MS)
  const rows: (readonly unknown[])[] = []
  for (const [at, line] of lines.entries()) {
    rows.push(readLine(line, at + 2, 'values'))
    await pause()
  }
  return { header, rows }
}

function readHeader(line: string): CitationHeader {
  const header = readHeaderLine(line)
  const isText = (name: string, form: RegExp) => {
    const value = header[name]
    return typeof value === 'string' && form.test(value)
  }
  const isCount = (name: string) => Number.isSafeInteger(header[name]) && Number(header[name]) >= 0
  const expected: readonly (readonly [name: string, isFine: boolean, expected: string])[] = [
    ['fieldgate_citation', header.fieldgate_citation === CITATION_VERSION, `${CITATION_VERSION}`],
    ['node', isText('node', UUID), 'a UUID'],
    ['origin', isText('origin', UUID), 'a UUID'],
    ['long_form', isText('long_form', /^.{1,300}$/su), 'a text of 1 to 300 characters'],
    ['checksum', isText('checksum', SHA256), 'a SHA-256 in hex'],
    ['after', isCount('after'), 'a whole number, 0 or more'],
    ['rows', isCount('rows') && Number(header.rows) <= MAX_BATCH_ROWS, `0 to ${MAX_BATCH_ROWS}`],
  ]
  const wrong = expected.find(([, isFine]) => !isFine)
  if (wrong !== undefined)
    throw badBatch(`${wrong[0]}: found ${describeFound(header[wrong[0]])}, expected ${wrong[2]}`)
  return header as unknown as CitationHeader // the checks above have narrowed the members
}

/** @throws AppError BAD_RECORD */
async function readRows(
  { columns, rows: before }: OpenCopy,
  rows: readonly (readonly unknown[])[],
  maxBytes: number,
): Promise<Stored[][]> {
  const pause = createPause(undefined, SLICE_MS)
  const stored: Stored[][] = []
  for (const [at, row] of rows.entries()) {
    const badRow = (column: string | null, reason: string) => {
      const index = before + at
      const message = `row ${index}${column === null ? '' : `, ${column}`}: ${reason}`
      return new AppError('BAD_RECORD', { index, column, reason }, { message })
    }
    if (row.length !== columns.length)
      throw badRow(null, `found ${row.length} values, expected ${columns.length}`)
    const values = columns.map((column, slot): Stored => {
      const value = fromCarried(column, row[slot])
      if (isFault(value)) throw badRow(column.name, `found ${value.found}, expected ${value.expected}`)
      return value
    })
    const oversize = sizeFault(values, (slot) => columns[slot]?.name ?? '', maxBytes)
    if (oversize !== undefined) throw badRow(oversize.column, oversize.reason)
    stored.push(values)
    await pause()
  }
  return stored
}

function notOffered({ longForm }: CopyKey): AppError {
  const message = `The citation ${longForm} was not offered as these rows have it; offer it first`
  return new AppError('UNKNOWN_FEED', { long_form: longForm }, { message })
}
