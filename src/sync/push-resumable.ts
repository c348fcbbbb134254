import { AppError, isAppError } from '../errors.js'
import { digestOf } from '../files/blob-store.js'
import type { StoredDelta } from '../models/delta-store.js'
import type { ModelRecord } from '../storage/models/models.js'
import type { TransferNote } from '../storage/models/transfers.js'
import { type Attempt, type AttemptDeps, pacedBytes, signatureFor } from './attempt.js'
import { malformed, refused } from './faults.js'
import { errorMessageIn, ownPath, parseObject, type Reply } from './http-client.js'
import { announce, feedbackData } from './peer.js'
import { basesFor, deltaRefusal, deltaTo, giveUpDelta, resumedDelta } from './push-delta.js'

const TUS = { 'tus-resumable': '1.0.0' }
/** Consecutive breaks without a byte gained after which an attempt fails. */
const MAX_IDLE_BREAKS = 3
/** Longest wait after a break, ms, so that a link that is down is not retried in a loop. */
const BREAK_MS = 200
/** Wrong digests after which an attempt fails; the first one may be an error of the link. */
const MAX_MISMATCHES = 2
/** Uploads of a delta that an attempt begins; then the model itself is sent. */
const MAX_DELTAS = 2

/**
 * Sends a model to another gateway. The digest is announced first: bytes that the peer has are not sent. If both
 * sides have a base, a delta to it is sent where it is smaller, and the model itself on any doubt. After each break the offset is asked for and the rest is sent, as long as the peer gains bytes.
 *
 * @returns JSON text of the model_info that the peer answered
 * @throws AppError UPSTREAM_REFUSED, UPSTREAM_UNREACHABLE, DIGEST_MISMATCH, MODEL_DAMAGED, CANCELLED
 * @see tus 1.0.0, https://tus.io/protocols/resumable-upload
 */
export async function pushResumable(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
): Promise<string> {
  const state = await startState(deps, attempt, model)
  for (;;) {
    try {
      const answer = await pushOnce(deps, attempt, model, state)
      if (answer === undefined) continue
      if (state.delta !== null) await deps.deltas?.store.remove(state.delta)
      return answer
    } catch (error) {
      const refusal = state.delta === null ? undefined : deltaRefusal(error)
      if (refusal === undefined) await waitAfter(error, deps, attempt, state)
      else await sendWhole(deps, attempt, state, refusal)
    }
  }
}

/** Waits after a break of the link. @throws the error if it is another one, or the breaks are too many */
async function waitAfter(
  error: unknown,
  deps: AttemptDeps,
  attempt: Attempt,
  state: PushState,
): Promise<void> {
  if (!isBreak(error) || attempt.signal.aborted) throw error
  state.idleBreaks++
  if (state.idleBreaks > MAX_IDLE_BREAKS) throw error
  // the first break is retried at once, because a link that breaks often would spend its time waiting
  if (state.idleBreaks > 1) await deps.sleep(BREAK_MS * deps.random(), attempt.signal)
}

/** Returns the state that an earlier attempt left: a delta whose bytes are gone is not continued. */
async function startState(deps: AttemptDeps, attempt: Attempt, model: ModelRecord): Promise<PushState> {
  const { resumeUrl, delta: noted } = attempt.transfer
  const delta = (await resumedDelta(deps, attempt, model)) ?? null
  const isWhole = noted !== null && noted.error !== null
  return {
    url: delta !== null || noted === null || isWhole ? resumeUrl : null,
    delta,
    hasNoted: noted !== null && !isWhole,
    deltas: 0,
    isWhole,
    offset: 0,
    best: -1,
    idleBreaks: 0,
    mismatches: 0,
  }
}

/** State of an upload over its breaks. */
interface PushState {
  /** path of the upload at the peer; null before it was announced */
  url: string | null
  /** delta that is sent instead of the model; null for the model itself */
  delta: StoredDelta | null
  /** the row of the transfer tells of a delta */
  hasNoted: boolean
  /** uploads of a delta that were begun */
  deltas: number
  /** no delta is tried any more */
  isWhole: boolean
  offset: number
  /** highest offset that the peer reported */
  best: number
  /** breaks since `best` grew */
  idleBreaks: number
  /** uploads that the peer refused for their digest */
  mismatches: number
}

/**
 * Sends the rest of an upload. Returns the answer; undefined if the state of the upload has to be asked for
 * again.
 */
async function pushOnce(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
  state: PushState,
): Promise<string | undefined> {
  let { url } = state
  if (url === null) {
    const begun = await begin(deps, attempt, model, state)
    if ('answer' in begun) return begun.answer
    url = begun.url
    state.url = url
    state.offset = begun.offset
  } else {
    const offset = await askOffset(attempt, url)
    if (offset === undefined) {
      state.url = null // removed at the peer: registered meanwhile, or to be announced again
      return undefined
    }
    state.offset = offset
  }
  noteProgress(attempt, state)
  await deps.transfers.note(attempt.transfer.transferId, {
    bytesSent: state.offset,
    resumeUrl: url,
    ...noteOfDelta(state, model),
  })
  return await sendRest(deps, attempt, model, { url, state })
}

/** Returns the facts of a delta for the row of its transfer; for the model itself, what removes earlier ones. */
function noteOfDelta(state: PushState, model: ModelRecord): TransferNote {
  const { delta, hasNoted } = state
  state.hasNoted = delta !== null
  if (delta === null) return hasNoted ? { delta: null, savedBytes: 0 } : {}
  const { base, sha256, sizeBytes } = delta
  return { delta: { base, sha256, sizeBytes, error: null }, savedBytes: model.sizeBytes - sizeBytes }
}

/** Sends the model itself from now on. */
async function sendWhole(
  deps: AttemptDeps,
  attempt: Attempt,
  state: PushState,
  reason: string,
): Promise<void> {
  const { delta } = state
  if (delta !== null) {
    await deps.deltas?.store.remove(delta)
    await giveUpDelta(deps, attempt, delta.base, reason)
  }
  Object.assign(state, {
    url: null,
    delta: null,
    hasNoted: false,
    isWhole: true,
    offset: 0,
    best: -1,
  } satisfies Partial<PushState>)
}

/** Announces the model. Returns the answer if the peer has its bytes; otherwise where to send them. */
async function begin(
  deps: AttemptDeps,
  attempt: Attempt,
  model: ModelRecord,
  state: PushState,
): Promise<{ answer: string } | { url: string; offset: number }> {
  const { client, signal, transfer, baseUrl } = attempt
  const signature = await signatureFor(deps, attempt, model.modelId)
  const data = feedbackData(model, attempt.upstream, deps.nodeId, signature)
  const whole = { sha256: model.sha256, size: model.sizeBytes, data }
  if (state.delta !== null && state.deltas >= MAX_DELTAS)
    await sendWhole(deps, attempt, state, `The upstream forgot ${MAX_DELTAS} uploads of it`)
  state.delta = null
  const bases = state.isWhole ? [] : await basesFor(deps, attempt, model)
  let announced = await announce(client, bases.length === 0 ? whole : { ...whole, bases }, signal)
  if (!announced.have && announced.upload_url === undefined) {
    const { base } = announced
    if (!bases.includes(base)) throw malformed('a base that was not announced')
    const made = await deltaTo(deps, attempt, model, base)
    state.isWhole = made === undefined
    state.delta = made ?? null // a refusal of this announcement is one of the delta
    const delta = made && { base, sha256: made.sha256, size: made.sizeBytes }
    announced = await announce(client, delta === undefined ? whole : { ...whole, delta }, signal)
    if (made !== undefined) await noteUse(deps, attempt, state, announced)
  }
  if (announced.have) {
    // bytes that this transfer has sent are not saved
    if (transfer.bytesSent === 0 && state.offset === 0)
      await deps.transfers.note(transfer.transferId, { savedBytes: model.sizeBytes })
    return { answer: JSON.stringify(announced.model_info) }
  }
  if (announced.upload_url === undefined) throw malformed('no upload address')
  const url = ownPath(announced.upload_url, baseUrl)
  if (url === undefined) throw malformed('an upload address of another origin')
  return { url, offset: announced.offset }
}

/** Notes whether the peer takes the announced delta: it may have lost the base meanwhile. */
async function noteUse(
  deps: AttemptDeps,
  attempt: Attempt,
  state: PushState,
  announced: Awaited<ReturnType<typeof announce>>,
): Promise<void> {
  const isTaken = !announced.have && announced.base === state.delta?.base
  if (isTaken) state.deltas++
  else if (!announced.have) await sendWhole(deps, attempt, state, 'The upstream has the base no longer')
}

/** Asks for the offset of an upload. Returns undefined if the peer no longer knows it. */
async function askOffset({ client, signal }: Attempt, url: string): Promise<number | undefined> {
  const reply = await client.send({ method: 'HEAD', path: url, headers: TUS, signal })
  await reply.discard()
  if (reply.status === 404 || reply.status === 410) return undefined
  const offset = Number(reply.headers['upload-offset'] ?? Number.NaN)
  if (reply.status !== 200 && reply.status !== 204) throw refused(reply.status, '', reply.headers)
  if (!Number.isSafeInteger(offset) || offset < 0) throw malformed('no Upload-Offset')
  return offset
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
  { url, state }: { url: string; state: PushState },
): Promise<string | undefined> {
  const { offset } = state
  const end = state.delta?.sizeBytes ?? model.sizeBytes
  const range = { start: offset, end }
  const bytes = await (state.delta?.open(range) ?? deps.blobs.open(model.sha256, range))
  if (bytes === undefined) throw new AppError('MODEL_DAMAGED', { model_id: model.modelId })
  const reply = await attempt.client.send({
    method: 'PATCH',
    path: url,
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
    if (typeof parseObject(text)?.model_id !== 'string') throw malformed('no model_info after the last byte')
    return text
  }
  if (status === 204) {
    // complete, but the answer does not contain the model: the next announcement will
    if (Number(headers['upload-offset']) === (state.delta?.sizeBytes ?? model.sizeBytes)) state.url = null
    return undefined
  }
  if (status === 404 || status === 410) {
    state.url = null
    return undefined
  }
  if (status === 460 && state.delta === null) {
    await checkOwnBytes(deps, model)
    state.url = null
    state.mismatches++
    if (state.mismatches < MAX_MISMATCHES) return undefined
    throw new AppError(
      'DIGEST_MISMATCH',
      {},
      { message: 'The upstream answered that the bytes it has are not those of the announced digest' },
    )
  }
  // the offset has changed, or an earlier request of this node still holds the upload
  if (status === 409 || status === 423) {
    state.idleBreaks++
    if (state.idleBreaks <= MAX_IDLE_BREAKS) return undefined
  }
  throw refused(status, errorMessageIn(text), headers)
}

/** Checks the bytes on this disk after the peer received different ones. @throws AppError MODEL_DAMAGED */
async function checkOwnBytes(deps: AttemptDeps, model: ModelRecord): Promise<void> {
  const bytes = await deps.blobs.open(model.sha256)
  if (bytes !== undefined && (await digestOf(bytes)).sha256 === model.sha256) return
  await deps.register.models.setDamaged(model.sha256, true)
  throw new AppError('MODEL_DAMAGED', { model_id: model.modelId })
}

function isBreak(error: unknown): boolean {
  return isAppError(error) && error.errorName === 'UPSTREAM_UNREACHABLE'
}
