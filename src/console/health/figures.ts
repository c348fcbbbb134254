/** Figures at one moment: name → value, as `/metrics/history` names them. */
export interface Sample {
  /** ms since 1970 */
  readonly atMs: number
  readonly values: Readonly<Record<string, number | undefined>>
}

/** Figures of the page of metrics: the sum of the samples of a family. */
const FAMILIES: Readonly<Record<string, RegExp>> = {
  memory_bytes: /^process_resident_memory_bytes$/,
  cpu_seconds: /^process_cpu_seconds_total$/,
  responses: /^fieldgate_http_responses_total\b/,
  call_seconds: /^fieldgate_call_duration_seconds_sum\b/,
  calls: /^fieldgate_call_duration_seconds_count\b/,
  loop_delay_seconds: /^fieldgate_event_loop_delay_seconds\{quantile="0\.99"\}$/,
  wal_bytes: /^fieldgate_wal_bytes\b/,
  disk_free_bytes: /^fieldgate_disk_free_bytes$/,
  disk_days: /^fieldgate_disk_days_left$/,
  queued: /^fieldgate_outbox_queued\b/,
  connections: /^fieldgate_http_connections$/,
}

/** Reads the text format of Prometheus: `name{labels} value`. */
export function readSample(page: string, atMs: number): Sample {
  const values: Record<string, number> = {}
  for (const line of page.split('\n')) {
    const [, metric = '', text] = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?)\s+(\S+)/.exec(line) ?? []
    const name = Object.keys(FAMILIES).find((each) => FAMILIES[each]?.test(metric) === true)
    if (name !== undefined && text !== undefined) values[name] = (values[name] ?? 0) + Number(text)
  }
  return { atMs, values }
}

/** Answer of `/metrics/history`. */
export interface History {
  readonly names: readonly string[]
  readonly samples: readonly (readonly (number | null)[])[]
}

/** Samples of the gateway's own history, the oldest first. */
export function historySamples({ names, samples }: History): Sample[] {
  return samples.map(([atMs, ...values]) => ({
    atMs: atMs ?? 0,
    values: Object.fromEntries(names.map((name, at) => [name, values[at] ?? undefined])),
  }))
}

/** Point of a chart. */
export interface Point {
  readonly atMs: number
  readonly value: number
}

/** Values of a figure as it is. */
export function level(name: string) {
  return (samples: readonly Sample[]): Point[] =>
    samples.flatMap(({ atMs, values }) => {
      const value = values[name]
      return value === undefined || !Number.isFinite(value) ? [] : [{ atMs, value }]
    })
}

/** Increase of a counter per second; a counter that fell began anew at a restart. */
export function rate(name: string) {
  return pairs((before, now, seconds) => grown(before, now, name, (by) => by / seconds))
}

/** Increase of one counter per increase of another. */
export function ratio(above: string, below: string) {
  return pairs((before, now) => {
    const count = grown(before, now, below, (by) => by)
    return count === undefined || count === 0 ? undefined : grown(before, now, above, (by) => by / count)
  })
}

function pairs(read: (before: Sample, now: Sample, seconds: number) => number | undefined) {
  return (samples: readonly Sample[]): Point[] =>
    samples.flatMap((now, at) => {
      const before = samples[at - 1]
      const seconds = before === undefined ? 0 : (now.atMs - before.atMs) / 1000
      const value = before === undefined || seconds <= 0 ? undefined : read(before, now, seconds)
      return value === undefined || !Number.isFinite(value) ? [] : [{ atMs: now.atMs, value }]
    })
}

function grown(before: Sample, now: Sample, name: string, use: (by: number) => number): number | undefined {
  const [was, is] = [before.values[name], now.values[name]]
  return was === undefined || is === undefined || is < was ? undefined : use(is - was)
}
