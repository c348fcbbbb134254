import { h, svg } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { clockText } from '../core/moment.js'
import type { Point } from './figures.js'

interface ChartParts {
  readonly title: string
  /** ms since 1970 */
  readonly fromMs: number
  readonly untilMs: number
  /** the gateway does not answer: the last value is not that of now */
  readonly isStopped: boolean
  print(value: number): string
}

const [WIDTH, HEIGHT] = [320, 130]
/** Room for the labels of the axes. */
const [LEFT, TOP, RIGHT, BOTTOM] = [74, 8, 8, 20]
/** Time without a sample that interrupts the line, ms. */
const GAP_MS = 200_000

/** Card with a figure over time, from zero, with axes. False when there is no value. */
export function chartCard(points: readonly Point[], parts: ChartParts): HTMLElement | false {
  const last = points.at(-1)
  if (last === undefined) return false
  const { title, print, isStopped } = parts
  const values = points.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)].map(print)
  const words =
    low === high
      ? t('alwaysSame', { value: low ?? '', n: points.length })
      : t('lowHigh', { low: low ?? '', high: high ?? '', n: points.length })
  return h(
    'div',
    { class: 'card' },
    h('h3', {}, title),
    h('b', {}, t(isStopped ? 'lastValue' : 'now', { value: print(last.value) })),
    chart(points, parts, `${title}: ${words}`),
    h('p', { class: 'soft small' }, words),
  )
}

function chart(points: readonly Point[], { fromMs, untilMs, print }: ChartParts, label: string): SVGElement {
  const top = roundUp(Math.max(...points.map(({ value }) => value)))
  const x = (atMs: number) =>
    LEFT + ((atMs - fromMs) / Math.max(1, untilMs - fromMs)) * (WIDTH - LEFT - RIGHT)
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM)
  const rule = (value: number) => [
    svg('line', { class: 'rule', x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    svg('text', { x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, print(value)),
  ]
  const times = [fromMs, (fromMs + untilMs) / 2, untilMs].map((atMs, at) =>
    svg(
      'text',
      { x: x(atMs), y: HEIGHT - 5, 'text-anchor': ['start', 'middle', 'end'][at] },
      clockText(atMs),
    ),
  )
  const last = points.at(-1) // a single sample is seen, too
  const lines = pieces(points).map((piece) =>
    svg('polyline', {
      class: 'line',
      points: piece.map(({ atMs, value }) => `${x(atMs).toFixed(1)},${y(value).toFixed(1)}`).join(' '),
    }),
  )
  return svg(
    'svg',
    { class: 'chart', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label },
    [0, top / 2, top].flatMap(rule),
    times,
    lines,
    last !== undefined && svg('circle', { class: 'dot', cx: x(last.atMs), cy: y(last.value), r: 3 }),
  )
}

/** Parts of a line between gaps; a lone point is a short dash. */
function pieces(points: readonly Point[]): Point[][] {
  const found: Point[][] = []
  for (const point of points) {
    const piece = found.at(-1)
    const before = piece?.at(-1)
    if (piece === undefined || before === undefined || point.atMs - before.atMs > GAP_MS) found.push([point])
    else piece.push(point)
  }
  return found.map((piece) => {
    const [only] = piece
    return piece.length > 1 || only === undefined ? piece : [{ ...only, atMs: only.atMs - 1000 }, only]
  })
}

/** Smallest of 1, 2, 5, 10 and so on times a power of ten that is not below a value. */
function roundUp(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}
