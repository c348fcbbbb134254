import { createHash } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { connectionFault, createAnswerFault, isPassing, objectFault } from './faults.js'

/** Where objects are, and who asks for them. */
export interface S3Options {
  /** address of the store, http: or https: */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKey: string
  readonly secretKey: string
  /** true: the bucket is the first part of the path, as most stores want it; false: of the host name */
  readonly isPathStyle: boolean
  /** longest silence of the store, ms */
  readonly timeoutMs: number
  /** most requests at a time */
  readonly connections: number
  /** certificates of authorities, PEM; absent: those of the system */
  readonly ca?: string | undefined
}

/** Body of a request that can be sent again. */
export interface Body {
  readonly length: number
  /** base64; the store compares it with what came */
  readonly md5: string
  open(): AsyncIterable<Uint8Array>
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** absent for the bucket */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
}

/** Answer whose body must be read or destroyed. */
type Answer = http.IncomingMessage

/** Requests to a bucket. */
export interface S3Client {
  readonly bucket: string
  /**
   * Sends a request, which must be safe to repeat; it is repeated while the store fails in a way that passes.
   *
   * @returns the answer with a status below 300; undefined for an object that does not exist
   * @throws AppError OBJECTS_UNAVAILABLE
   */
  send(request: S3Request): Promise<Answer | undefined>
  /** The same, with the whole body as text. */
  text(request: S3Request): Promise<string | undefined>
  /** Returns an address under which anybody can read an object for a time. */
  presign(key: string, lifeS: number): Promise<string>
  /** Ends all connections. */
  close(): void
}

/** Times that a request is sent, and the wait before the second time, ms; it doubles. */
const ATTEMPTS = 4
const RETRY_MS = 100
/** Largest answer that is read as text: a list of 1,000 objects has some 400 kB. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

/** Creates the client of a bucket. */
export function createS3Client(options: S3Options): S3Client {
  const isTls = options.endpoint.startsWith('https:')
  const agentOptions = { keepAlive: true, maxSockets: options.connections }
  const agent = isTls
    ? new https.Agent({ ...agentOptions, ...(options.ca === undefined ? {} : { ca: options.ca }) })
    : new http.Agent(agentOptions)
  const keys = new Map<string, ArrayBuffer>() // of signatures; one a day
  const sign = async ({ method, key, query = {}, headers = {}, body }: S3Request, signQuery = false) =>
    await new AwsV4Signer({
      method,
      url: urlOf(options, key, query),
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-length': String(body.length), 'content-md5': body.md5 }),
      },
      accessKeyId: options.accessKey,
      secretAccessKey: options.secretKey,
      ...{ service: 's3', region: options.region, signQuery, cache: keys },
    }).sign()
  const attempt = async (request: S3Request): Promise<Answer | undefined> => {
    const { url, headers } = await sign(request)
    const answer = await exchange(url, request, {
      ...{ agent, timeoutMs: options.timeoutMs },
      headers: Object.fromEntries(headers),
    })
    const { statusCode = 0 } = answer
    if (statusCode < 300) return answer
    const text = request.method === 'HEAD' ? '' : await readText(answer)
    // a HEAD has no body; the rest of one that was sent is of no use
    if (request.body === undefined) answer.resume()
    else answer.destroy()
    if (statusCode === 404 && !text.includes('<Code>NoSuchBucket</Code>')) return undefined
    throw createAnswerFault(statusCode, text, options.bucket)
  }
  return {
    bucket: options.bucket,
    send: (request) => repeat(() => attempt(request)),
    text: (request) =>
      repeat(async () => {
        const answer = await attempt(request)
        return answer === undefined ? undefined : await readText(answer)
      }),
    async presign(key, lifeS) {
      const query = { 'X-Amz-Expires': String(lifeS) }
      return (await sign({ method: 'GET', key, query }, true)).url.href
    },
    close: () => agent.destroy(),
  }
}

/** Repeats a request while it fails in a way that passes. @throws AppError OBJECTS_UNAVAILABLE */
async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = ATTEMPTS - 1, waitMs = RETRY_MS; ; left--, waitMs *= 2)
    try {
      return await attempt()
    } catch (error) {
      if (left === 0 || !isPassing(error)) throw error
      await wait(waitMs * (0.5 + Math.random())) // callers that failed together do not come together
    }
}

/** Returns the body that consists of some bytes. */
export function bodyOf(bytes: Uint8Array): Body {
  return {
    length: bytes.length,
    md5: createHash('md5').update(bytes).digest('base64'),
    async *open() {
      yield bytes
    },
  }
}

function urlOf(
  { endpoint, bucket, isPathStyle }: S3Options,
  key: string | undefined,
  query: S3Request['query'],
): string {
  const url = new URL(endpoint)
  if (!isPathStyle) url.hostname = `${bucket}.${url.hostname}`
  const path = [url.pathname.replace(/\/$/, ''), ...(isPathStyle ? [bucket] : []), ...(key?.split('/') ?? [])]
  url.pathname = path.join('/') || '/'
  url.search = new URLSearchParams(query).toString()
  return url.href
}

interface ExchangeOptions {
  readonly agent: http.Agent
  readonly timeoutMs: number
  readonly headers: Readonly<Record<string, string>>
}

/** Sends a request once. @throws AppError OBJECTS_UNAVAILABLE of a connection that failed, or of silence */
async function exchange(
  url: URL,
  { method, body }: S3Request,
  { agent, timeoutMs, headers }: ExchangeOptions,
): Promise<Answer> {
  const { request: open } = url.protocol === 'https:' ? https : http
  const request = open(url, { method, agent, headers })
  request.setTimeout(timeoutMs, () =>
    request.destroy(objectFault(`found no answer within ${timeoutMs} ms`, 'passing')),
  )
  const answered = new Promise<Answer>((resolve, reject) => {
    request.once('response', (answer) => {
      // silence in the middle of a body ends it with the reason
      answer.setTimeout(timeoutMs, () =>
        answer.destroy(objectFault(`found no more bytes within ${timeoutMs} ms`, 'passing')),
      )
      resolve(answer)
    })
    request.on('error', (error) => reject(connectionFault(error)))
  })
  if (body === undefined) request.end()
  else {
    const sent = pipeline(body.open(), request)
    // the error of the request says more; a store may answer before it has read everything
    sent.catch((error: unknown) => request.destroy(error instanceof Error ? error : undefined))
  }
  return await answered
}

async function readText(answer: Answer): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MAX_TEXT_BYTES)
        throw objectFault(`found an answer of more than ${MAX_TEXT_BYTES} bytes`, 'lasting')
      chunks.push(chunk)
    }
  } catch (error) {
    throw connectionFault(error)
  }
  return Buffer.concat(chunks).toString('utf8')
}
