import { type Change, type ChangesOptions, readChanges } from './changes.js'
import type { Feature } from './feature.js'
import {
  type Counters,
  type ErrorName,
  METHOD_PATHS,
  type MethodName,
  type Methods,
  type ModelInfo,
} from './methods.js'

export type { Change, ChangesOptions } from './changes.js'
export type { Feature } from './feature.js'
export type * from './methods.js'

/** Address of the gateway, and the credentials: a key with its secret, or a session token. */
export interface ClientOptions {
  /** `http://127.0.0.1:8080` */
  readonly url: string
  readonly apiKey?: string
  readonly secret?: string
  readonly token?: string
  /** `service.apiName` of the gateway, `svc` unless it was changed */
  readonly apiName?: string
  /** `service.headerPrefix` of the gateway, `Svc` unless it was changed */
  readonly headerPrefix?: string
  /** replaces the platform's `fetch` */
  readonly fetch?: typeof fetch
}

/** Error of a refused or failed call: an `Error` with these properties. */
export interface FieldgateError extends Error {
  readonly name: 'FieldgateError'
  /** symbolic name, such as `UNKNOWN_TABLE` */
  readonly errorName: ErrorName
  readonly code: number
  /** HTTP status of the response */
  readonly status: number
  readonly requestId: string
  /** details of the error, which depend on its name */
  readonly data: Readonly<Record<string, unknown>>
}

export interface CallOptions {
  readonly signal?: AbortSignal
}

/** Selects features of a collection of `/ogc`. Any other name is a property that must equal its value. */
export interface FeatureFilter {
  readonly bbox?: readonly number[]
  readonly datetime?: string
  readonly limit?: number
  readonly [property: string]: string | number | boolean | readonly number[] | undefined
}

/** Client of one gateway. */
export interface FieldgateClient {
  /** calls a method. @throws FieldgateError */
  call<M extends MethodName>(
    method: M,
    params: Methods[M]['params'],
    options?: CallOptions,
  ): Promise<Methods[M]['result']>
  /** opens a session; later calls send its token instead of the secret. @returns the token */
  signIn(expiresInS?: number): Promise<string>
  /** closes the session of `signIn`, or the one whose token the client was created with */
  signOut(): Promise<void>
  /** adds any number of features to a table; where the platform can, they are streamed while they are produced */
  addFeatures(
    dataName: string,
    features: Iterable<Feature> | AsyncIterable<Feature>,
    options?: CallOptions & { ifExists?: 'override' | 'skip' | 'error' },
  ): Promise<Counters>
  /** features of a collection such as `table.rain`; reads page by page */
  features(collection: string, filter?: FeatureFilter, options?: CallOptions): AsyncGenerator<Feature>
  /** rows of a table as they are put and overridden, without end; goes on after breaks of the connection */
  changes(dataName: string, options?: ChangesOptions): AsyncGenerator<Change>
  /** @param params of `model_store.model.<method>` */
  uploadModel(
    method: 'put' | 'put_aggregated' | 'put_feedback',
    params: object,
    file: Blob | Uint8Array,
    options?: CallOptions,
  ): Promise<ModelInfo>
  /** @returns the response whose body holds the bytes. @param range such as `bytes=0-99` */
  downloadModel(modelId: string, options?: CallOptions & { range?: string }): Promise<Response>
}

/** Checks whether an error is one of the gateway; others come from the network or the platform. */
export function isFieldgateError(error: unknown): error is FieldgateError {
  return error instanceof Error && error.name === 'FieldgateError' && 'errorName' in error
}

/** Creates a client. Nothing is sent before the first call. */
export function createClient(options: ClientOptions): FieldgateClient {
  const connection = connect(options)
  const call: FieldgateClient['call'] = async (method, params, { signal } = {}) => {
    const path = METHOD_PATHS[method].replace('/svcapi/', `/${options.apiName ?? 'svc'}api/`)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await connection.send(path, { method: 'POST', body, type: 'application/json', signal })
    const answer = (await response.json()) as RpcAnswer
    if (answer.error !== undefined) throw toError(response.status, answer.error)
    return answer.result as never
  }
  return {
    call,
    async signIn(expiresInS) {
      const { access_token } = await call('session.open_session', { expires_in: expiresInS ?? null })
      connection.setToken(access_token)
      return access_token
    },
    async signOut() {
      const token = connection.token()
      if (token === undefined) return
      await call('session.close_session', { token })
      connection.setToken(undefined)
    },
    async addFeatures(dataName, features, { ifExists = 'skip', signal } = {}) {
      const path = `/api/v1/dataloaderapi/stream/${encodeURIComponent(dataName)}?if_exists=${ifExists}`
      const body = await bodyOfLines(features)
      const response = await connection.send(path, {
        method: 'POST',
        body,
        type: 'application/x-ndjson',
        signal,
      })
      return (await response.json()) as Counters
    },
    features: (collection, filter = {}, { signal } = {}) =>
      readFeatures(connection, collection, filter, signal),
    changes: (dataName, options = {}) =>
      readChanges(
        (path, headers) => connection.send(path, { method: 'GET', headers, signal: options.signal }),
        ...([dataName, options] as const),
      ),
    async uploadModel(method, params, file, { signal } = {}) {
      const form = new FormData()
      form.append('data', JSON.stringify(params))
      form.append('file', file instanceof Blob ? file : new Blob([file as Uint8Array<ArrayBuffer>]), 'model')
      const path = `/api/v2/model_store/jsonrpc/upload/model_store.model.${method}`
      const response = await connection.send(path, { method: 'POST', body: form, signal })
      return (await response.json()) as ModelInfo
    },
    downloadModel: (modelId, { range, signal } = {}) =>
      connection.send(`/api/v2/model_store/models/${encodeURIComponent(modelId)}/file`, {
        method: 'GET',
        signal,
        ...(range === undefined ? {} : { headers: { Range: range } }),
      }),
  }
}

interface Connection {
  /** @param path absolute path of the gateway. @throws FieldgateError for an error status */
  send(path: string, request: Sent): Promise<Response>
  token(): string | undefined
  setToken(token: string | undefined): void
}

/** Body of a request. Not all platforms define the type `BodyInit`. */
type Body = string | Blob | FormData | ReadableStream<Uint8Array>

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly body?: Body
  readonly type?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal | undefined
}

interface RpcAnswer {
  readonly result?: unknown
  readonly error?: RpcFault
}

interface RpcFault {
  readonly code: number
  readonly message: string
  readonly data: { readonly name: ErrorName; readonly requestId: string } & Record<string, unknown>
}

function connect(options: ClientOptions): Connection {
  const base = options.url.replace(/\/+$/, '')
  let { token } = options
  return {
    token: () => token,
    setToken(next) {
      token = next
    },
    async send(path, { method, body, type, headers, signal }) {
      const request = {
        method,
        headers: {
          ...signInHeaders(options, token),
          ...(type === undefined ? {} : { 'Content-Type': type }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
        ...(body instanceof ReadableStream ? { duplex: 'half' } : {}), // fetch requires it for a stream
      }
      const send = options.fetch ?? fetch
      const response = await send(`${base}${path}`, request as unknown as RequestInit)
      if (response.ok) return response
      throw await refusal(response)
    },
  }
}

function signInHeaders(options: ClientOptions, token: string | undefined): Record<string, string> {
  if (token !== undefined) return { [`${options.headerPrefix ?? 'Svc'}-Session-Token`]: token }
  const { apiKey, secret } = options
  return apiKey === undefined || secret === undefined ? {} : { APIKey: apiKey, Secret: secret }
}

/** Error of a response: its body is a JSON-RPC error, or below `/ogc` that of the OGC standard. */
async function refusal(response: Response): Promise<Error> {
  const text = await response.text()
  const body = parsed(text) as { error?: RpcFault; code?: string; description?: string; requestId?: string }
  if (body.error !== undefined) return toError(response.status, body.error)
  return toError(response.status, {
    code: 0,
    message: body.description ?? `HTTP ${response.status}: ${text.slice(0, 200)}`,
    data: { name: (body.code ?? 'INTERNAL') as ErrorName, requestId: body.requestId ?? '' },
  })
}

function parsed(text: string): object {
  try {
    return JSON.parse(text) as object
  } catch {
    return {} // not the gateway's but a proxy's page: the error has the status and the text
  }
}

function toError(status: number, { code, message, data }: RpcFault): FieldgateError {
  const { name: errorName, requestId, ...rest } = data
  return Object.assign(new Error(message), {
    name: 'FieldgateError' as const,
    errorName,
    code,
    status,
    requestId,
    data: rest,
  })
}

/** Body of lines: a stream, or a single blob where fetch cannot send streams. */
async function bodyOfLines(features: Iterable<Feature> | AsyncIterable<Feature>): Promise<Body> {
  const lines = linesOf(features)
  if (canSendStreams()) {
    const encoder = new TextEncoder()
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const step = await lines.next()
        if (step.done === true) controller.close()
        else controller.enqueue(encoder.encode(step.value))
      },
      async cancel() {
        await lines.return(undefined)
      },
    })
  }
  const parts: string[] = []
  for await (const part of lines) parts.push(part)
  return new Blob(parts)
}

/** Characters that are collected into one chunk. */
const GATHER_CHARS = 65_536

async function* linesOf(features: Iterable<Feature> | AsyncIterable<Feature>): AsyncGenerator<string> {
  let text = ''
  for await (const feature of features) {
    text += `${JSON.stringify(feature)}\n`
    if (text.length < GATHER_CHARS) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

/** Feature test: a platform without streaming bodies converts the stream to text and sets a content type. */
function canSendStreams(): boolean {
  let isAsked = false
  const probe = {
    method: 'POST',
    body: new ReadableStream(),
    get duplex() {
      isAsked = true
      return 'half'
    },
  }
  const hasType = new Request('http://localhost/', probe as unknown as RequestInit).headers.has(
    'Content-Type',
  )
  // browsers send streams over HTTP/2 only, which the gateway does not support
  return isAsked && !hasType && !('document' in globalThis)
}

async function* readFeatures(
  connection: Connection,
  collection: string,
  filter: FeatureFilter,
  signal: AbortSignal | undefined,
): AsyncGenerator<Feature> {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) search.set(name, String(value))
  let query = search.toString()
  for (;;) {
    const path = `/ogc/collections/${encodeURIComponent(collection)}/items?${query}`
    const response = await connection.send(path, {
      method: 'GET',
      headers: { Accept: 'application/geo+json' },
      signal,
    })
    const page = (await response.json()) as { features: Feature[]; links: { rel: string; href: string }[] }
    yield* page.features
    const next = page.links.find(({ rel }) => rel === 'next')
    if (next === undefined) return
    query = new URL(next.href).search.slice(1)
  }
}
