import { type HttpResponse, Upload } from 'tus-js-client'
import { fill, h } from '../core/dom.js'
import { fileField } from '../core/file-field.js'
import { formatBytes, t } from '../core/i18n.js'
import { button, checkbox, field, statusLine } from '../core/parts.js'
import { rpcFault, sessionHeaders } from '../core/rpc.js'
import { createSha256 } from './sha256.js'

const UPLOADS_PATH = '/api/v2/model_store/uploads'
/** Bytes per request, and the most that is sent again after a lost connection. */
const CHUNK_BYTES = 1024 * 1024
const HASH_STEP_BYTES = 4 * 1024 * 1024
/** Delays before each retry; 30 s are repeated for a day. */
const WAITS_MS = [500, 1000, 2000, 5000, 10_000, ...Array.from({ length: 2880 }, () => 30_000)]

/** Form that uploads a model by tus 1.0.0, a protocol that resumes interrupted uploads. */
export function uploadForm(store: string, onDone: () => void): HTMLElement {
  const file = h('input', { type: 'file', required: true })
  const kind = h('input', { required: true, value: 'model' })
  const description = h('input', {})
  const aggregated = checkbox(t('aggregate'))
  const status = statusLine()
  const bar = h('div', { class: 'stack tight' })
  const onsubmit = async (event: Event) => {
    event.preventDefault()
    const chosen = file.files?.[0]
    if (chosen === undefined) return
    const isAggregated = aggregated.querySelector('input')?.checked === true
    const method = isAggregated ? 'model_store.model.put_aggregated' : 'model_store.model.put'
    const data = {
      model_store_ddc: store,
      model_kind: kind.value,
      model_description: description.value,
      model_meta: { file_name: chosen.name },
    }
    try {
      await send(chosen, method, data, bar, status)
      onDone()
    } catch (error) {
      status.bad(error)
    }
    fill(bar)
  }
  return h(
    'form',
    { class: 'stack', onsubmit },
    h('p', { class: 'soft small' }, t('uploadHint')),
    h(
      'div',
      { class: 'grid' },
      fileField(t('file'), file),
      field(t('kind'), kind),
      field(t('description'), description),
    ),
    aggregated,
    bar,
    status.element,
    h('div', {}, h('button', { class: 'button main' }, t('uploadStart'))),
  )
}

async function send(
  file: File,
  method: string,
  data: object,
  bar: HTMLElement,
  status: ReturnType<typeof statusLine>,
): Promise<void> {
  const progress = h('progress', { max: Math.max(1, file.size), value: 0, 'aria-label': t('upload') })
  fill(bar, progress)
  status.say(t('uploadHashing'))
  const sha256 = await digestOf(file, (done) => {
    progress.value = done
  })
  const metadata = { method, data: JSON.stringify(data), sha256 }
  const answer = await transfer(file, metadata, status, {
    onProgress(bytes) {
      progress.value = bytes
    },
    onStart: (pause) => fill(bar, progress, h('div', {}, pause)),
  })
  status.good(t('uploadDone', { id: modelIdOf(answer) }))
}

interface TransferEvents {
  onProgress(bytes: number): void
  /** @param pause button that pauses and resumes the transfer */
  onStart(pause: HTMLElement): void
}

/** Sends a file with its digest in chunks. @returns body of the last answer */
function transfer(
  file: File,
  metadata: Record<string, string>,
  status: ReturnType<typeof statusLine>,
  events: TransferEvents,
): Promise<string> {
  let sent = 0
  let isPaused = false
  return new Promise((resolve, reject) => {
    const upload = new Upload(file, {
      endpoint: UPLOADS_PATH,
      chunkSize: CHUNK_BYTES,
      retryDelays: WAITS_MS,
      storeFingerprintForResuming: false, // after a reload the file must be chosen again anyway
      headers: sessionHeaders(),
      metadata,
      onShouldRetry(error) {
        status.say(t('uploadBroken', { n: formatBytes(sent) }), 'warn')
        return isRetried(error.originalResponse?.getStatus() ?? 0)
      },
      onProgress(bytes) {
        events.onProgress(bytes)
        if (!isPaused) status.say(t('uploadSending', { n: formatBytes(bytes), m: formatBytes(file.size) }))
      },
      onChunkComplete(_, accepted) {
        sent = accepted
      },
      onError: (error) => reject(faultOf(error)),
      onSuccess: ({ lastResponse }) => resolve(lastResponse.getBody()),
    })
    const pause = pauseButton((isNow) => {
      isPaused = isNow
      if (!isPaused) return upload.start()
      void upload.abort()
      status.say(t('uploadPaused', { n: formatBytes(sent) }), 'warn')
    })
    events.onStart(pause)
    upload.start()
  })
}

/** True for a lost connection (0), an upload that another request holds, and faults of the server. */
function isRetried(httpStatus: number): boolean {
  return httpStatus === 0 || httpStatus === 409 || httpStatus === 423 || httpStatus >= 500
}

function pauseButton(onPause: (isPaused: boolean) => void): HTMLElement {
  let isPaused = false
  const pause = button(
    t('uploadPause'),
    () => {
      isPaused = !isPaused
      pause.textContent = isPaused ? t('uploadResume') : t('uploadPause')
      onPause(isPaused)
    },
    'small',
  )
  return pause
}

async function digestOf(file: File, onProgress: (bytes: number) => void): Promise<string> {
  const hash = createSha256()
  for (let at = 0; at < file.size; at += HASH_STEP_BYTES) {
    hash.update(new Uint8Array(await file.slice(at, at + HASH_STEP_BYTES).arrayBuffer()))
    onProgress(Math.min(file.size, at + HASH_STEP_BYTES))
  }
  return hash.hex()
}

/** Fault that the gateway answered with; the library's own error when there is none. */
function faultOf(error: Error & { originalResponse?: HttpResponse | null }): Error {
  const response = error.originalResponse
  if (response == null) return error
  try {
    const { error: found } = JSON.parse(response.getBody()) as { error: Parameters<typeof rpcFault>[1] }
    return rpcFault(response.getStatus(), found)
  } catch {
    return error
  }
}

function modelIdOf(body: string): string {
  try {
    return (JSON.parse(body) as { model_id?: string }).model_id ?? ''
  } catch {
    return ''
  }
}
