import { h, svg } from '../../core/dom.js'
import { formatMetres, formatNumber, t } from '../../core/i18n.js'
import type { MapView } from '../map-view.js'
import { RISK_COLOURS, type RouteResult, riskColour } from '../state.js'
import { type ProfilePart, partAt, pointAt, profileOf } from './along.js'

/** Units of the drawing, which is stretched to its frame. */
const WIDTH = 1000
const HEIGHT = 100
/** Height of a road whose cost is its driving time: its colour must be seen. */
const FLOOR = 14
/** Steps of the arrow keys, shares of the route. */
const STEP = 0.01
const PAGE = 0.1

/**
 * Chart of a route: risk by colour, cost by height, on a logarithmic scale. The place under the pointer, or
 * that chosen by the arrow keys, is marked on the map and told in words.
 *
 * @param curves sensitivities of the themes; undefined where the cost leaves the risk out, and so is not shown
 */
export function profileChart(
  route: RouteResult,
  curves: readonly number[][] | undefined,
  view: MapView,
): HTMLElement {
  const parts = profileOf(route, curves ?? [])
  const title = t(curves ? 'profileTitle' : 'riskAlong')
  const hint = curves ? t('profileHint') : ''
  const length = parts.at(-1)?.to ?? 0
  const most = curves && topOf(parts)
  const cursor = svg('line', { class: 'profile-cursor', y1: 0, y2: HEIGHT, visibility: 'hidden' })
  const readout = h('output', { class: 'small profile-readout' })
  let share = 0
  const mark = (next: number) => {
    share = Math.min(1, Math.max(0, next))
    const metres = share * length
    const part = partAt(parts, metres)
    if (part === undefined) return
    const x = String(share * WIDTH)
    cursor.setAttribute('x1', x)
    cursor.setAttribute('x2', x)
    cursor.setAttribute('visibility', 'visible')
    const text = textOf(part, metres, curves !== undefined)
    readout.textContent = text
    frame.setAttribute('aria-valuenow', String(Math.round(metres)))
    frame.setAttribute('aria-valuetext', text)
    view.setMark(pointAt(route.features, metres))
  }
  const unmark = () => {
    cursor.setAttribute('visibility', 'hidden')
    readout.textContent = hint
    view.setMark(undefined)
  }
  const frame = h(
    'div',
    {
      class: 'profile',
      tabindex: 0,
      role: 'slider',
      'aria-label': title,
      'aria-valuemin': 0,
      'aria-valuemax': Math.round(length),
      'aria-valuenow': 0,
      'aria-valuetext': formatMetres(0),
      onpointermove: (event: PointerEvent) => {
        const { left, width } = frame.getBoundingClientRect()
        mark((event.clientX - left) / width)
      },
      onpointerleave: unmark,
      onfocus: () => mark(share),
      onblur: unmark,
      onkeydown(event: KeyboardEvent) {
        const next = nextShare(event.key, share)
        if (next === undefined) return
        event.preventDefault()
        mark(next)
      },
    },
    svg(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      bars(parts, length, most),
      cursor,
    ),
    most !== undefined && h('span', { class: 'profile-top' }, `×${formatNumber(most)}`),
  )
  readout.textContent = hint
  return h('div', { class: 'stack tight' }, h('h3', {}, title), frame, axis(length), readout)
}

/** Distances below the chart. */
function axis(length: number): HTMLElement {
  return h(
    'div',
    { class: 'profile-axis small soft', 'aria-hidden': 'true' },
    [0, 0.5, 1].map((at) => h('span', {}, formatMetres(length * at))),
  )
}

/** Value of the top of the chart: the power of ten above the highest factor. */
function topOf(parts: readonly ProfilePart[]): number {
  const highest = parts.reduce((most, { factor }) => Math.max(most, factor), 1)
  return 10 ** Math.max(1, Math.ceil(Math.log10(highest) - 1e-9))
}

/** One path for each level of risk. @param most factor at the top; undefined for bars of one height */
function bars(parts: readonly ProfilePart[], length: number, most: number | undefined): SVGElement[] {
  const paths = new Map<number, string[]>()
  for (const { from, to, risk, factor } of parts) {
    const path = paths.get(risk) ?? []
    const [x, width] = [(from / length) * WIDTH, ((to - from) / length) * WIDTH]
    const height =
      FLOOR + (HEIGHT - FLOOR) * (most === undefined ? 0.5 : Math.log10(factor) / Math.log10(most))
    path.push(`M${x.toFixed(1)} ${HEIGHT}v${(-height).toFixed(1)}h${width.toFixed(1)}V${HEIGHT}z`)
    paths.set(risk, path)
  }
  return RISK_COLOURS.map((_, risk) =>
    svg('path', { d: paths.get(risk)?.join('') ?? '', fill: riskColour(risk) }),
  )
}

function textOf({ name, risk, factor }: ProfilePart, metres: number, withCost: boolean): string {
  const cost = withCost ? t('profileCost', { factor: formatNumber(factor, factor < 10 ? 1 : 0) }) : ''
  const place = t('profileAt', {
    place: formatMetres(metres),
    name: name === '' ? t('unnamed') : name,
    n: risk,
  })
  return place + cost
}

/** Place after a key; undefined for other keys. */
function nextShare(key: string, share: number): number | undefined {
  const steps: Record<string, number> = {
    ArrowRight: share + STEP,
    ArrowUp: share + STEP,
    ArrowLeft: share - STEP,
    ArrowDown: share - STEP,
    PageUp: share + PAGE,
    PageDown: share - PAGE,
    Home: 0,
    End: 1,
  }
  return steps[key]
}
