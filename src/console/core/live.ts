import { request } from './rpc.js'

/** Streams of one page: browsers open six connections to a host, and calls need some of them. */
const MOST_STREAMS = 3
/** Time in which further changes are awaited, ms. */
const SETTLE_MS = 300
const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 15_000

/** Tables that are followed. */
export interface LiveTables {
  /** Follows these tables, the first ones where they are many, and no others. */
  follow(names: readonly string[]): void
  close(): void
}

/**
 * Follows tables while a part of the page is shown.
 *
 * @param isShown tells whether it still is; streams end by themselves after it
 * @param onChange called with the name of a table some time after rows of it changed, or may have
 */
export function liveTables(isShown: () => boolean, onChange: (name: string) => void): LiveTables {
  const open = new Map<string, AbortController>()
  const close = () => {
    for (const stream of open.values()) stream.abort()
    open.clear()
  }
  return {
    follow(names) {
      const wanted = new Set(names.slice(0, MOST_STREAMS))
      for (const [name, stream] of open) {
        if (wanted.has(name)) continue
        stream.abort()
        open.delete(name)
      }
      for (const name of wanted) {
        if (open.has(name)) continue
        const stream = new AbortController()
        open.set(name, stream)
        void followOne(name, { isShown, signal: stream.signal, changed: settling(() => onChange(name)) })
      }
    },
    close,
  }
}

/** Returns a function that calls another one once, after the last of several calls. */
function settling(act: () => void): () => void {
  let timer: number | undefined
  return () => {
    clearTimeout(timer)
    timer = window.setTimeout(act, SETTLE_MS)
  }
}

interface Following {
  isShown(): boolean
  changed(): void
  readonly signal: AbortSignal
}

/** Reads the stream of a table, again after breaks, until it is not shown, or refused. */
async function followOne(name: string, { isShown, changed, signal }: Following): Promise<void> {
  const path = `/api/v1/dataloaderapi/changes/${encodeURIComponent(name)}?columns=["start_datetime"]`
  let waitMs = FIRST_WAIT_MS
  let isFirst = true
  while (!signal.aborted && isShown()) {
    try {
      const { ok, status, body } = await request(path, { signal })
      if (!ok && status < 500 && status !== 429) return // no such table, or no right to read it
      if (ok && body !== null) {
        if (!isFirst) changed() // it may have changed while nobody listened
        isFirst = false
        const isRead = await readStream(body, { isShown, changed, signal })
        if (isRead) waitMs = FIRST_WAIT_MS
      }
    } catch {
      if (signal.aborted) return // else the next try tells whether the gateway is back
    }
    await new Promise((resolve) => window.setTimeout(resolve, waitMs))
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  }
}

/** Reads a stream to its end. @returns true when something came */
async function readStream(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { isShown, changed, signal }: Following,
): Promise<boolean> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let isRead = false
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    isRead = true
    if (signal.aborted || !isShown()) {
      await reader.cancel()
      break
    }
    if (step.value.includes('event: change')) changed()
  }
  return isRead
}
