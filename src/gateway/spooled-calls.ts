import { closeSync, openSync, readSync } from 'node:fs'
import type { DataLoaderContext } from '../api/dataloader/context.js'
import { AppError, isAppError } from '../errors.js'
import { type Answer, callForPiece, type Dispatch, dispatch } from '../rpc/dispatch.js'
import { errorText, toRpcError } from '../rpc/envelope.js'
import { joined, type Piece } from '../rpc/pieces.js'
import { readJson } from '../rpc/read-json.js'
import type { WriteLock } from '../storage/work/write-lock.js'
import type { ScannedBody, ScannedRequest } from '../tables/ingest/scan-body.js'
import type { Loader } from '../tables/loader.js'
import type { WorkerClient } from '../worker/client.js'

interface SpooledAnswerDeps {
  readonly jobs: Pick<WorkerClient, 'call'>
  /** turns of the job thread's work for the loader: a load that holds the database must not wait for a scan */
  readonly loadTurns: WriteLock
  /** largest request apart from the elements of its `record_set` */
  readonly maxEnvelopeBytes: number
}

/**
 * Answers a JSON-RPC body that was spooled to a file because it is large: each request is dispatched without
 * the elements of its `record_set`, which the job thread reads from the file one by one. The caller removes
 * the file.
 */
export async function answerSpooled<C extends DataLoaderContext>(
  file: string,
  call: Dispatch<C>,
  deps: SpooledAnswerDeps,
): Promise<Answer> {
  const limits = { maxDepth: call.maxDepth, maxBatch: call.maxBatch }
  let body: ScannedBody
  try {
    body = await scan<ScannedBody>('loader.scan', { file, limits }, call, deps)
  } catch (error) {
    return refusal(error, call)
  }
  if (body.hasLoneSurrogate) {
    try {
      checkEnvelopes(file, body, call.maxDepth, deps.maxEnvelopeBytes)
    } catch (error) {
      return refusal(error, call)
    }
  }
  if (!body.isBatch) return await answerOne(file, body.requests[0] as ScannedRequest, call, deps)
  if (body.requests.length === 0 || body.requests.length > call.maxBatch) {
    // the dispatcher makes the error
    return await dispatch(Buffer.from(`[${body.requests.map(() => '0').join()}]`), call)
  }
  const pieces: Piece[] = []
  for (const request of body.requests) {
    const { body: piece } = await answerOne(file, request, call, deps)
    if (piece !== null) pieces.push(piece)
  }
  return pieces.length === 0 ? { status: 204, body: null } : { status: 200, body: joined(pieces) }
}

/**
 * Answers the params of a call in REST form, which were spooled to a file.
 *
 * @throws AppError of the body or of the method
 */
export async function answerSpooledParams<C extends DataLoaderContext>(
  file: string,
  method: string,
  call: Dispatch<C>,
  deps: SpooledAnswerDeps,
): Promise<Piece> {
  const payload = { file, maxDepth: call.maxDepth }
  const scanned = await scan<ScannedRequest>('loader.scanParams', payload, call, deps)
  const text = readEnvelope(file, scanned, deps.maxEnvelopeBytes)
  if (text === undefined) throw tooLarge(deps.maxEnvelopeBytes)
  const params = readJson(text, call.maxDepth)
  await call.charge(1)
  const context = withRecords(call.context, file, scanned)
  return await callForPiece(method, params, { ...call, context })
}

/** Has the job thread find the requests of a file. */
function scan<R>(
  name: string,
  payload: unknown,
  { context: { signal, caller } }: Pick<Dispatch<DataLoaderContext>, 'context'>,
  { jobs, loadTurns }: SpooledAnswerDeps,
): Promise<R> {
  return loadTurns.run(() => jobs.call<R>(name, payload, { signal }), caller.keyId)
}

/**
 * Refuses requests with a lone surrogate outside their records before any of them is answered. Too large ones
 * are refused later.
 *
 * @throws AppError INVALID_REQUEST, PARSE_ERROR
 */
function checkEnvelopes(
  file: string,
  { requests, isBatch }: ScannedBody,
  maxDepth: number,
  maxBytes: number,
): void {
  for (const [index, request] of requests.entries()) {
    const envelope = readEnvelope(file, request, maxBytes)
    if (envelope === undefined) continue
    // as an element of its batch, so that the path in the error is the caller's
    const before = isBatch ? `[${'0,'.repeat(index)}` : ''
    readJson(Buffer.concat([Buffer.from(before), envelope, Buffer.from(isBatch ? ']' : '')]), maxDepth)
  }
}

/** Answers one request of the file as if it had come alone. */
async function answerOne<C extends DataLoaderContext>(
  file: string,
  request: ScannedRequest,
  call: Dispatch<C>,
  deps: SpooledAnswerDeps,
): Promise<Answer> {
  const envelope = readEnvelope(file, request, deps.maxEnvelopeBytes)
  if (envelope === undefined) return refusal(tooLarge(deps.maxEnvelopeBytes), call)
  let parseFault: unknown
  const context = withRecords(call.context, file, request, (error) => {
    if (isAppError(error) && error.errorName === 'PARSE_ERROR') parseFault = error
  })
  const answer = await dispatch(envelope, { ...call, context })
  // an element that is not JSON makes the whole body invalid: its id cannot be trusted
  return parseFault === undefined ? answer : refusal(parseFault, call)
}

/** Returns the context with the place of the records; `onFault` is called with errors of storing them. */
function withRecords<C extends DataLoaderContext>(
  context: C,
  file: string,
  { recordSet }: ScannedRequest,
  onFault: (error: unknown) => void = () => undefined,
): C {
  if (recordSet === null) return context
  const { loader } = context
  const watched: Loader = {
    ...loader,
    addSpooled: (...args) =>
      loader.addSpooled(...args).catch((error: unknown) => {
        onFault(error)
        throw error
      }),
  }
  return Object.create(context, {
    spooledRecords: { value: { file, ...recordSet } },
    loader: { value: watched },
  }) as C
}

/** Returns the text of the request with an empty `record_set`; undefined when it is too large even so. */
function readEnvelope(file: string, request: ScannedRequest, maxBytes: number): Buffer | undefined {
  const { start, end, recordSet } = request
  const parts: [number, number][] =
    recordSet === null
      ? [[start, end]]
      : [
          [start, recordSet.start],
          [recordSet.end, end],
        ]
  const size = parts.reduce((sum, [from, to]) => sum + to - from, 0)
  if (size > maxBytes) return undefined
  const bytes = Buffer.allocUnsafe(size)
  const handle = openSync(file, 'r')
  try {
    let at = 0
    for (const [from, to] of parts) at += readSync(handle, bytes, at, to - from, from)
    return bytes
  } finally {
    closeSync(handle)
  }
}

/** Answers a fault of the body as a whole; the id is unknown then. */
function refusal<C>(error: unknown, call: Dispatch<C>): Answer {
  if (!isAppError(error)) throw error
  const status = error.errorName === 'PARSE_ERROR' ? 400 : 200
  return { status, body: errorText(null, toRpcError(error, call.requestId)) }
}

function tooLarge(maxBytes: number): AppError {
  const message = `A request has more than ${maxBytes} bytes without the elements of record_set`
  return new AppError('BODY_TOO_LARGE', { maxBytes }, { message })
}
