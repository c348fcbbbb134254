import { z } from 'zod'
import { AppError, type ErrorName } from '../../errors.js'
import { withDoubles } from '../../json/exact-json.js'
import type { FeedStart } from '../../storage/exchange/feeds.js'
import { malformed, nameOfRpcError, refused } from '../../sync/faults.js'
import { isObject, parseObject, type UpstreamClient } from '../../sync/http-client.js'
import type { Throttle } from '../../sync/throttle.js'
import type { TableAnswer, TableOffer } from '../batch/definition.js'
import { LAST_DAY, SHA256 } from '../batch/format.js'
import type { CitationOffer, CitationProgress } from '../citations/format.js'

/** Path of the methods between nodes. */
export const SYNC_PATH = '/api/v2/sync/jsonrpc'

const Offered = z.looseObject({ node: z.string().max(100), cursor: z.int().min(0) })
const Sums = z.looseObject({
  node: z.string().max(100),
  cursor: z.int().min(0),
  sums: z.array(
    z.looseObject({
      origin: z.string().max(100),
      day: z.int().min(0).max(LAST_DAY),
      rows: z.int(),
      digest: z.string().regex(SHA256),
      removed: z.int().min(0).optional(),
    }),
  ),
})
const Cursor = z.looseObject({ cursor: z.int().min(0) })
const Progress = z.looseObject({ rows: z.int().min(0), complete: z.boolean() })
const Refused = z.looseObject({
  rows: z.array(z.looseObject({ index: z.int().min(0), reason: z.string() })).optional(),
  cursor: z.int().min(0).optional(),
})

/** Question for what the receiver has of a table. */
export interface SumsRequest {
  readonly node: string
  readonly feed: string
  readonly table: string
  readonly epoch: number
  /** digest of the definition */
  readonly digest: string
  readonly origins: readonly string[]
  /** the receiver counts its rows again */
  readonly recount: boolean
}

/** Rows of an origin and a day at the receiver. */
export interface NodeSum {
  readonly origin: string
  /** days since 1970 */
  readonly day: number
  readonly rows: number
  /** hex */
  readonly digest: string
  /** rows that retention has removed there */
  readonly removed?: number | undefined
}

/** Answer of a receiver to a batch. */
export type BatchAnswer =
  | { readonly kind: 'taken'; readonly cursor: number }
  /** the feed goes on elsewhere */
  | { readonly kind: 'elsewhere'; readonly cursor: number }
  /** the receiver does not know the feed as it is: it must be offered again */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'rows'; readonly rows: readonly { index: number; reason: string }[] }

/** Question for a table of an upstream, with the names of the wire. */
export interface TableAsked {
  readonly node: string
  readonly feed: string
  readonly table: string
  readonly columns: readonly string[] | null
  readonly conds: unknown
  readonly from: 'now' | 'all' | number
  readonly start: FeedStart | null
  /** asks for the sums of the rows, kept or counted again */
  readonly sums?: 'kept' | 'recount'
  /** with `sums`: change up to which this node has the rows of the feed */
  readonly after?: number
}

/** Answer of an upstream that was asked for a batch. */
export type AskedBatch =
  | {
      readonly kind: 'batch'
      readonly body: Uint8Array
      /** last change of the table there */
      readonly last: number
      /** a row that no batch can hold */
      readonly tooLarge?: { readonly change: number; readonly key: string; readonly reason: string }
    }
  /** no row came until the end of the wait */
  | { readonly kind: 'none' }
  /** the upstream does not know the feed as it is: its table must be asked for again */
  | { readonly kind: 'unknown' }

/** Rows that an upstream gives once more. */
export interface AskedAgain {
  readonly body: Uint8Array
  /** id up to which rows were looked at there */
  readonly until: number
  readonly isEnd: boolean
  /** a row that no batch can hold */
  readonly tooLarge: { readonly key: string; readonly reason: string } | undefined
}

/** Side of a link that asks for tables. */
export interface FetchLink {
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED */
  ask(question: TableAsked, signal: AbortSignal): Promise<TableAnswer>
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED */
  fetch(
    request: { table: string; feed: string; epoch: number; after: number; waitS: number },
    throttles: readonly Throttle[],
    signal: AbortSignal,
  ): Promise<AskedBatch>
  /**
   * Asks for rows of some days once more, of the changes up to `after`.
   *
   * @returns undefined when the upstream does not know the feed as it is: its table must be asked for again
   * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED
   */
  fetchAgain(
    request: Parameters<FetchLink['fetch']>[0] & { fromDay: number; toDay: number; afterRow: number },
    throttles: readonly Throttle[],
    signal: AbortSignal,
  ): Promise<AskedAgain | undefined>
}

/** Connection to the other node of feeds. */
export interface FeedLink extends FetchLink {
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED */
  offer(offer: TableOffer, signal: AbortSignal): Promise<{ node: string; cursor: number }>
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED for what is no answer about the batch itself */
  send(
    table: string,
    body: Uint8Array,
    throttles: readonly Throttle[],
    signal: AbortSignal,
  ): Promise<BatchAnswer>
  /**
   * Asks what the receiver has of a table, as of its cursor.
   *
   * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED
   */
  sums(
    request: SumsRequest,
    signal: AbortSignal,
  ): Promise<{ node: string; cursor: number; sums: readonly NodeSum[] }>
  /** @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED */
  offerCitation(offer: CitationOffer, signal: AbortSignal): Promise<CitationProgress>
  /**
   * Sends rows of a citation.
   *
   * @throws AppError UPSTREAM_UNREACHABLE, UPSTREAM_REFUSED for what is no answer about the rows themselves
   */
  sendCitation(
    checksum: string,
    body: Uint8Array,
    throttles: readonly Throttle[],
    signal: AbortSignal,
  ): Promise<Exclude<BatchAnswer, { kind: 'rows' }>>
  close(): Promise<void>
}

/** Creates the link over the client of an upstream. @param fetching its side that asks */
export function createFeedLink(client: UpstreamClient, fetching: FetchLink): FeedLink {
  return {
    ...fetching,
    async offer(offer, signal) {
      const result = Offered.safeParse(
        withDoubles(await client.rpc(SYNC_PATH, 'sync.offer_table', offer, signal)),
      )
      if (!result.success) throw malformed('another result than that of sync.offer_table')
      return result.data
    },
    async send(table, body, throttles, signal) {
      const outgoing = { path: `/api/v2/sync/tables/${table}/batches`, body, throttles, signal }
      const { status, text, headers } = await post(client, outgoing)
      if (status !== 200) return refusalOf(status, text, headers)
      const taken = Cursor.safeParse(withDoubles(parseObject(text)))
      if (!taken.success) throw malformed('something other than the result of a batch')
      return { kind: 'taken', cursor: taken.data.cursor }
    },
    async sums(request, signal) {
      const result = Sums.safeParse(
        withDoubles(await client.rpc(SYNC_PATH, 'sync.table_sums', request, signal)),
      )
      if (!result.success) throw malformed('another result than that of sync.table_sums')
      return result.data
    },
    async offerCitation(offer, signal) {
      const found = withDoubles(await client.rpc(SYNC_PATH, 'sync.offer_citation', offer, signal))
      const result = Progress.safeParse(found)
      if (!result.success) throw malformed('another result than that of sync.offer_citation')
      return result.data
    },
    async sendCitation(checksum, body, throttles, signal) {
      const outgoing = { path: `/api/v2/sync/citations/${checksum}/rows`, body, throttles, signal }
      const { status, text, headers } = await post(client, outgoing)
      if (status === 200) {
        const taken = Progress.safeParse(withDoubles(parseObject(text)))
        if (!taken.success) throw malformed('something other than the result of rows')
        return { kind: 'taken', cursor: taken.data.rows }
      }
      const answer = refusalOf(status, text, headers)
      if (answer.kind === 'rows') throw malformed('rows of a table in an answer about a citation')
      return answer
    },
    close: () => client.close(),
  }
}

interface OutgoingBody {
  readonly path: string
  readonly body: Uint8Array
  readonly throttles: readonly Throttle[]
  readonly signal: AbortSignal
}

async function post(client: UpstreamClient, { path, body, throttles, signal }: OutgoingBody) {
  const reply = await client.send({
    method: 'POST',
    path,
    headers: {
      'content-type': 'application/x-ndjson',
      'content-encoding': 'zstd',
      'content-length': String(body.byteLength),
    },
    body: paced(body, throttles, signal),
    signal,
  })
  return { status: reply.status, text: await reply.text(), headers: reply.headers }
}

/** Sends a body in pieces, each when all throttles allow it. */
async function* paced(
  body: Uint8Array,
  throttles: readonly Throttle[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const pieceBytes = Math.min(...throttles.map((throttle) => throttle.pieceBytes))
  for (let at = 0; at < body.byteLength; at += pieceBytes) {
    const piece = body.subarray(at, at + pieceBytes)
    for (const throttle of throttles) await throttle.take(piece.byteLength, signal)
    yield piece
  }
}

/** Reads the error in an answer. */
export function readRefusal(text: string): { error: unknown; name: string | undefined; message: string } {
  const error = withDoubles(parseObject(text)?.error)
  const name = isObject(error) ? nameOfRpcError(error) : undefined
  return { error, name, message: isObject(error) && typeof error.message === 'string' ? error.message : text }
}

/** @throws AppError UPSTREAM_REFUSED for what says nothing about the batch */
function refusalOf(
  status: number,
  text: string,
  headers: Record<string, string | string[] | undefined>,
): BatchAnswer {
  const { error, name, message } = readRefusal(text)
  const data = Refused.safeParse(isObject(error) ? error.data : undefined).data
  if (name === 'CURSOR_MISMATCH' && data?.cursor !== undefined)
    return { kind: 'elsewhere', cursor: data.cursor }
  if (name === 'UNKNOWN_FEED') return { kind: 'unknown' }
  if (name === 'BAD_RECORD' && data?.rows !== undefined && data.rows.length > 0)
    return { kind: 'rows', rows: data.rows }
  throw refused(status, message, headers, name)
}

/** Returns the name that a peer gave to its refusal; undefined for other errors. */
export function refusalName(error: unknown): ErrorName | undefined {
  if (!(error instanceof AppError)) return undefined
  return error.data.upstreamError as ErrorName | undefined // `refused` wrote it
}
