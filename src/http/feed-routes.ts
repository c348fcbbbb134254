import type { Hono } from 'hono'
import type { Caller } from '../auth/caller.js'
import { AppError } from '../errors.js'
import { jsonResponse } from './answer.js'
import { admit, type CallDeps, refusingFaults, streamOptions } from './calls.js'
import type { HttpContext, HttpEnv } from './env.js'
import { takeGrowing } from './memory.js'
import { readBody } from './read-body.js'
import { refuseOtherMethods } from './refuse-methods.js'

interface FeedRouteDeps<C> {
  readonly calls: CallDeps<C>
  readonly limits: { readonly idleMs: number; readonly totalMs: number }
  /** most bytes of the body of a batch, and of its text */
  readonly maxBytes: number
  /** takes a batch. @returns what is answered */
  take(caller: Caller, tableUuid: string, body: Uint8Array): Promise<object>
}

/** Memory of a batch: body, text and rows. */
const BATCH_FACTOR = 4
const PATH = '/api/v2/sync/tables/:table/batches'

/** Adds `POST /api/v2/sync/tables/<table id>/batches`: rows that another node sends. */
export function addFeedRoutes<C>(app: Hono<HttpEnv>, deps: FeedRouteDeps<C>): void {
  app.post(PATH, (c) => {
    c.set('countedAs', 'feed batch')
    return refusingFaults(c, deps.calls, 'feed batch', () => answerBatch(c, c.req.param('table'), deps))
  })
  refuseOtherMethods(app, PATH, 'POST')
}

async function answerBatch<C>(c: HttpContext, table: string, deps: FeedRouteDeps<C>): Promise<Response> {
  const { calls, limits, maxBytes } = deps
  const caller = await admit(c, calls, 'sync:write')
  requireBatch(c)
  const share = await takeGrowing(c, calls, caller, maxBytes * BATCH_FACTOR)
  try {
    const body = await readBody(c, { maxBytes, ...limits })
    const result = await deps.take(caller, table, body)
    return jsonResponse(JSON.stringify(result), streamOptions(c, 'feed batch', calls))
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
