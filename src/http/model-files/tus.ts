import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { DataStore, ERRORS, Server, Upload } from '@tus/server'
import type { Hono } from 'hono'
import { type Caller, requireScope } from '../../auth/caller.js'
import { ERRORS as APP_ERRORS, AppError, isAppError } from '../../errors.js'
import { describeFound } from '../../messages/fault-text.js'
import { errorText, toRpcError } from '../../rpc/envelope.js'
import { readExactJson } from '../../rpc/read-json.js'
import { type CallDeps, refusingFaults, signIn } from '../calls.js'
import { addressOf, type HttpContext, type HttpEnv } from '../env.js'
import { bodyBytes, SMALL_BODY_BYTES, takeStream } from '../memory.js'
import { continueIfAsked, refuseEncoding } from '../read-body.js'
import { createLocker } from './tus-lock.js'
import { inOurWords } from './tus-refusal.js'
import { flowingChunks } from './tus-source.js'

export const UPLOADS_PATH = '/api/v2/model_store/uploads'
/** The protocol requires sha1 of a server that offers checksums. */
export const CHECKSUM_ALGORITHMS = 'sha1,sha256'

/** A resumable upload as the transport sees it. */
interface PartialUpload {
  uploadId: string
  keyId: string
  sizeBytes: number
  offsetBytes: number
  activeAtUs: number
  /** id of the model that the upload became; null while it is not complete */
  modelId: string | null
}

export interface Checksum {
  algorithm: 'sha1' | 'sha256'
  digest: Uint8Array
}

/** Functions behind the routes of resumable uploads. */
export interface ResumableUploads<U extends PartialUpload> {
  maxBytes: number
  expiryS: number
  /** time that a request waits for another one that holds the upload, ms */
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
  /** writes bytes. @returns the offset up to which they are on disk */
  append(upload: U, source: AsyncIterable<Uint8Array>, checksum?: Checksum): Promise<number>
  /** registers the model of a complete upload. @returns its model_info */
  finish(uploadId: string): Promise<{ modelId: string; info: object }>
  remove(uploadId: string): Promise<void>
}

interface UploadMetadata {
  /** upload method; `model_store.model.put_feedback` by default */
  method: string
  /** content of the part `data` of that method, with numbers as supplied */
  data: unknown
  /** digest of the model */
  sha256: string
  /** the upload is a delta that becomes the model */
  delta?: { base: string; sha256: string; modelBytes: number }
}

/** Facts of one request. The library passes only the id of the upload to its store. */
interface TusCall {
  c: HttpContext
  requestId: string
  caller: Caller
  checksum: Checksum | undefined
  /** begins to read the body */
  chunks(): AsyncIterable<Uint8Array>
  /** aborted when another request needs the upload */
  abort: AbortController
}

/** Adds the routes of resumable uploads, tus 1.0.0. @see https://tus.io/protocols/resumable-upload */
export function addTusRoutes<C, U extends PartialUpload>(
  app: Hono<HttpEnv>,
  deps: CallDeps<C>,
  uploads: ResumableUploads<U>,
): void {
  const calls = new AsyncLocalStorage<TusCall>()
  const server = createServer(uploads, calls, deps)
  const handle = async (c: HttpContext): Promise<Response> => {
    c.set('countedAs', 'resumable upload')
    const answer = async () => {
      const caller = await signIn(c, deps)
      requireScope(caller, 'model:write')
      refuseEncoding(c)
      await deps.limiter.charge(caller.keyId, addressOf(c), 1)
      refuseOtherMethods(c)
      const share = bodyBytes(c) > SMALL_BODY_BYTES ? await takeStream(c, deps, caller) : undefined
      const answered = await calls
        .run(tusCall(c, caller, deps.bodyLimits.idleMs), () => server.handleWeb(bodiless(c)))
        .finally(() => share?.release())
      const response = await inOurWords(answered, {
        requestId: c.get('requestId'),
        header: (name) => c.req.header(name),
        maxBytes: uploads.maxBytes,
        findOffset: async () => (await uploads.find(c.req.param('id') ?? ''))?.offsetBytes,
      })
      if (c.req.method === 'OPTIONS') response.headers.set('Tus-Checksum-Algorithm', CHECKSUM_ALGORITHMS)
      return response
    }
    return await refusingFaults(c, deps, UPLOADS_PATH, answer)
  }
  app.all(UPLOADS_PATH, handle)
  app.all(`${UPLOADS_PATH}/:id`, handle)
}

function createServer<C, U extends PartialUpload>(
  uploads: ResumableUploads<U>,
  calls: AsyncLocalStorage<TusCall>,
  deps: CallDeps<C>,
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
    relativeLocation: true, // keeps a forged Host out of Location
    allowedOrigins: [], // the library's default allows every origin
    namingFunction: () => randomUUID(),
    async onUploadFinish(_request, upload) {
      const { modelId, info } = await uploads.finish(upload.id)
      const call = calls.getStore()
      if (call !== undefined) deps.onDone?.(call.c, call.caller, 'resumable-upload')
      const headers = { 'X-Model-Id': modelId, 'Content-Type': 'application/json; charset=utf-8' }
      return { status_code: 200, headers, body: JSON.stringify(info) }
    },
    onResponseError(_request, error) {
      if ('status_code' in error) return undefined
      if (!isAppError(error)) deps.onFault(calls.getStore()?.requestId ?? '', UPLOADS_PATH, error)
      return refusal(isAppError(error) ? error : new AppError('INTERNAL'), calls.getStore()?.requestId ?? '')
    },
  })
}

/** Makes the library's store out of our functions: an offset is answered after fsync, digests are checked. */
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
    // uploads of other keys are answered as unknown
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
      const { uploadId, sizeBytes, offsetBytes, activeAtUs, modelId } = await owned(id)
      // an offset that says "complete" stands for a registered model, also after a crash in between
      if (offsetBytes === sizeBytes && modelId === null) await uploads.finish(uploadId)
      // expires by the last activity, and never by an untrusted clock
      const activeAtMs = uploads.isClockTrusted() ? activeAtUs / 1000 : Date.now()
      const creation_date = new Date(activeAtMs).toISOString()
      return new Upload({ id: uploadId, size: sizeBytes, offset: offsetBytes, creation_date })
    },
    async write(stream: NodeJS.ReadableStream, id: string) {
      stream.resume() // it is empty: `flowingChunks` reads the body from the socket
      const { chunks, checksum } = current()
      return await uploads.append(await owned(id), chunks(), checksum)
    },
    async remove(id: string) {
      await uploads.remove((await owned(id)).uploadId)
    },
    getExpiration: () => uploads.expiryS * 1000,
  })
}

/** Makes the request without its body, which the library would buffer and lose when the connection breaks. */
function bodiless(c: HttpContext): Request {
  return new Request(c.req.url, { method: c.req.method, headers: c.req.raw.headers })
}

function tusCall(c: HttpContext, caller: Caller, idleMs: number): TusCall {
  const abort = new AbortController()
  const checksum = readChecksum(c.req.header('upload-checksum'))
  return {
    c,
    requestId: c.get('requestId'),
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
      {
        message: `Upload-Checksum: found ${describeFound(header)}, expected one of ${CHECKSUM_ALGORITHMS}, a space, and the digest in base64`,
      },
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
    const found = Object.keys(metadata ?? {}).slice(0, 10)
    const message = `Upload-Metadata: found ${found.join(', ').slice(0, 200) || 'nothing'}, expected data (JSON text) and sha256 (64 hex digits of the file), both in base64`
    throw new AppError('BAD_UPLOAD', {}, { message })
  }
  const delta = readDelta(metadata ?? {})
  return {
    method,
    data: readExactJson(Buffer.from(data, 'utf8'), 64),
    sha256,
    ...(delta === undefined ? {} : { delta }),
  }
}

/** Reads `delta_base`, `delta_sha256` and `model_size`, which stand together. @throws AppError BAD_UPLOAD */
function readDelta(metadata: Record<string, string | null>): UploadMetadata['delta'] {
  const { delta_base: base, delta_sha256: sha256, model_size: size } = metadata
  if (base === undefined && sha256 === undefined && size === undefined) return undefined
  const isDigest = (text: string | null | undefined): text is string =>
    typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)
  if (isDigest(base) && isDigest(sha256) && /^\d{1,15}$/.test(size ?? ''))
    return { base, sha256, modelBytes: Number(size) }
  const found = [base, sha256, size].map((text) => describeFound(text)).join(', ')
  const message = `Upload-Metadata: found delta_base, delta_sha256 and model_size ${found}, expected two digests of 64 hex digits and a number of bytes`
  throw new AppError('BAD_UPLOAD', {}, { message })
}

/** @throws AppError METHOD_NOT_ALLOWED for an HTTP method that tus does not use */
function refuseOtherMethods(c: HttpContext): void {
  const allowed =
    c.req.param('id') === undefined ? ['POST', 'OPTIONS'] : ['HEAD', 'PATCH', 'DELETE', 'OPTIONS']
  if (allowed.includes(c.req.method)) return
  const expected = allowed.join(', ')
  const message = `Found the HTTP method ${c.req.method}, expected one of ${expected}`
  throw new AppError('METHOD_NOT_ALLOWED', { allow: expected }, { message })
}

/** Makes an error of the library, with the statuses of tus: 460 for a wrong checksum. */
function refusal(error: AppError, requestId: string): { status_code: number; body: string } {
  const body = errorText(null, toRpcError(error, requestId))
  const { status } = APP_ERRORS[error.errorName]
  return { status_code: error.errorName === 'DIGEST_MISMATCH' ? 460 : status, body }
}
