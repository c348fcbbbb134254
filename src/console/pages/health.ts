import { fill, h } from '../core/dom.js'
import { formatBytes, formatNumber, formatTime, t, type Word } from '../core/i18n.js'
import { type Page, repeat } from '../core/page.js'
import { badge, faultNotice, field, reasonNote, select, table, waitingBox } from '../core/parts.js'
import { request } from '../core/rpc.js'
import { chartCard } from '../health/chart.js'
import {
  type History,
  historySamples,
  level,
  type Point,
  rate,
  ratio,
  readSample,
  type Sample,
} from '../health/figures.js'
import { partName, type Readiness, readReadiness } from '../health/readiness.js'

const EVERY_MS = 3000
const MINUTE_MS = 60_000
/** Ranges that can be shown, minutes. */
const RANGES: readonly (readonly [minutes: number, word: Word])[] = [
  [5, 'range5'],
  [60, 'range60'],
  [1440, 'range1440'],
]

interface Chart {
  readonly word: Word
  read(samples: readonly Sample[]): Point[]
  print(value: number): string
}

const milliseconds = (s: number) => `${formatNumber(s * 1000, 1)} ms`
const count = (n: number) => formatNumber(n, 1)
const CHARTS: readonly Chart[] = [
  { word: 'metricMemory', read: level('memory_bytes'), print: formatBytes },
  { word: 'metricRequests', read: rate('responses'), print: count },
  { word: 'metricLatency', read: ratio('call_seconds', 'calls'), print: milliseconds },
  { word: 'metricLoop', read: level('loop_delay_seconds'), print: milliseconds },
  { word: 'metricCpu', read: rate('cpu_seconds'), print: (n) => `${formatNumber(n * 100, 1)} %` },
  { word: 'metricWal', read: level('wal_bytes'), print: formatBytes },
  { word: 'metricDisk', read: level('disk_free_bytes'), print: formatBytes },
  {
    word: 'metricDiskDays',
    read: level('disk_days'),
    print: (n) => t('days', { n: formatNumber(n, n < 10 ? 1 : 0) }),
  },
  { word: 'metricQueue', read: level('queued'), print: count },
  { word: 'metricConnections', read: level('connections'), print: count },
]

/** Page of readiness by part, and of charts of a day. */
export function healthPage(): Page {
  const ready = waitingBox()
  const charts = h('div', { class: 'grid' })
  const range = select(
    RANGES.map(([minutes, word]) => [String(minutes), t(word)] as const),
    '60',
  )
  let samples: Sample[] = []
  let lastMs: number | undefined
  const draw = (isStopped: boolean) => fill(charts, cards(samples, Number(range.value), isStopped))
  range.addEventListener('change', () => draw(false))
  const show = async () => {
    try {
      fill(ready, readinessOf(await readReadiness()))
      if (lastMs === undefined) {
        samples = await readHistory()
        if (samples.length < 5) range.value = '5' // a gateway that has just started
      }
      const response = await request('/metrics')
      if (!response.ok) return fill(charts, h('p', { class: 'soft' }, t('metricsNone')))
      lastMs = Date.now()
      samples.push(readSample(await response.text(), lastMs))
      samples = samples.filter(({ atMs }) => atMs > Date.now() - 1440 * MINUTE_MS)
      draw(false)
    } catch (error) {
      fill(ready, stopped(error, lastMs))
      draw(true)
    }
  }
  const stop = repeat(EVERY_MS, show)
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navHealth')),
    h('p', { class: 'soft' }, t('healthIntro', { n: EVERY_MS / 1000 })),
    ready,
    h('div', { class: 'row spread' }, h('h2', {}, t('metricsTitle')), field(t('range'), range)),
    charts,
  )
  return { title: t('navHealth'), element, close: stop }
}

/** Samples that the gateway has kept; none of a gateway or hub that keeps none. */
async function readHistory(): Promise<Sample[]> {
  const response = await request('/metrics/history')
  return response.ok ? historySamples((await response.json()) as History) : []
}

function cards(samples: readonly Sample[], minutes: number, isStopped: boolean): (HTMLElement | false)[] {
  const untilMs = Date.now()
  const fromMs = untilMs - minutes * MINUTE_MS
  const shown = samples.filter(({ atMs }) => atMs >= fromMs)
  return CHARTS.map(({ word, read, print }) =>
    chartCard(read(shown), { title: t(word), fromMs, untilMs, isStopped, print }),
  )
}

/** Notice of a gateway that does not answer, with the time of its last answer. */
function stopped(error: unknown, lastMs: number | undefined): HTMLElement[] {
  const text = lastMs === undefined ? t('notReady') : t('stoppedSince', { time: formatTime(lastMs) })
  return [h('p', {}, badge(text, 'bad')), faultNotice(error)]
}

function readinessOf({ status, parts }: Readiness): HTMLElement[] {
  const isReady = status === 'ready'
  return [
    h('p', {}, badge(isReady ? t('ready') : t('notReady'), isReady ? 'good' : 'bad')),
    table(
      t('parts'),
      [t('part'), t('state'), t('reason')],
      parts.map((each) => [
        partName(each.part),
        badge(
          each.isReady ? t('ready') : t('notReady'),
          each.isReady ? (each.isWarning ? 'warn' : 'good') : 'bad',
        ),
        reasonNote(each.reason ?? null),
      ]),
    ),
  ]
}
