import type { Hono } from 'hono'
import type { Caller } from '../../auth/caller.js'
import { requireScope } from '../../auth/caller.js'
import { AppError } from '../../errors.js'
import { candidates } from '../../messages/candidates.js'
import { describeFound } from '../../messages/fault-text.js'
import { readExactJson } from '../../rpc/read-json.js'
import { documentResponse, refusalResponse } from '../answer.js'
import { type CallDeps, refusingFaults, signIn } from '../calls.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { takeStream } from '../memory.js'
import { bodyChunks, refuseEncoding } from '../read-body.js'
import { refuseOtherMethods } from '../refuse-methods.js'
import { readParts, type TakenParts } from './upload-parts.js'

/** Functions behind the upload route. `D` is the checked data part, `S` the staged bytes of the file. */
export interface ModelUploads<D, S> {
  maxModelBytes: number
  maxDataBytes: number
  /** longest part `signature` */
  maxSignatureBytes: number
  maxParts: number
  nowUs(): number
  /** Returns the upload method of a name; undefined for an unknown name. */
  findMethod(name: string): UploadMethod<D> | undefined
  /** names of the upload methods */
  methodNames: readonly string[]
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  stage(source: AsyncIterable<Uint8Array>): Promise<S>
  /** registers a model. Takes over `staged`, also when it throws. @returns the model_info */
  register(parts: TakenParts<D, S>, caller: Caller, startUs: number): Promise<object>
  drop(staged: S): Promise<void>
}

/** A method whose params are the JSON part of an upload. */
export interface UploadMethod<D> {
  name: string
  /** @param json numbers as supplied. @throws AppError INVALID_PARAMS, LOOP */
  readData(json: unknown): Promise<D>
}

/** Allowance for the boundaries and headers of the parts. */
const FRAME_BYTES = 64 * 1024

/**
 * Adds `POST <api>/upload/<method>`: multipart in, the model_info out.
 *
 * @param apiPath path of the model store API
 */
export function addUploadRoute<C, D, S>(
  app: Hono<HttpEnv>,
  apiPath: string,
  deps: CallDeps<C>,
  uploads: ModelUploads<D, S>,
): void {
  const path = `${apiPath}/upload/:method`
  app.post(path, async (c) => {
    const name = c.req.param('method') ?? ''
    const method = uploads.findMethod(name)
    if (method === undefined) return refusalResponse(unknownMethod(name, uploads), c.get('requestId'))
    c.set('countedAs', method.name)
    const answer = async () => documentResponse(await receive(c, method, deps, uploads), c.get('requestId'))
    return await refusingFaults(c, deps, path, answer)
  })
  refuseOtherMethods(app, path, 'POST')
}

function unknownMethod<D, S>(name: string, { methodNames }: ModelUploads<D, S>): AppError {
  const expected = candidates(methodNames, name)
  const message = `No upload method is named ${describeFound(name)}, expected one of ${expected}`
  return new AppError('NOT_FOUND', {}, { message })
}

async function receive<C, D, S>(
  c: HttpContext,
  method: UploadMethod<D>,
  deps: CallDeps<C>,
  uploads: ModelUploads<D, S>,
): Promise<object> {
  const startUs = uploads.nowUs()
  const caller = await signIn(c, deps)
  requireScope(caller, 'model:write')
  refuseEncoding(c)
  await deps.limiter.charge(caller.keyId, addressOf(c), 1)
  const maxBytes = uploads.maxModelBytes + uploads.maxDataBytes + uploads.maxSignatureBytes + FRAME_BYTES
  const declared = Number(c.req.header('content-length') ?? 0)
  const share = await takeStream(c, deps, caller)
  try {
    // before the client is told to continue: a body that cannot fit is never sent
    if (declared <= maxBytes) await uploads.requireSpace(Number.isFinite(declared) ? declared : 0)
    return await receiveParts(c, { startUs, caller, method, maxBytes }, deps, uploads)
  } finally {
    share.release()
  }
}

/** Facts of an upload before its body. */
interface UploadHead<D> {
  readonly startUs: number
  readonly caller: Caller
  readonly method: UploadMethod<D>
  readonly maxBytes: number
}

async function receiveParts<C, D, S>(
  c: HttpContext,
  { startUs, caller, method, maxBytes }: UploadHead<D>,
  deps: CallDeps<C>,
  uploads: ModelUploads<D, S>,
): Promise<object> {
  const parts = await readParts(
    bodyChunks(c, { maxBytes, idleMs: deps.bodyLimits.idleMs }),
    c.req.header('content-type') ?? '',
    {
      maxFileBytes: uploads.maxModelBytes,
      maxDataBytes: uploads.maxDataBytes,
      maxSignatureBytes: uploads.maxSignatureBytes,
      maxParts: uploads.maxParts,
    },
    {
      takeData: (bytes) => method.readData(readExactJson(bytes, deps.maxDepth)),
      takeFile: (source) => uploads.stage(source),
    },
    (lost) => uploads.drop(lost),
  )
  const info = await uploads.register(parts, caller, startUs)
  deps.onDone?.(c, caller, method.name)
  return info
}
