import { randomUUID } from 'node:crypto'
import { AppError, isAppError } from '../errors.js'
import type { ModelRecord } from '../storage/models.js'
import { type Attempt, type AttemptDeps, pacedBytes } from './attempt.js'
import { garbage, refused } from './faults.js'
import { parseObject, type Reply } from './http-client.js'
import { feedbackData, listRemote, MODEL_STORE_PATH, plainData, type RemoteModel } from './peer.js'

/** Models of the same digest that are looked at when an answer was lost. */
const MAX_SAME = 100

/** A model up to this size goes to another gateway in one request: asking where to send it would take longer. */
export const SMALL_BYTES = 32 * 1024

/**
 * Sends a model to a server that knows only the public interface: one multipart upload. When an earlier attempt may
 * have arrived, the upstream is asked for it first, so that a lost answer does not become a second model.
 *
 * @returns the model_info that the upstream answered, JSON text
 */
export async function pushMultipart(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
): Promise<string> {
  const { transferId, mayBeReceived } = attempt.transfer
  if (mayBeReceived) {
    const found = await lookUp(deps, attempt, model)
    if (found !== undefined) return JSON.stringify(found)
  }
  // before the first byte: after a crash nobody could tell any more
  await deps.transfers.note(transferId, { mayBeReceived: true })
  const sending = { isBegun: false }
  try {
    const reply = await upload(deps, attempt, model, 'put', plainData(model, attempt.upstream), sending)
    // a refusal of the 400s is certain: the model is not there. Behind a 500 it may be
    if (reply.status >= 400 && reply.status < 500)
      await deps.transfers.note(transferId, { mayBeReceived: false })
    return readReply(reply)
  } catch (error) {
    // nothing left this machine: there is nothing to look for next time
    if (!sending.isBegun) await deps.transfers.note(transferId, { mayBeReceived })
    throw error
  }
}

/** Sends a small model to another gateway. It may be sent again: the receiver knows its origin. */
export async function pushSmall(deps: AttemptDeps, attempt: Attempt, model: ModelRecord): Promise<string> {
  const data = feedbackData(model, attempt.upstream, deps.nodeId)
  return readReply(await upload(deps, attempt, model, 'put_feedback', data, { isBegun: false }))
}

type WholeReply = Pick<Reply, 'status' | 'headers'> & { text: string }

async function upload(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
  method: 'put' | 'put_feedback',
  data: object,
  sending: { isBegun: boolean },
): Promise<WholeReply> {
  const source = await deps.blobs.open(model.sha256)
  if (source === undefined) throw new AppError('MODEL_DAMAGED', { model_id: model.modelId })
  const body = multipartBody(data, model.sizeBytes)
  const chunks = async function* () {
    sending.isBegun = true
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
  // some servers wrap the model_info in a JSON-RPC answer
  const info =
    typeof json?.result === 'object' && json.result !== null ? (json.result as Record<string, unknown>) : json
  if (status >= 200 && status < 300) {
    if (typeof info?.model_id === 'string') return JSON.stringify(info)
    throw garbage('something else than a model_info')
  }
  const error = json?.error
  const message =
    typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : text
  throw refused(status, message, headers)
}

/** The model of an earlier attempt, undefined when it is not there or the server cannot be asked. */
async function lookUp(
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
    if (cannotBeAsked(error)) return undefined
    throw error
  }
  const alike = found.filter(
    (remote) =>
      remote.model_hash.toLowerCase() === model.md5 &&
      remote.model_size === model.sizeBytes &&
      remote.model_kind === model.kind &&
      remote.model_description === model.description &&
      canonical(remote.model_meta) === canonical(JSON.parse(model.meta)),
  )
  const ids = alike.map((remote) => remote.model_id)
  const taken = await deps.transfers.deliveredIds(upstream.upstreamId, ids)
  return alike.find((remote) => !taken.has(remote.model_id))
}

/** A server that has no such method, or speaks no JSON-RPC there. */
function cannotBeAsked(error: unknown): boolean {
  if (!isAppError(error) || error.errorName !== 'UPSTREAM_REFUSED') return false
  const { status, isGarbage } = error.data
  return (
    isGarbage === true || (typeof status === 'number' && [400, 403, 404, 405, 406, 415, 501].includes(status))
  )
}

/** JSON text with sorted keys, so that two texts of one value are equal. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}

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
