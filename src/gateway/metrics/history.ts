/** Figures of a day, one sample a minute, in memory alone: a restart forgets them. */
export interface FigureHistory {
  /** names of the figures, in the order of the values of a sample */
  readonly names: readonly string[]
  readonly everyS: number
  /** @returns samples, the oldest first: ms since 1970, then a value for each name, null where there was none */
  samples(): (number | null)[][]
  stop(): void
}

const EVERY_MS = 60_000
const MAX_SAMPLES = 24 * 60

/** A figure of the page of metrics: the sum of the samples of one family. */
const FIGURES: readonly (readonly [name: string, family: RegExp])[] = [
  ['memory_bytes', /^process_resident_memory_bytes$/],
  ['cpu_seconds', /^process_cpu_seconds_total$/],
  ['responses', /^fieldgate_http_responses_total\b/],
  ['call_seconds', /^fieldgate_call_duration_seconds_sum\b/],
  ['calls', /^fieldgate_call_duration_seconds_count\b/],
  ['loop_delay_seconds', /^fieldgate_event_loop_delay_seconds\{quantile="0\.99"\}$/],
  ['wal_bytes', /^fieldgate_wal_bytes\b/],
  ['disk_free_bytes', /^fieldgate_disk_free_bytes$/],
  ['queued', /^fieldgate_outbox_queued\b/],
  ['connections', /^fieldgate_http_connections$/],
]

/**
 * Samples figures of the page of metrics once a minute.
 *
 * @param page text format of Prometheus
 * @param onFault receives what a failed sample throws
 */
export function startHistory(
  page: () => Promise<string>,
  onFault: (error: unknown) => void,
  { everyMs = EVERY_MS, maxSamples = MAX_SAMPLES, nowMs = Date.now } = {},
): FigureHistory {
  const width = FIGURES.length + 1
  const ring = new Float64Array(maxSamples * width)
  let [taken, isStopped] = [0, false]
  const sample = async () => {
    try {
      const values = figuresOf(await page())
      ring.set([nowMs(), ...values], (taken % maxSamples) * width)
      taken++
    } catch (error) {
      if (!isStopped) onFault(error)
    }
  }
  const timer = setInterval(() => void sample(), everyMs)
  timer.unref()
  return {
    names: FIGURES.map(([name]) => name),
    everyS: everyMs / 1000,
    samples() {
      const first = Math.max(0, taken - maxSamples)
      return Array.from({ length: taken - first }, (_, n) => {
        const at = ((first + n) % maxSamples) * width
        return [...ring.subarray(at, at + width)].map((value) => (Number.isNaN(value) ? null : value))
      })
    },
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}

/** Values of the figures; NaN for one that the page does not have. */
function figuresOf(page: string): number[] {
  const sums = FIGURES.map(() => Number.NaN)
  for (const line of page.split('\n')) {
    const [, name = '', text] = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?)\s+(\S+)/.exec(line) ?? []
    const at = FIGURES.findIndex(([, family]) => family.test(name))
    if (at === -1 || text === undefined) continue
    const before = sums[at] ?? Number.NaN
    sums[at] = (Number.isNaN(before) ? 0 : before) + Number(text)
  }
  return sums
}
