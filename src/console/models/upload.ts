import { Upload } from 'tus-js-client'
import { fill, h } from '../core/dom.js'
import { formatBytes, t } from '../core/i18n.js'
import { button, checkbox, field, statusLine } from '../core/parts.js'
import { sessionHeaders } from '../core/rpc.js'
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
    const data = {
      model_store_ddc: store,
      model_kind: kind.value,
      model_description: description.value,
      model_meta: { file_name: chosen.name },
    }
    try {
      await send(
        chosen,
        isAggregated ? 'model_store.model.put_aggregated' : 'model_store.model.put',
        data,
        bar,
        status,
      )
      onDone()
    } catch (error) {
      status.bad(error instanceof Error ? error.message : String(error))
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
      field(t('file'), file),
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
  let sent = 0
  await new Promise<void>((resolve, reject) => {
    const upload = new Upload(file, {
      endpoint: UPLOADS_PATH,
      chunkSize: CHUNK_BYTES,
      retryDelays: WAITS_MS,
      storeFingerprintForResuming: false, // a reload ends the session, and the file must be chosen again anyway
      headers: sessionHeaders(),
      metadata: { method, data: JSON.stringify(data), sha256 },
      onShouldRetry(error) {
        status.say(t('uploadBroken', { n: formatBytes(sent) }), 'warn')
        const code = error.originalResponse?.getStatus() ?? 0
        return code === 0 || code === 409 || code === 423 || code >= 500
      },
      onProgress(bytes) {
        progress.value = bytes
        if (!isPaused) status.say(t('uploadSending', { n: formatBytes(bytes), m: formatBytes(file.size) }))
      },
      onChunkComplete(_, accepted) {
        sent = accepted
      },
      onError: (error) => reject(new Error(messageOf(error))),
      onSuccess({ lastResponse }) {
        status.good(t('uploadDone', { id: modelIdOf(lastResponse.getBody()) }))
        resolve()
      },
    })
    let isPaused = false
    const pause = button(
      t('uploadPause'),
      () => {
        isPaused = !isPaused
        pause.textContent = isPaused ? t('uploadResume') : t('uploadPause')
        if (!isPaused) return upload.start()
        void upload.abort()
        status.say(t('uploadPaused', { n: formatBytes(sent) }), 'warn')
      },
      'small',
    )
    fill(bar, progress, h('div', {}, pause))
    upload.start()
  })
}

async function digestOf(file: File, onProgress: (bytes: number) => void): Promise<string> {
  const hash = createSha256()
  for (let at = 0; at < file.size; at += HASH_STEP_BYTES) {
    hash.update(new Uint8Array(await file.slice(at, at + HASH_STEP_BYTES).arrayBuffer()))
    onProgress(Math.min(file.size, at + HASH_STEP_BYTES))
  }
  return hash.hex()
}

/** Message of the gateway's response; that of the error when there is none. */
function messageOf(error: Error & { originalResponse?: { getBody(): string } | null }): string {
  try {
    const { error: found } = JSON.parse(error.originalResponse?.getBody() ?? '') as {
      error: { message: string }
    }
    return found.message
  } catch {
    return error.message
  }
}

function modelIdOf(body: string): string {
  try {
    return (JSON.parse(body) as { model_id?: string }).model_id ?? ''
  } catch {
    return ''
  }
}
