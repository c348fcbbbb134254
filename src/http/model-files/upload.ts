import type { Hono } from 'hono'
import type { Caller } from '../../auth/caller.js'
import { isAppError } from '../../errors.js'
import type { Api } from '../../rpc/dispatch.js'
import { readJson } from '../../rpc/read-json.js'
import { uploadRefusalResponse } from '../answer.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { bodyChunks, refuseEncoding } from '../read-body.js'
import { refuseOtherMethods } from '../routes.js'
import { callOf, type RpcDeps, requireScope, signIn } from '../rpc-routes.js'
import { readParts } from './upload-parts.js'

/** What the transport of model uploads needs from the rooms behind it. `D` checked data, `S` staged bytes. */
export interface ModelUploads<D, S> {
  maxModelBytes: number
  maxDataBytes: number
  maxParts: number
  nowUs(): number
  /** Returns the upload method of a name; undefined for an unknown name. */
  findMethod(name: string): UploadMethod<D> | undefined
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
  stage(source: AsyncIterable<Uint8Array>): Promise<S>
  /** @returns the model_info; keeps or drops what was staged, whatever happens */
  register(data: D, staged: S, caller: Caller, startUs: number): Promise<object>
  drop(staged: S): Promise<void>
}

/** A method whose params are the JSON part of an upload. */
export interface UploadMethod<D> {
  name: string
  /** @throws AppError INVALID_PARAMS, LOOP */
  readData(json: unknown): D
}

/** Boundaries and part headers around the two parts. */
const FRAME_BYTES = 64 * 1024

/** Route of `POST <path>/upload/<method>`: multipart in, the bare model_info out. */
export function addUploadRoute<C, D, S>(
  app: Hono<HttpEnv>,
  api: Api<C>,
  deps: RpcDeps<C>,
  uploads: ModelUploads<D, S>,
): void {
  const path = `${api.path}/upload/:method`
  app.post(path, async (c, next) => {
    const method = uploads.findMethod(c.req.param('method') ?? '')
    if (method === undefined) return await next()
    c.set('countedAs', method.name)
    try {
      const info = await receive(c, api, deps, uploads, method)
      return c.json(info as never)
    } catch (error) {
      if (!isAppError(error)) deps.onFault(c.get('requestId'), path, error)
      return uploadRefusalResponse(error, c.get('requestId'))
    }
  })
  refuseOtherMethods(app, path, 'POST')
}

async function receive<C, D, S>(
  c: HttpContext,
  api: Api<C>,
  deps: RpcDeps<C>,
  uploads: ModelUploads<D, S>,
  method: UploadMethod<D>,
): Promise<object> {
  const startUs = uploads.nowUs()
  const caller = await signIn(c, deps)
  requireScope(callOf(c, api, caller, deps), 'model:write')
  refuseEncoding(c)
  await deps.limiter.charge(caller.keyId, addressOf(c), 1)
  const maxBytes = uploads.maxModelBytes + uploads.maxDataBytes + FRAME_BYTES
  const declared = Number(c.req.header('content-length') ?? 0)
  // asked before the client is told to go on: a body that cannot fit is never sent
  if (declared <= maxBytes) await uploads.requireSpace(Number.isFinite(declared) ? declared : 0)
  const { data, staged } = await readParts(
    bodyChunks(c, { maxBytes, idleMs: deps.bodyLimits.idleMs }),
    c.req.header('content-type') ?? '',
    {
      maxFileBytes: uploads.maxModelBytes,
      maxDataBytes: uploads.maxDataBytes,
      maxParts: uploads.maxParts,
    },
    {
      takeData: (bytes) => method.readData(readJson(bytes, deps.maxDepth)),
      takeFile: (source) => uploads.stage(source),
    },
    (lost) => uploads.drop(lost),
  )
  return await uploads.register(data, staged, caller, startUs)
}
