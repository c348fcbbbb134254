import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { createBlobStore } from '../../src/files/blob-store.js'
import { createPartFiles } from '../../src/files/part-files.js'
import { openDeltaStore } from '../../src/models/delta-store.js'
import { createPins } from '../../src/models/pins.js'
import type { RebuildDeps } from '../../src/models/rebuild.js'
import { type ModelFacts, type RegisterDeps, registerModel } from '../../src/models/register-model.js'
import { createSignaturePolicy } from '../../src/models/signature/policy.js'
import { createUploads, type Uploads } from '../../src/models/uploads.js'
import type { ModelRecord } from '../../src/storage/models/models.js'
import type { TransferRecord } from '../../src/storage/models/transfers.js'
import type { Attempt, AttemptDeps } from '../../src/sync/attempt.js'
import type { Reply, UpstreamClient } from '../../src/sync/http-client.js'
import { chunksOf } from './blob-store-conformance.js'
import { inlineDeltaWork } from './deltas.js'
import { memoryState } from './memory-state.js'

/** Request that a scripted upstream received. Its body is read by the script, if at all. */
export interface SentRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: AsyncIterable<Uint8Array>
}

/** Answer to one request: a reply, an error, or a function that reads the request. */
export type Step = Reply | Error | ((request: SentRequest) => Promise<Reply> | Reply)

/** Reply of an upstream. `chunks` is the body as it arrives; an error in it breaks the connection there. */
export function replyOf(
  status: number,
  body: string | object | readonly (Uint8Array | Error)[] = '',
  headers: Reply['headers'] = {},
): Reply & { isDiscarded: boolean } {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const reply = {
    status,
    headers,
    isDiscarded: false,
    text: async () => text,
    async *chunks() {
      for (const chunk of Array.isArray(body) ? body : [Buffer.from(text)]) {
        if (chunk instanceof Error) throw chunk
        yield chunk
      }
    },
    async discard() {
      reply.isDiscarded = true
    },
  }
  return reply
}

/** Client of an upstream that answers requests in the order of `steps`, and calls by their method. */
export function scriptedClient(steps: Step[], methods: Record<string, (params: object) => unknown> = {}) {
  /** requests and calls: `PATCH /path` or the name of the method */
  const calls: string[] = []
  /** headers and whole body of each request */
  const requests: { headers: Record<string, string>; body: Buffer }[] = []
  const client: UpstreamClient = {
    async send({ method, path, headers = {}, body }) {
      calls.push(`${method} ${path}`)
      const step = steps.shift()
      if (step === undefined) throw new Error(`the script has no answer to ${method} ${path}`)
      const source = typeof body === 'object' ? body : chunksOf(Buffer.from(body ?? ''), 1000)
      if (typeof step === 'function') return await step({ method, path, headers, body: source })
      requests.push({ headers, body: Buffer.concat(await Array.fromAsync(source)) })
      if (step instanceof Error) throw step
      return step
    },
    async rpc(_path, method, params) {
      calls.push(method)
      const answer = methods[method]
      if (answer === undefined) throw new Error(`the script has no method ${method}`)
      const value = await answer(params)
      if (value instanceof Error) throw value
      return value
    },
    close: async () => undefined,
  }
  return { client, calls, requests }
}

/** Facts of a model that a test registers. */
export const FACTS: ModelFacts = {
  store: 'rain',
  kind: 'kind',
  description: 'description',
  meta: { a: 1 },
  state: 10,
  round: 3,
  origin: null,
  hopCount: 0,
  chain: [],
  tenantId: 'tenant',
  startUs: 1,
}

const { startUs: _, ...supplied } = FACTS
/** Those of `FACTS` that an upload supplies. */
export const SUPPLIED: Omit<ModelFacts, 'startUs'> = supplied

/** No model needs a signature. */
export const NO_DEMAND = { requireSignature: false, signedStores: [], signedKinds: [] }

type UploadsDeps = Parameters<typeof createUploads>[0]

/** Id of a form that rows of uploads and keys have. */
export const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** A model store on disk and in memory, with one upstream. Registered models of state 10 are queued for it. */
export async function attemptParts(t: Test) {
  const root = t.testdir()
  mkdirSync(path.join(root, 'tmp'))
  const state = await memoryState(t)
  const blobs = createBlobStore({ dir: path.join(root, 'blobs'), tempDir: path.join(root, 'tmp') })
  const parts = createPartFiles(path.join(root, 'parts'))
  const register: RegisterDeps = {
    models: state.models,
    stores: state.modelStores,
    blobs,
    pins: createPins(),
    nodeId: 'here',
    clock: state.clock,
    newId: randomUUID,
    location: [139.7, 35.6],
    autoCreate: true,
    signatures: createSignaturePolicy(NO_DEMAND, new Map()),
    pushStates: new Set([10]),
    onQueued: () => undefined,
  }
  const work = inlineDeltaWork()
  const tempDir = path.join(root, 'tmp')
  const requireSpace = async () => undefined
  const rebuild: RebuildDeps = { blobs, pins: register.pins, work, tempDir, requireSpace }
  const store = await state.modelStores.create('rain')
  if (store === undefined) throw new Error('the store was not made')
  const upstream = await state.upstreams.create({
    storeId: store.storeId,
    endpoint: 'https://up.example/base',
    apikey: 'key',
    secret: 'secret',
    upstreamStore: 'theirs',
    alias: 'up',
    description: '',
    isEnabled: true,
  })
  /** waits of the attempts, ms */
  const sleeps: number[] = []
  /** reason why sending is not allowed */
  const gate: { reason: string | null } = { reason: null }
  const deps: AttemptDeps = {
    register,
    transfers: state.transfers,
    blobs,
    parts,
    deltas: null,
    nodeId: 'here',
    throttle: { pieceBytes: 1000, take: async (_bytes, signal) => signal.throwIfAborted() },
    requireSpace,
    closedReason: () => gate.reason,
    sleep: async (ms) => void sleeps.push(ms),
    random: () => 0.5,
  }
  return {
    deps,
    /** turns deltas on: `deps.deltas` of an attempt */
    async openDeltas(): Promise<NonNullable<AttemptDeps['deltas']>> {
      const dir = path.join(root, 'deltas')
      const log = { info: () => undefined, warn: () => undefined }
      return { rebuild, store: await openDeltaStore({ ...rebuild, dir, minBytes: 1000, maxBytes: 1e9, log }) }
    },
    rebuild,
    /** opens the uploads of a process over the same rows and parts */
    openUploads: (change: Pick<UploadsDeps, 'requireSpace'> & Partial<UploadsDeps>): Uploads =>
      createUploads({ ...register, ...rebuild, uploads: state.uploads, parts, maxOpenPerKey: 2, ...change }),
    state,
    store,
    upstream,
    sleeps,
    gate,
    /** registers bytes as a model; its feedback begins */
    async put(bytes: Buffer, facts: Partial<ModelFacts> = {}): Promise<ModelRecord> {
      const staged = await blobs.stage(chunksOf(bytes, 700))
      return await registerModel(register, staged, { ...FACTS, ...facts })
    },
    /** queued feedback or fetch as an attempt gets it, begun */
    async begin(kind: 'feedback' | 'fetch'): Promise<TransferRecord> {
      if (kind === 'fetch') await state.transfers.queueFetch(store.storeId, upstream.upstreamId)
      const [first] = await state.transfers.waiting({ upstreamId: upstream.upstreamId, kind }, 1)
      if (first === undefined) throw new Error(`no ${kind} is queued`)
      await state.transfers.begin(first.transferId)
      return first
    },
    /** attempt of a transfer over a client */
    attemptOf(
      transfer: TransferRecord,
      client: UpstreamClient,
      change: Partial<Attempt> = {},
    ): Attempt & { moved: number[] } {
      const moved: number[] = []
      const progress = { doneBytes: 0, movedBytes: 0, onMoved: (bytes: number) => void moved.push(bytes) }
      const { signal } = new AbortController()
      const peer = { isPeer: true, nodeId: 'there', hasSignatures: true, takesDeltas: false }
      const baseUrl = 'https://up.example/base'
      return { transfer, upstream, baseUrl, client, peer, signal, progress, moved, ...change }
    },
  }
}
