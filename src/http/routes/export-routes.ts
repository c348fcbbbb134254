import type { Hono } from 'hono'
import type { Caller } from '../../auth/caller.js'
import { invalidParams } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import type { Scope } from '../../rpc/define-method.js'
import { discard, resultPiece, whenOver } from '../../rpc/pieces.js'
import { textResult } from '../../rpc/result.js'
import { contentResponse, respond } from '../answer.js'
import { byteStream, type StreamOptions } from '../bodies/body-stream.js'
import { admit, type CallDeps, endSignal, refusingFaults, streamOptions } from '../calls.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { takeStream } from '../memory.js'
import { refuseOtherMethods } from '../refuse-methods.js'

/** Media types of the forms in which rows are sent. */
const TYPES = {
  csv: 'text/csv; charset=utf-8; header=present',
  geojson: 'application/geo+json',
  gpkg: 'application/geopackage+sqlite3',
} as const
type Format = keyof typeof TYPES

interface ExportRequest {
  label: string
  format: Format
  /** JSON text; null for all rows */
  conds: string | null
  order: readonly string[]
  caller: Caller
  signal: AbortSignal
}

/** Rows as a file: text that is made while it is sent, or a file that was written for it. */
type Exported =
  | { name: string; text: string | AsyncIterableIterator<string> }
  | { name: string; file: { sizeBytes: number; bytes: AsyncGenerator<Uint8Array>; remove(): Promise<void> } }

interface ExportRouteDeps<C> {
  calls: CallDeps<C>
  /** @throws AppError UNKNOWN_DATASET, FORBIDDEN, BAD_CONDITION, TOO_EXPENSIVE */
  open(request: ExportRequest): Promise<Exported>
}

/** Paths, and the scope that each needs; what the label names may need the other one, too. */
export const EXPORT_ROUTES: readonly (readonly [path: string, scope: Scope])[] = [
  ['/api/v1/dataloaderapi/export/:label', 'loader:read'],
  ['/api/v2/dataset/export/:label', 'dataset:read'],
]
const QUERY: readonly string[] = ['format', 'conds', 'order']
/**
 * Adds `GET /api/v1/dataloaderapi/export/<data_name>?format=&conds=&order=` and `/api/v2/dataset/export/<label>`:
 * rows of a loader table, a dataset or a citation as a file.
 */
export function addExportRoutes<C>(app: Hono<HttpEnv>, deps: ExportRouteDeps<C>): void {
  for (const [path, scope] of EXPORT_ROUTES) {
    app.get(path, (c) => {
      c.set('countedAs', 'export')
      return refusingFaults(c, deps.calls, path, () => answer(c, { path, scope }, deps))
    })
    refuseOtherMethods(app, path, 'GET, HEAD')
  }
}

async function answer<C>(
  c: HttpContext,
  { path, scope }: { path: string; scope: Scope },
  { calls, open }: ExportRouteDeps<C>,
): Promise<Response> {
  const caller = await admit(c, calls, scope)
  const query = readQuery(c)
  const label = c.req.param('label') ?? '' // a part of the path
  const { release } = await takeStream(c, calls, caller)
  try {
    const exported = await open({ label, ...query, caller, signal: endSignal(c, calls) })
    const headers = {
      'Content-Type': TYPES[query.format],
      'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(exported.name)}`,
      'Cache-Control': 'private, no-cache',
    }
    const sending = { headers, release, options: streamOptions(c, path, calls) }
    if (!('file' in exported)) return await sendText(c, exported.text, sending)
    return sendBytes(c, exported.file, sending)
  } catch (error) {
    release()
    throw error
  }
}

interface Sending {
  headers: Record<string, string>
  options: StreamOptions
  /** gives the memory back, once */
  release(): void
}

async function sendText(
  c: HttpContext,
  text: string | AsyncIterableIterator<string>,
  { headers, options, release }: Sending,
): Promise<Response> {
  // reads the first part before the status is sent, so that an early fault has its own status
  const piece = await resultPiece(textResult(text))
  const held = typeof piece === 'string' || piece instanceof Uint8Array ? piece : whenOver(piece, release)
  if (held === piece) release()
  const isHead = c.req.method === 'HEAD'
  if (isHead) await discard(held)
  return await contentResponse(200, headers, isHead ? '' : held, options)
}

function sendBytes(
  c: HttpContext,
  { bytes, sizeBytes, remove }: Extract<Exported, { file: object }>['file'],
  { headers, options, release }: Sending,
): Response {
  const over = () => {
    release()
    remove().catch(options.onFault)
  }
  const all = { ...headers, 'Content-Length': String(sizeBytes) }
  if (c.req.method === 'HEAD') {
    over()
    return respond(c.get('requestId'), 200, all, null)
  }
  return respond(c.get('requestId'), 200, all, byteStream(whenOver(bytes, over), options))
}

function readQuery(c: HttpContext): Pick<ExportRequest, 'format' | 'conds' | 'order'> {
  const { searchParams } = new URL(c.req.url)
  const unknown = [...searchParams.keys()].find((key) => !QUERY.includes(key))
  if (unknown !== undefined)
    throw invalidParams([
      { path: unknown, message: `found ${describeFound(unknown)}, expected any of ${QUERY.join(', ')}` },
    ])
  const format = searchParams.get('format') ?? 'csv'
  if (!isFormat(format))
    throw invalidParams([
      {
        path: 'format',
        message: `found ${describeFound(format)}, expected one of ${Object.keys(TYPES).join(', ')}`,
      },
    ])
  const conds = searchParams.get('conds')
  if (conds !== null) requireJson(conds)
  const order = searchParams.get('order')
  return { format, conds, order: order === null ? [] : order.split(',') }
}

function isFormat(text: string): text is Format {
  return Object.hasOwn(TYPES, text)
}

function requireJson(text: string): void {
  try {
    JSON.parse(text)
  } catch {
    throw invalidParams([
      { path: 'conds', message: `found ${describeFound(text)}, expected a condition as JSON` },
    ])
  }
}
