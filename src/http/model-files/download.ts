import type { Hono } from 'hono'
import { AppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { redirectResponse } from '../answer.js'
import { admit, type CallDeps, refusingFaults } from '../calls.js'
import type { HttpContext, HttpEnv } from '../env.js'
import { refuseOtherMethods } from '../refuse-methods.js'
import { type Downloadable, sendFile } from '../send-file.js'

/** A file for which a delta may be sent. */
export interface ModelDownload extends Downloadable {
  /**
   * Returns a delta to the first of these files that is stored here, digests in hex; undefined when there is
   * none, or it would save too little.
   */
  findDelta(bases: readonly string[]): Promise<(Downloadable & { base: string }) | undefined>
  /** Makes a link that gives the bytes to whoever has it, for some minutes; absent where there is none. */
  readonly presign?: (() => Promise<string>) | undefined
}

/** Smaller files are sent from here: a second connection costs more than their bytes. */
const MIN_REDIRECT_BYTES = 1024 * 1024

/** Media type of a delta. Its `Delta-Base` names the file that it is applied to. @see RFC 3229 */
const DELTA_MEDIA_TYPE = 'application/vnd.fieldgate.model-delta'
/** Files that a request may name. */
const MAX_BASES = 16

const MODEL_FILE_PATH = '/api/v2/model_store/models/:model_id/file'

/**
 * Adds `GET …/models/<model_id>/file`: the bytes of a model, whole or a range. With `?bases=` and digests of files
 * that the caller has, the answer may be a delta to one of them. With `?redirect=yes` it may be a redirect to the
 * store that has the bytes.
 *
 * @param find @throws AppError UNKNOWN_MODEL, MODEL_DAMAGED
 */
export function addDownloadRoute<C>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  find: (modelId: string) => Promise<ModelDownload>,
): void {
  app.get(MODEL_FILE_PATH, (c) => {
    c.set('countedAs', 'model download')
    return refusingFaults(c, deps, MODEL_FILE_PATH, async () => {
      const caller = await admit(c, deps, 'model:read')
      const modelId = c.req.param('model_id')
      const bases = basesOf(c)
      const whole = await find(modelId)
      const delta = bases.length === 0 ? undefined : await whole.findDelta(bases)
      const sent = { caller, method: MODEL_FILE_PATH }
      const isAsked = asksForRedirect(c) && c.req.method === 'GET' && whole.sizeBytes >= MIN_REDIRECT_BYTES
      if (delta === undefined && isAsked && whole.presign !== undefined)
        return redirectResponse(await whole.presign(), c.get('requestId'), 307)
      if (delta === undefined)
        return await sendFile(c, deps, { ...sent, file: whole, fileName: `${modelId}.dat` })
      const response = await sendFile(c, deps, { ...sent, file: delta, fileName: `${modelId}.delta` })
      response.headers.set('Delta-Base', `"${delta.base}"`)
      if (response.status < 300) response.headers.set('Content-Type', DELTA_MEDIA_TYPE)
      return response
    })
  })
  refuseOtherMethods(app, MODEL_FILE_PATH, 'GET, HEAD')
}

/**
 * Returns whether the caller follows a redirect: one who does not would fail, and one who sends its credentials along
 * would show them to the store. @throws AppError BAD_HTTP
 */
function asksForRedirect(c: HttpContext): boolean {
  const text = c.req.query('redirect') ?? 'no'
  if (text === 'yes' || text === 'no') return text === 'yes'
  throw new AppError(
    'BAD_HTTP',
    {},
    { message: `redirect: found ${describeFound(text)}, expected yes or no` },
  )
}

/** Reads `bases`: digests, separated by commas. @throws AppError BAD_HTTP */
function basesOf(c: HttpContext): string[] {
  const text = c.req.query('bases') ?? ''
  if (text === '') return []
  const bases = text.split(',')
  if (bases.length <= MAX_BASES && bases.every((base) => /^[0-9a-f]{64}$/.test(base))) return bases
  const message = `bases: found ${describeFound(text)}, expected 1 to ${MAX_BASES} digests of 64 hex digits, separated by commas`
  throw new AppError('BAD_HTTP', {}, { message })
}
