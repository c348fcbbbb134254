import type { ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import type { Caller } from '../../auth/caller.js'
import { AppError, messageOf } from '../../errors.js'
import { parseSafe } from '../../json/exact-json.js'
import { commonHeaders } from '../answer.js'
import { admit, type CallDeps, refusingFaults, waitSignal } from '../calls.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** Where the bytes of a stream go. */
interface EventSink {
  write(bytes: Uint8Array): void
  unsentBytes(): number
  onDrain(listener: () => void): void
  end(bytes: Uint8Array): void
}

/** A stream that was opened. */
interface EventStream {
  end(reason: string): void
  close(): void
}

interface ChangeRouteDeps<C> {
  readonly calls: CallDeps<C>
  /**
   * checks a request for changes.
   *
   * @returns function that begins to write
   */
  open(request: {
    dataName: string
    columns: readonly string[]
    conds: unknown
    after: number | undefined
    keyId: string
  }): Promise<(sink: EventSink) => EventStream>
}

const PATH = '/api/v1/dataloaderapi/changes/:table'
/** Time between two comments, which keep proxies from closing the connection, ms; the key is checked again then. */
const BEAT_MS = 15_000
/** Time without progress after which a reader that takes nothing is ended, ms. */
const FROZEN_MS = 60_000
/** Time in which the other side may take the last event, ms. */
const END_MS = 5000
const BEAT = Buffer.from(': \n\n')

/** Adds `GET /api/v1/dataloaderapi/changes/<data_name>`: changes of a table as server-sent events. */
export function addChangeRoutes<C>(app: Hono<HttpEnv>, deps: ChangeRouteDeps<C>): void {
  app.get(PATH, (c) => {
    c.set('countedAs', 'changes')
    return refusingFaults(c, deps.calls, 'changes', () => answerChanges(c, deps))
  })
  refuseOtherMethods(app, PATH, 'GET')
}

async function answerChanges<C>(c: HttpContext, deps: ChangeRouteDeps<C>): Promise<Response> {
  const caller = await admit(c, deps.calls, 'loader:read')
  const start = await deps.open({
    dataName: c.req.param('table') ?? '',
    columns: readColumns(c.req.query('columns')),
    conds: readConds(c.req.query('conds')),
    after: readAfter(c.req.header('last-event-id') ?? c.req.query('after')),
    keyId: caller.keyId,
  })
  const out = c.env?.outgoing
  if (out === undefined)
    throw new AppError('UNAVAILABLE', {}, { message: 'found no connection, expected one' })
  const sink = sinkOf(out)
  const stream = start(sink)
  out.writeHead(200, {
    ...commonHeaders(c.get('requestId')),
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  })
  out.write(BEAT)
  watch(c, deps, { out, sink, stream, caller })
  return RESPONSE_ALREADY_SENT
}

function sinkOf(out: ServerResponse): EventSink {
  return {
    write: (bytes) => void out.write(bytes),
    unsentBytes: () => out.writableLength,
    onDrain: (listener) => void out.once('drain', listener),
    end(bytes) {
      out.end(bytes)
      setTimeout(() => out.destroy(), END_MS).unref()
    },
  }
}

/** Ends a stream with its connection, its key, its session and the gateway, and when it takes nothing any more. */
function watch<C>(
  c: HttpContext,
  deps: ChangeRouteDeps<C>,
  of: { out: ServerResponse; sink: EventSink; stream: EventStream; caller: Caller },
): void {
  const { out, sink, stream } = of
  let [unsent, stuckMs] = [0, 0]
  const beat = async () => {
    const now = sink.unsentBytes()
    stuckMs = now > 0 && now >= unsent ? stuckMs + BEAT_MS : 0
    unsent = now
    if (stuckMs >= FROZEN_MS) return stream.end('nothing was read for a minute')
    try {
      await admit(c, deps.calls, 'loader:read')
    } catch (error) {
      return stream.end(messageOf(error))
    }
    if (now === 0 && !out.writableEnded) sink.write(BEAT)
  }
  const timer = setInterval(() => void beat(), BEAT_MS).unref()
  const stopped = waitSignal(c, deps.calls)
  const onStop = () => stream.end('the gateway stops')
  if (stopped.aborted) onStop()
  stopped.addEventListener('abort', onStop, { once: true })
  out.once('close', () => {
    clearInterval(timer)
    stopped.removeEventListener('abort', onStop)
    stream.close()
  })
}

function bad(parameter: string, found: string, expected: string): AppError {
  const message = `${parameter}: found ${JSON.stringify(found.slice(0, 100))}, expected ${expected}`
  return new AppError('BAD_HTTP', { parameter }, { message })
}

function readAfter(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw bad('after', text, 'the number of a change')
}

/** Most characters of `columns` and `conds`. */
const MAX_CHARS = 10_000

function readJson(parameter: string, text: string): unknown {
  if (text.length > MAX_CHARS) throw bad(parameter, text, `at most ${MAX_CHARS} characters`)
  try {
    return parseSafe(text)
  } catch {
    throw bad(parameter, text, 'JSON')
  }
}

function readColumns(text: string | undefined): readonly string[] {
  if (text === undefined || text === '') return []
  const read = readJson('columns', text)
  if (Array.isArray(read) && read.every((name) => typeof name === 'string')) return read
  throw bad('columns', text, 'a JSON array of names')
}

function readConds(text: string | undefined): unknown {
  return text === undefined || text === '' ? undefined : readJson('conds', text)
}
