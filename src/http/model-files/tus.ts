import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { DataStore, ERRORS, Server, Upload } from '@tus/server'
import type { Hono } from 'hono'
import type { Caller } from '../../auth/caller.js'
import { ERRORS as APP_ERRORS, AppError, isAppError } from '../../errors.js'
import type { Api } from '../../rpc/dispatch.js'
import { readJson } from '../../rpc/read-json.js'
import { uploadRefusalResponse } from '../answer.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { continueIfAsked, refuseEncoding } from '../read-body.js'
import { callOf, type RpcDeps, requireScope, signIn } from '../rpc-routes.js'
import { createLocker } from './tus-lock.js'
import { flowingChunks } from './tus-source.js'

export const UPLOADS_PATH = '/api/v2/model_store/uploads'
/** sha1 because the protocol asks it of whoever offers checksums */
export const CHECKSUM_ALGORITHMS = 'sha1,sha256'

/** A resumable upload as the transport sees it. */
export interface PartialUpload {
  uploadId: string
  keyId: string
  sizeBytes: number
  offsetBytes: number
  activeAtUs: number
}

export interface Checksum {
  algorithm: 'sha1' | 'sha256'
  digest: Uint8Array
}

/** What the transport of resumable uploads needs from the rooms behind it. */
export interface ResumableUploads<U extends PartialUpload> {
  maxBytes: number
  expiryS: number
  /** how long a newcomer waits for the request that holds an upload */
  lockWaitMs: number
  isClockTrusted(): boolean
  find(uploadId: string): Promise<U | undefined>
  /** @throws AppError */
  create(upload: {
    uploadId: string
    sizeBytes: number
    metadata: UploadMetadata
    caller: Caller
  }): Promise<void>
  /** @returns the offset that is on disk */
  append(upload: U, source: AsyncIterable<Uint8Array>, checksum?: Checksum): Promise<number>
  /** @returns the model_info */
  finish(uploadId: string): Promise<{ modelId: string; info: object }>
  remove(uploadId: string): Promise<void>
}

export interface UploadMetadata {
  /** upload method, by default `model_store.model.put_feedback` */
  method: string
  /** what the part `data` of that method holds */
  data: unknown
  sha256: string
}

/** What belongs to one request; the library hands only the id to its store. */
interface TusCall {
  caller: Caller
  checksum: Checksum | undefined
  /** the body, read only if it comes to that */
  chunks(): AsyncIterable<Uint8Array>
  /** a newcomer wants the upload */
  abort: AbortController
}

/** Routes of resumable uploads, tus 1.0.0. @see https://tus.io/protocols/resumable-upload */
export function addTusRoutes<C, U extends PartialUpload>(
  app: Hono<HttpEnv>,
  api: Api<C>,
  deps: RpcDeps<C>,
  uploads: ResumableUploads<U>,
): void {
  const calls = new AsyncLocalStorage<TusCall>()
  const server = createServer(uploads, calls, deps)
  const handle = async (c: HttpContext): Promise<Response> => {
    c.set('countedAs', 'resumable upload')
    try {
      const caller = await signIn(c, deps)
      requireScope(callOf(c, api, caller, deps), 'model:write')
      refuseEncoding(c)
      await deps.limiter.charge(caller.keyId, addressOf(c), 1)
      const response = await calls.run(tusCall(c, caller, deps.bodyLimits.idleMs), () =>
        server.handleWeb(bodiless(c)),
      )
      if (c.req.method === 'OPTIONS') response.headers.set('Tus-Checksum-Algorithm', CHECKSUM_ALGORITHMS)
      return response
    } catch (error) {
      if (!isAppError(error)) deps.onFault(c.get('requestId'), UPLOADS_PATH, error)
      return uploadRefusalResponse(error, c.get('requestId'))
    }
  }
  app.all(UPLOADS_PATH, handle)
  app.all(`${UPLOADS_PATH}/:id`, handle)
}

function createServer<C, U extends PartialUpload>(
  uploads: ResumableUploads<U>,
  calls: AsyncLocalStorage<TusCall>,
  deps: RpcDeps<C>,
): Server {
  return new Server({
    path: UPLOADS_PATH,
    datastore: createStore(uploads, calls),
    locker: createLocker(
      uploads.lockWaitMs,
      () => calls.getStore(),
      (call) => call.abort.abort(),
    ),
    lockDrainTimeout: uploads.lockWaitMs,
    maxSize: uploads.maxBytes,
    relativeLocation: true, // a forged Host stays out of Location
    allowedOrigins: [], // the library's default is every origin
    namingFunction: () => randomUUID(),
    async onUploadFinish(_request, upload) {
      const { modelId, info } = await uploads.finish(upload.id)
      const headers = { 'X-Model-Id': modelId, 'Content-Type': 'application/json; charset=utf-8' }
      return { status_code: 200, headers, body: JSON.stringify(info) }
    },
    onResponseError(_request, error) {
      if ('status_code' in error) return undefined
      if (!isAppError(error)) deps.onFault('', UPLOADS_PATH, error)
      return refusal(isAppError(error) ? error : new AppError('INTERNAL'))
    },
  })
}

/** The library's base class with our functions in it: offsets are answered after fsync, digests are checked. */
function createStore<U extends PartialUpload>(
  uploads: ResumableUploads<U>,
  calls: AsyncLocalStorage<TusCall>,
): DataStore {
  const current = () => {
    const call = calls.getStore()
    if (call === undefined) throw new Error('the tus store was called outside a request')
    return call
  }
  const owned = async (id: string) => {
    const upload = /^[0-9a-f-]{36}$/.test(id) ? await uploads.find(id) : undefined
    // another key's upload is not there
    if (upload === undefined || upload.keyId !== current().caller.keyId) throw ERRORS.FILE_NOT_FOUND
    return upload
  }
  return Object.assign(new DataStore(), {
    extensions: ['creation', 'checksum', 'expiration', 'termination'],
    async create(upload: Upload) {
      const { caller } = current()
      const sizeBytes = upload.size ?? 0
      await uploads.create({
        uploadId: upload.id,
        sizeBytes,
        metadata: readMetadata(upload.metadata),
        caller,
      })
      return upload
    },
    async getUpload(id: string) {
      const { uploadId, sizeBytes, offsetBytes, activeAtUs } = await owned(id)
      // counted from the last activity, and never by a clock that cannot be believed
      const activeAtMs = uploads.isClockTrusted() ? activeAtUs / 1000 : Date.now()
      const creation_date = new Date(activeAtMs).toISOString()
      return new Upload({ id: uploadId, size: sizeBytes, offset: offsetBytes, creation_date })
    },
    async write(stream: NodeJS.ReadableStream, id: string) {
      stream.resume() // empty: the body is read from the socket, see `flowingChunks`
      const { chunks, checksum } = current()
      return await uploads.append(await owned(id), chunks(), checksum)
    },
    async remove(id: string) {
      await uploads.remove((await owned(id)).uploadId)
    },
    getExpiration: () => uploads.expiryS * 1000,
  })
}

/** The request without its body, which the library would buffer and lose at a break. */
function bodiless(c: HttpContext): Request {
  return new Request(c.req.url, { method: c.req.method, headers: c.req.raw.headers })
}

function tusCall(c: HttpContext, caller: Caller, idleMs: number): TusCall {
  const abort = new AbortController()
  const checksum = readChecksum(c.req.header('upload-checksum'))
  return {
    caller,
    checksum,
    abort,
    chunks() {
      const incoming = c.env?.incoming
      if (incoming === undefined) return (c.req.raw.body ?? []) as unknown as AsyncIterable<Uint8Array>
      continueIfAsked(c)
      return flowingChunks(incoming, idleMs, abort.signal)
    },
  }
}

function readChecksum(header: string | undefined): Checksum | undefined {
  if (header === undefined) return undefined
  const match = /^(sha1|sha256) ([A-Za-z0-9+/]+={0,2})$/.exec(header.trim())
  if (match === null)
    throw new AppError(
      'BAD_UPLOAD',
      {},
      { message: `Upload-Checksum: expected one of ${CHECKSUM_ALGORITHMS} and base64` },
    )
  return { algorithm: match[1] as Checksum['algorithm'], digest: Buffer.from(match[2] ?? '', 'base64') }
}

function readMetadata(metadata: Record<string, string | null> | undefined): UploadMetadata {
  const { method = 'model_store.model.put_feedback', data, sha256 } = metadata ?? {}
  if (
    typeof data !== 'string' ||
    typeof sha256 !== 'string' ||
    !/^[0-9a-f]{64}$/.test(sha256) ||
    method === null
  ) {
    const message = 'Upload-Metadata: expected data (JSON) and sha256 (64 hex digits) of the file'
    throw new AppError('BAD_UPLOAD', {}, { message })
  }
  return { method, data: readJson(Buffer.from(data, 'utf8'), 64), sha256 }
}

/** Statuses as tus has them: 460 for a wrong checksum. */
function refusal(error: AppError): { status_code: number; body: string } {
  const { status, code } = APP_ERRORS[error.errorName]
  const body = JSON.stringify({
    error: { code, message: error.message, data: { name: error.errorName, ...error.data } },
  })
  return { status_code: error.errorName === 'DIGEST_MISMATCH' ? 460 : status, body }
}
