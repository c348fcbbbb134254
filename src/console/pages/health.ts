import { fill, h, svg } from '../core/dom.js'
import { formatBytes, formatNumber, t, type Word } from '../core/i18n.js'
import { type Page, repeat } from '../core/page.js'
import { badge, faultNotice, prose, table } from '../core/parts.js'
import { request } from '../core/rpc.js'

const EVERY_MS = 3000
/** Points of a chart: five minutes. */
const MAX_SAMPLES = 100

interface Readiness {
  status: string
  parts: { part: string; isReady: boolean; isWarning?: boolean; reason?: string }[]
}

/** Metrics of one reading: name with labels → value. */
type Metrics = Map<string, number>

interface Chart {
  word: Word
  /** undefined when the metric is missing */
  read(now: Metrics, before: Metrics | undefined, seconds: number): number | undefined
  print(value: number): string
}

const CHARTS: readonly Chart[] = [
  { word: 'metricMemory', read: (now) => now.get('process_resident_memory_bytes'), print: formatBytes },
  {
    word: 'metricRequests',
    read: rateOf(/^fieldgate_http_responses_total/),
    print: (n) => formatNumber(n, 1),
  },
  { word: 'metricLatency', read: meanLatency, print: (s) => `${formatNumber(s * 1000, 1)} ms` },
  {
    word: 'metricLoop',
    read: (now) => now.get('fieldgate_event_loop_delay_seconds{quantile="0.99"}'),
    print: (s) => `${formatNumber(s * 1000, 1)} ms`,
  },
  {
    word: 'metricCpu',
    read: rateOf(/^process_cpu_seconds_total/),
    print: (n) => `${formatNumber(n * 100, 0)} %`,
  },
  { word: 'metricWal', read: sumOf(/^fieldgate_wal_bytes/), print: formatBytes },
  { word: 'metricDisk', read: (now) => now.get('fieldgate_disk_free_bytes'), print: formatBytes },
  {
    word: 'metricDiskDays',
    read: (now) => now.get('fieldgate_disk_days_left'),
    print: (n) => t('days', { n: formatNumber(n, n < 10 ? 1 : 0) }),
  },
  {
    word: 'metricQueue',
    read: sumOf(/^fieldgate_outbox_queued/),
    print: (n) => formatNumber(n),
  },
  {
    word: 'metricConnections',
    read: (now) => now.get('fieldgate_http_connections'),
    print: (n) => formatNumber(n),
  },
]

/** Page of readiness by part, and of charts of the gateway's metrics since the page was opened. */
export function healthPage(): Page {
  const ready = h('div', { class: 'stack' })
  const charts = h('div', { class: 'grid' })
  const readings = CHARTS.map(() => [] as number[])
  let before: Metrics | undefined
  let beforeMs = 0
  const show = async () => {
    try {
      fill(ready, readinessOf((await (await request('/readyz')).json()) as Readiness))
    } catch (error) {
      fill(ready, faultNotice(error))
      return
    }
    const response = await request('/metrics')
    if (!response.ok) return fill(charts, h('p', { class: 'soft' }, t('metricsNone')))
    const now = readMetrics(await response.text())
    const seconds = (performance.now() - beforeMs) / 1000
    CHARTS.forEach((chart, i) => {
      const value = chart.read(now, before, seconds)
      if (value !== undefined && Number.isFinite(value)) readings[i]?.push(value)
      if ((readings[i]?.length ?? 0) > MAX_SAMPLES) readings[i]?.shift()
    })
    before = now
    beforeMs = performance.now()
    fill(
      charts,
      CHARTS.map((chart, i) => chartCard(chart, readings[i] ?? [])),
    )
  }
  const stop = repeat(EVERY_MS, show)
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navHealth')),
    h('p', { class: 'soft' }, t('healthIntro', { n: EVERY_MS / 1000 })),
    ready,
    h('h2', {}, t('metricsTitle')),
    charts,
  )
  return { title: t('navHealth'), element, close: stop }
}

function readinessOf({ status, parts }: Readiness): HTMLElement[] {
  const isReady = status === 'ready'
  return [
    h('p', {}, badge(isReady ? t('ready') : t('notReady'), isReady ? 'good' : 'bad')),
    table(
      t('parts'),
      [t('part'), t('state'), t('reason')],
      parts.map((each) => [
        each.part,
        badge(
          each.isReady ? t('ready') : t('notReady'),
          each.isReady ? (each.isWarning ? 'warn' : 'good') : 'bad',
        ),
        prose(each.reason ?? ''),
      ]),
    ),
  ]
}

function chartCard({ word, print }: Chart, values: readonly number[]): HTMLElement | false {
  const last = values[values.length - 1]
  if (last === undefined) return false
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const words = t('lowHigh', { low: print(low), high: print(high), n: values.length })
  return h(
    'div',
    { class: 'card' },
    h('h3', {}, t(word)),
    h('b', {}, t('now', { value: print(last) })),
    sparkline(values, low, high, `${t(word)}: ${words}`),
    h('p', { class: 'soft small' }, words),
  )
}

/** Line chart scaled to its own range. @param label text for screen readers */
function sparkline(values: readonly number[], low: number, high: number, label: string): SVGElement {
  const [width, height] = [300, 72]
  const room = high - low || Math.max(1e-9, Math.abs(high))
  const x = (i: number) => (values.length < 2 ? width : (i / (values.length - 1)) * width)
  const y = (value: number) => height - 6 - ((value - low) / room) * (height - 12)
  const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`)
  if (points.length === 1) points.unshift(`0,${y(values[0] ?? 0).toFixed(1)}`)
  return svg(
    'svg',
    {
      class: 'chart',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    svg('polygon', { class: 'area', points: `0,${height} ${points.join(' ')} ${width},${height}` }),
    svg('polyline', { class: 'line', points: points.join(' ') }),
  )
}

/** Reads the Prometheus text format: `name{labels} value`. */
function readMetrics(text: string): Metrics {
  const metrics: Metrics = new Map()
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?)\s+(\S+)/.exec(line)
    if (match?.[1] !== undefined) metrics.set(match[1], Number(match[2]))
  }
  return metrics
}

function sum(metrics: Metrics, names: RegExp): number | undefined {
  const values = [...metrics].filter(([name]) => names.test(name)).map(([, value]) => value)
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0)
}

/** Sum of all metrics whose name matches. */
function sumOf(names: RegExp): Chart['read'] {
  return (now) => sum(now, names)
}

/** Increase of counters per second, from the two newest readings. */
function rateOf(names: RegExp): Chart['read'] {
  return (now, before, seconds) => {
    const [is, was] = [sum(now, names), before === undefined ? undefined : sum(before, names)]
    return is === undefined || was === undefined ? undefined : Math.max(0, (is - was) / seconds)
  }
}

/** Mean duration of the calls between two readings, s. */
function meanLatency(now: Metrics, before: Metrics | undefined): number | undefined {
  if (before === undefined) return undefined
  const grown = (names: RegExp) => (sum(now, names) ?? 0) - (sum(before, names) ?? 0)
  const count = grown(/^fieldgate_call_duration_seconds_count/)
  return count <= 0 ? undefined : grown(/^fieldgate_call_duration_seconds_sum/) / count
}
