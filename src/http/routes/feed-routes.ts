import type { Hono } from 'hono'
import type { Caller } from '../../auth/caller.js'
import { AppError } from '../../errors.js'
import { jsonResponse, respond } from '../answer.js'
import { admit, type CallDeps, refusingFaults, streamOptions, waitSignal } from '../calls.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { bodyBytes, takeGrowing } from '../memory.js'
import { readBody } from '../read-body.js'
import { refuseOtherMethods } from '../refuse-methods.js'

interface FeedRouteDeps<C> {
  readonly calls: CallDeps<C>
  readonly limits: { readonly idleMs: number; readonly totalMs: number }
  /** most bytes of the body of a batch, and of its text */
  readonly maxBytes: number
  /** size of the text in a body, as the body tells it; at most `maxBytes` */
  textBytesOf(body: Uint8Array): number
  /** takes a batch. @returns what is answered */
  take(caller: Caller, tableUuid: string, body: Uint8Array): Promise<object>
  /** takes rows of a citation. @returns what is answered */
  takeCitation(caller: Caller, checksum: string, body: Uint8Array): Promise<object>
  /**
   * gives the batch after a change, or waits for a row.
   *
   * @returns undefined when there was none until the end of the wait
   */
  give(
    caller: Caller,
    request: GiveRequest,
    signal: AbortSignal,
    hold: (bytes: number) => Promise<void>,
  ): Promise<SentBatch | undefined>
}

/** Request for a batch. */
interface GiveRequest {
  readonly tableUuid: string
  readonly feedId: string
  readonly epoch: number
  readonly after: number
  readonly waitMs: number
  /** rows of some days once more */
  readonly again?: { readonly fromDay: number; readonly toDay: number; readonly afterRow: number }
}

/** Batch that is answered. */
interface SentBatch {
  readonly body: Uint8Array
  readonly last: number
  readonly tooLarge?: object
  readonly again?: { readonly until: number; readonly isEnd: boolean }
}

/** Memory of a batch that arrives, besides its body: its text, its values and its rows. */
const TEXT_FACTOR = 3
/** Memory of a batch that is made: the rows that were read, their text and the body. */
const GIVE_FACTOR = 3
/** Memory of a request that waits, and of the first rows. */
const GIVE_BYTES = 256 * 1024
/** Longest wait of a request, s. */
const MAX_WAIT_S = 60
const PATH = '/api/v2/sync/tables/:table/batches'

const CITATION_PATH = '/api/v2/sync/citations/:checksum/rows'

/**
 * Adds `POST` and `GET /api/v2/sync/tables/<table id>/batches`: rows that another node sends, or asks for; and
 * `POST /api/v2/sync/citations/<checksum>/rows`.
 */
export function addFeedRoutes<C>(app: Hono<HttpEnv>, deps: FeedRouteDeps<C>): void {
  app.post(PATH, (c) => {
    c.set('countedAs', 'feed batch')
    const take = (caller: Caller, body: Uint8Array) => deps.take(caller, c.req.param('table'), body)
    return refusingFaults(c, deps.calls, 'feed batch', () => answerBatch(c, take, deps))
  })
  app.get(PATH, (c) => {
    c.set('countedAs', 'feed request')
    return refusingFaults(c, deps.calls, 'feed request', () => giveBatch(c, c.req.param('table'), deps))
  })
  refuseOtherMethods(app, PATH, 'GET, POST')
  app.post(CITATION_PATH, (c) => {
    c.set('countedAs', 'feed batch')
    const take = (caller: Caller, body: Uint8Array) =>
      deps.takeCitation(caller, c.req.param('checksum'), body)
    return refusingFaults(c, deps.calls, 'feed batch', () => answerBatch(c, take, deps))
  })
  refuseOtherMethods(app, CITATION_PATH, 'POST')
}

/** Answers a batch, or 204 when no row came until the end of the wait. */
async function giveBatch<C>(c: HttpContext, table: string, deps: FeedRouteDeps<C>): Promise<Response> {
  const { calls } = deps
  const caller = await admit(c, calls, 'sync:read')
  const request = readRequest(c, table)
  let share: Awaited<ReturnType<typeof takeGrowing>> | undefined
  const hold = async (bytes: number) => {
    share ??= await takeGrowing(c, calls, caller, GIVE_BYTES) // a request that waits holds nothing
    await share.hold(bytes * GIVE_FACTOR)
  }
  try {
    const given = await deps.give(caller, request, waitSignal(c, calls), hold)
    const requestId = c.get('requestId')
    if (given === undefined) return respond(requestId, 204, {}, null)
    const { body, last, tooLarge, again } = given
    const headers = {
      'Content-Type': 'application/x-ndjson',
      'Content-Encoding': 'zstd',
      'Content-Length': String(body.byteLength),
      'Fieldgate-Last-Change': String(last),
      ...(again === undefined
        ? {}
        : { 'Fieldgate-Again-Until': `${again.until}`, 'Fieldgate-Again-End': again.isEnd ? '1' : '0' }),
      ...(tooLarge === undefined
        ? {}
        : { 'Fieldgate-Set-Aside': Buffer.from(JSON.stringify(tooLarge)).toString('base64') }),
    }
    return respond(requestId, 200, headers, body)
  } finally {
    share?.release()
  }
}

/** @throws AppError BAD_HTTP */
function readRequest(c: HttpContext, tableUuid: string): GiveRequest {
  const countOf = (name: string, most = Number.MAX_SAFE_INTEGER) => {
    const text = c.req.query(name) ?? ''
    if (/^\d{1,16}$/.test(text) && Number(text) <= most) return Number(text)
    const expected = most === MAX_WAIT_S ? `0 to ${most}` : 'a whole number, 0 or more'
    const message = `${name}: found ${JSON.stringify(text.slice(0, 50))}, expected ${expected}`
    throw new AppError('BAD_HTTP', { parameter: name }, { message })
  }
  const feedId = (c.req.query('feed') ?? '').slice(0, 36)
  const [epoch, after, waitS] = [countOf('epoch'), countOf('after'), countOf('wait', MAX_WAIT_S)]
  const request = { tableUuid, feedId, epoch, after, waitMs: waitS * 1000 }
  if (c.req.query('from_day') === undefined) return request
  const [fromDay, toDay, afterRow] = [countOf('from_day'), countOf('to_day'), countOf('after_row')]
  return { ...request, again: { fromDay, toDay, afterRow } }
}

async function answerBatch<C>(
  c: HttpContext,
  take: (caller: Caller, body: Uint8Array) => Promise<object>,
  deps: FeedRouteDeps<C>,
): Promise<Response> {
  const { calls, limits, maxBytes } = deps
  const caller = await admit(c, calls, 'sync:write')
  requireBatch(c)
  const share = await takeGrowing(c, calls, caller, Math.min(bodyBytes(c), maxBytes))
  try {
    const body = await readBody(c, { maxBytes, ...limits })
    await share.hold(body.byteLength + deps.textBytesOf(body) * TEXT_FACTOR)
    const result = await take(caller, body)
    return await jsonResponse(JSON.stringify(result), streamOptions(c, 'feed batch', calls))
  } finally {
    share.release()
  }
}

/** @throws AppError UNSUPPORTED_MEDIA_TYPE */
function requireBatch(c: HttpContext): void {
  const type = (c.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  const encoding = (c.req.header('content-encoding') ?? '').trim().toLowerCase()
  if (type === 'application/x-ndjson' && encoding === 'zstd') return
  const message =
    `found Content-Type ${(type ?? '').slice(0, 100)} and Content-Encoding ${encoding.slice(0, 100)}, ` +
    'expected application/x-ndjson and zstd'
  throw new AppError('UNSUPPORTED_MEDIA_TYPE', {}, { message })
}
