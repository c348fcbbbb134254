import type { Feature } from './feature.js'

/** Which changes of a table are wanted. */
export interface ChangesOptions {
  /** number of the change after which they are wanted; those from now on if absent */
  readonly after?: number
  /** all columns if absent */
  readonly columns?: readonly string[]
  /** condition, as in `mapserv.eventdata` */
  readonly conds?: object
  readonly signal?: AbortSignal
}

/** A row that was put or overridden, as it is now. */
export interface Change {
  /** grows with each change of the table; give the last one as `after` to go on */
  readonly change: number
  readonly feature: Feature
}

/** Opens a stream. @throws FieldgateError for an error status */
type Open = (path: string, headers: Record<string, string>) => Promise<Response>

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000

/**
 * Yields changes of a table as they happen, without end: a stream that breaks is opened again after the last change. Ends with an
 * error of the gateway that stays, such as that of a dropped table, and when the signal fires.
 */
export async function* readChanges(
  open: Open,
  dataName: string,
  { after, columns, conds, signal }: ChangesOptions,
): AsyncGenerator<Change> {
  const query = new URLSearchParams()
  if (columns !== undefined) query.set('columns', JSON.stringify(columns))
  if (conds !== undefined) query.set('conds', JSON.stringify(conds))
  let last = after
  for (let waitMs = FIRST_WAIT_MS; signal?.aborted !== true; ) {
    try {
      const path = `/api/v1/dataloaderapi/changes/${encodeURIComponent(dataName)}?${query}`
      const response = await open(path, last === undefined ? {} : { 'Last-Event-ID': String(last) })
      for await (const { id, name, data } of readEvents(response)) {
        waitMs = FIRST_WAIT_MS
        if (name === 'end') last = (JSON.parse(data) as { after: number }).after
        if (name !== 'change') continue
        last = Number(id)
        yield { change: last, feature: JSON.parse(data) as Feature }
      }
    } catch (error) {
      if (!mayPass(error)) throw error
    }
    await pause(waitMs, signal)
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  }
}

/** Faults of the network, and refusals of a gateway that has no room or is stopping. */
function mayPass(error: unknown): boolean {
  const { status } = error as { status?: number }
  return status === undefined || status === 429 || status === 503
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

interface ServerEvent {
  readonly id: string
  readonly name: string
  readonly data: string
}

/** Reads server-sent events, as the HTML standard describes them; the gateway ends lines with LF. */
async function* readEvents({ body }: Response): AsyncGenerator<ServerEvent> {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      const parts = (text + step.value).split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const event = { id: '', event: '', data: '' }
        for (const line of part.split('\n')) {
          const [, field = '', value = ''] = /^(id|event|data): (.*)$/.exec(line) ?? []
          if (field !== '') event[field as keyof typeof event] = value
        }
        if (event.event !== '') yield { id: event.id, name: event.event, data: event.data }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined) // it may have failed already
  }
}
