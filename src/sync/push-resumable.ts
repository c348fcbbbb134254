import { AppError, isAppError } from '../errors.js'
import { digestOf } from '../files/blob-store.js'
import type { ModelRecord } from '../storage/models.js'
import { type Attempt, type AttemptDeps, pacedBytes } from './attempt.js'
import { garbage, refused } from './faults.js'
import { ownPath, parseObject, type Reply } from './http-client.js'
import { announce, feedbackData } from './peer.js'

const TUS = { 'tus-resumable': '1.0.0' }
/** Breaks in a row without a byte gained that an attempt bears before it waits for its next turn. */
const MAX_IDLE_BREAKS = 3
/** Wait after a break, so that a link that is down is not hammered, ms. */
const BREAK_MS = 200
/** Wrong digests that an attempt bears: the bytes may have been damaged on the way once. */
const MAX_MISMATCHES = 2

/**
 * Sends a model to another gateway. The digest is named first: bytes that the peer has are not sent. Then the offset
 * is asked and the rest sent, again and again as long as every break leaves the peer with more bytes than before.
 *
 * @returns the model_info that the peer answered, JSON text
 * @see tus 1.0.0, https://tus.io/protocols/resumable-upload
 */
export async function pushResumable(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
): Promise<string> {
  const state: PushState = {
    url: attempt.transfer.resumeUrl,
    offset: 0,
    best: -1,
    idleBreaks: 0,
    mismatches: 0,
  }
  for (;;) {
    try {
      const answer = await pushOnce(deps, attempt, model, state)
      if (answer !== undefined) return answer
    } catch (error) {
      if (!isBreak(error) || attempt.signal.aborted) throw error
      state.idleBreaks++
      if (state.idleBreaks > MAX_IDLE_BREAKS) throw error
      // at once after the first: a link that breaks often would spend its time waiting
      if (state.idleBreaks > 1) await deps.sleep(BREAK_MS * deps.random(), attempt.signal)
    }
  }
}

interface PushState {
  /** where the upload goes on, null before it was announced */
  url: string | null
  offset: number
  /** highest offset that the peer told */
  best: number
  /** breaks since `best` grew */
  idleBreaks: number
  mismatches: number
}

/** @returns undefined when the upload has to be looked at again */
async function pushOnce(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
  state: PushState,
): Promise<string | undefined> {
  if (state.url === null) {
    const answer = await begin(deps, attempt, model, state)
    if (answer !== undefined) return answer
  } else if (!(await askOffset(attempt, state))) {
    state.url = null // forgotten there: it was registered meanwhile, or has to begin anew
    return undefined
  }
  noteProgress(attempt, state)
  await deps.transfers.note(attempt.transfer.transferId, { bytesSent: state.offset, resumeUrl: state.url })
  return await sendRest(deps, attempt, model, state)
}

async function begin(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
  state: PushState,
): Promise<string | undefined> {
  const data = feedbackData(model, attempt.upstream, deps.nodeId)
  const announced = await announce(
    attempt.client,
    { sha256: model.sha256, size: model.sizeBytes, data },
    attempt.signal,
  )
  if (announced.have) return JSON.stringify(announced.model_info)
  const path = ownPath(announced.upload_url, attempt.baseUrl)
  if (path === undefined) throw garbage('an upload address that is not its own')
  state.url = path
  state.offset = announced.offset
  return undefined
}

/** False when the peer does not know the upload any more. */
async function askOffset(attempt: Attempt, state: PushState): Promise<boolean> {
  const { client, signal } = attempt
  const reply = await client.send({ method: 'HEAD', path: state.url ?? '', headers: TUS, signal })
  await reply.discard()
  if (reply.status === 404 || reply.status === 410) return false
  const offset = Number(reply.headers['upload-offset'] ?? Number.NaN)
  if (reply.status !== 200 && reply.status !== 204) throw refused(reply.status, '', reply.headers)
  if (!Number.isSafeInteger(offset) || offset < 0) throw garbage('no Upload-Offset')
  state.offset = offset
  return true
}

function noteProgress(attempt: Attempt, state: PushState): void {
  attempt.progress.doneBytes = state.offset
  if (state.offset > state.best) state.idleBreaks = 0
  state.best = Math.max(state.best, state.offset)
}

async function sendRest(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
  state: PushState,
): Promise<string | undefined> {
  const { offset } = state
  const end = model.sizeBytes
  const bytes = await deps.blobs.open(model.sha256, { start: offset, end })
  if (bytes === undefined) throw new AppError('MODEL_DAMAGED', { model_id: model.modelId })
  const reply = await attempt.client.send({
    method: 'PATCH',
    path: state.url ?? '',
    headers: {
      ...TUS,
      'content-type': 'application/offset+octet-stream',
      'content-length': String(end - offset),
      'upload-offset': String(offset),
    },
    body: pacedBytes(deps, bytes, attempt, true),
    signal: attempt.signal,
  })
  return await readPatchReply(deps, reply, model, state)
}

async function readPatchReply(
  deps: AttemptDeps,
  reply: Reply,
  model: ModelRecord,
  state: PushState,
): Promise<string | undefined> {
  const { status, headers } = reply
  const text = await reply.text()
  if (status === 200) {
    if (typeof parseObject(text)?.model_id !== 'string') throw garbage('no model_info after the last byte')
    return text
  }
  if (status === 204) {
    // whole, but the answer says nothing of the model: the announcement will
    if (Number(headers['upload-offset']) === model.sizeBytes) state.url = null
    return undefined
  }
  if (status === 404 || status === 410) {
    state.url = null
    return undefined
  }
  if (status === 460) {
    await checkOwnBytes(deps, model)
    state.url = null
    state.mismatches++
    if (state.mismatches < MAX_MISMATCHES) return undefined
    throw new AppError('DIGEST_MISMATCH', {}, { message: 'The upstream received other bytes than were sent' })
  }
  // the offset was another one than was told, or an earlier request of ours still held the upload
  if (status === 409 || status === 423) {
    state.idleBreaks++
    if (state.idleBreaks <= MAX_IDLE_BREAKS) return undefined
  }
  throw refused(status, messageIn(text), headers)
}

/** The peer saw other bytes: either the way damaged them, or this disk did. @throws AppError MODEL_DAMAGED */
async function checkOwnBytes(deps: AttemptDeps, model: ModelRecord): Promise<void> {
  const bytes = await deps.blobs.open(model.sha256)
  if (bytes !== undefined && (await digestOf(bytes)).sha256 === model.sha256) return
  await deps.register.models.setDamaged(model.sha256, true)
  throw new AppError('MODEL_DAMAGED', { model_id: model.modelId })
}

function messageIn(text: string): string {
  const error = parseObject(text)?.error
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : text
}

function isBreak(error: unknown): boolean {
  return isAppError(error) && error.errorName === 'UPSTREAM_UNREACHABLE'
}
