import { randomUUID } from 'node:crypto'
import { AppError } from '../errors.js'
import { isRawNumber, parseExact } from '../json/exact-json.js'
import type { ModelRecord } from '../storage/models/models.js'
import { type Attempt, type AttemptDeps, pacedBytes, signatureFor } from './attempt.js'
import { isUnsupported, malformed, refused } from './faults.js'
import { errorMessageIn, isObject, parseObject, type Reply } from './http-client.js'
import { feedbackData, listRemote, MODEL_STORE_PATH, plainData, type RemoteModel } from './peer.js'

/** Models of the same digest that are compared when an answer was lost. */
const MAX_SAME = 100

/**
 * Largest model that is sent to another gateway in one request; announcing a smaller one would take longer.
 */
export const SMALL_BYTES = 32 * 1024

/**
 * Sends a model to a server with the public interface only: one multipart upload. If an earlier attempt may
 * have arrived, the upstream is searched for its model first, so that a lost answer does not lead to a second
 * copy.
 *
 * @returns JSON text of the model_info that the upstream answered
 * @throws AppError UPSTREAM_REFUSED, UPSTREAM_UNREACHABLE, MODEL_DAMAGED, CANCELLED
 */
export async function pushMultipart(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
): Promise<string> {
  const { transferId, mayBeReceived } = attempt.transfer
  if (mayBeReceived) {
    const found = await findReceived(deps, attempt, model)
    if (found !== undefined) return JSON.stringify(found)
  }
  // recorded before the first byte: after a crash it would be unknown
  await deps.transfers.note(transferId, { mayBeReceived: true })
  let isBegun = false
  try {
    const data = plainData(model, attempt.upstream)
    const onBegin = () => {
      isBegun = true
    }
    const reply = await upload(deps, attempt, model, { method: 'put', data, onBegin })
    // a status from 400 to 499 means that the model was not registered; after a 5xx it may have been
    if (reply.status >= 400 && reply.status < 500)
      await deps.transfers.note(transferId, { mayBeReceived: false })
    return readReply(reply)
  } catch (error) {
    // nothing was sent, so there is nothing to search for next time
    if (!isBegun) await deps.transfers.note(transferId, { mayBeReceived })
    throw error
  }
}

/**
 * Sends a small model to another gateway in one request. It may be sent twice, because the receiver knows its
 * origin.
 *
 * @returns JSON text of the model_info that the peer answered
 */
export async function pushSmall(deps: AttemptDeps, attempt: Attempt, model: ModelRecord): Promise<string> {
  const signature = await signatureFor(deps, attempt, model.modelId)
  const data = feedbackData(model, attempt.upstream, deps.nodeId, signature)
  return readReply(
    await upload(deps, attempt, model, { method: 'put_feedback', data, onBegin: () => undefined }),
  )
}

type WholeReply = Pick<Reply, 'status' | 'headers'> & { text: string }

async function upload(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
  { method, data, onBegin }: { method: 'put' | 'put_feedback'; data: object; onBegin(): void },
): Promise<WholeReply> {
  const source = await deps.blobs.open(model.sha256)
  if (source === undefined) throw new AppError('MODEL_DAMAGED', { model_id: model.modelId })
  const body = multipartBody(data, model.sizeBytes)
  const chunks = async function* () {
    onBegin()
    yield body.head
    yield* pacedBytes(deps, source, attempt, false)
    yield body.tail
  }
  try {
    const reply = await attempt.client.send({
      method: 'POST',
      path: `${MODEL_STORE_PATH}/upload/model_store.model.${method}`,
      headers: { 'content-type': body.contentType, 'content-length': String(body.sizeBytes) },
      body: chunks(),
      signal: attempt.signal,
    })
    return { status: reply.status, headers: reply.headers, text: await reply.text() }
  } finally {
    await source.return?.()
  }
}

function readReply({ status, headers, text }: WholeReply): string {
  const json = parseObject(text)
  const info = isObject(json?.result) ? json.result : json // some servers wrap the model_info in a JSON-RPC answer
  if (status >= 200 && status < 300) {
    if (typeof info?.model_id === 'string') return JSON.stringify(info)
    throw malformed('something other than a model_info')
  }
  throw refused(status, errorMessageIn(text), headers)
}

/**
 * Finds the model of an earlier attempt at the upstream; undefined if there is none or the server has no
 * list.
 */
async function findReceived(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
): Promise<RemoteModel | undefined> {
  const { client, upstream, signal } = attempt
  const query = { conds: { '=': ['model_hash', model.md5] }, order: 'start_datetime', limit: MAX_SAME }
  let found: RemoteModel[]
  try {
    found = await listRemote(client, upstream, query, signal)
  } catch (error) {
    if (isUnsupported(error, [403])) return undefined
    throw error
  }
  const alike = found.filter(
    (remote) =>
      remote.model_hash.toLowerCase() === model.md5 &&
      remote.model_size === model.sizeBytes &&
      remote.model_kind === model.kind &&
      remote.model_description === model.description &&
      canonical(remote.model_meta) === canonical(parseExact(model.meta)),
  )
  const ids = alike.map((remote) => remote.model_id)
  const taken = await deps.transfers.deliveredIds(upstream.upstreamId, ids)
  return alike.find((remote) => !taken.has(remote.model_id))
}

/**
 * Formats JSON with sorted keys and numbers as doubles, so that equal values have equal texts, also those of
 * a server that rounds.
 */
function canonical(value: unknown): string {
  if (isRawNumber(value)) return String(Number(value.rawJSON))
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}

/** Returns the text before and after the file of a multipart body, with its content type and whole size. */
function multipartBody(data: object, fileBytes: number) {
  const boundary = `fieldgate-${randomUUID()}`
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="data"\r\nContent-Type: application/json; charset=utf-8\r\n\r\n` +
      `${JSON.stringify(data)}\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="model.dat"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    sizeBytes: head.byteLength + fileBytes + tail.byteLength,
    head,
    tail,
  }
}
