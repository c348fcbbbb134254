import { svg } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { call } from '../core/rpc.js'
import { readTables } from '../core/tables.js'
import { readCitations, readDatasets } from '../datasets/read.js'
import { readStores, readUpstreams } from '../models/read.js'
import type { OpenRpcMethod } from '../pages/api.js'

/**
 * Diagram of the gateway: its APIs with their numbers of methods, and how many tables, models and so on it
 * stores now.
 */
export async function conceptPicture(methods: readonly OpenRpcMethod[]): Promise<SVGElement> {
  const apis = new Map<string, number>()
  for (const { name } of methods) {
    const [area = ''] = name.split('.')
    apis.set(area, (apis.get(area) ?? 0) + 1)
  }
  const count = async (read: () => Promise<readonly unknown[]>) => {
    try {
      return String((await read()).length)
    } catch {
      return '?' // the key has no access
    }
  }
  const [tables, datasets, citations, stores, maps, upstreams] = await Promise.all([
    count(readTables),
    count(readDatasets),
    count(readCitations),
    count(readStores),
    count(async () => (await call<{ maps: unknown[] }>('routing.list_maps', {})).maps),
    count(readUpstreams),
  ])
  const kept = [
    t('picTables', { n: tables }),
    t('picDatasets', { n: datasets, m: citations }),
    t('picStores', { n: stores }),
    t('picMaps', { n: maps }),
  ]
  return draw([...apis], kept, t('picUpstreams', { n: upstreams }))
}

/** Height of a row, in units of the view box. */
const ROW = 26

function draw(
  apis: readonly (readonly [string, number])[],
  kept: readonly string[],
  upstreams: string,
): SVGElement {
  const height = Math.max(apis.length, kept.length * 2) * ROW + 90
  const middle = height / 2
  const box = (x: number, y: number, width: number, tall: number, kind = '') =>
    svg('rect', { x, y, width, height: tall, rx: 8, class: kind })
  const text = (x: number, y: number, words: string, kind = '', anchor = 'start') =>
    svg('text', { x, y, class: kind, 'text-anchor': anchor }, words)
  const arrow = (x1: number, x2: number, y: number) =>
    svg('path', { d: `M${x1} ${y}H${x2}`, 'marker-end': 'url(#tip)', 'marker-start': 'url(#tip)' })
  const apiRows = apis.flatMap(([name, n], i) => [
    text(250, 74 + i * ROW, name),
    text(440, 74 + i * ROW, t('picMethods', { n }), 'sub', 'end'),
  ])
  const keptRows = kept.flatMap((words, i) => [
    box(500, 56 + i * ROW * 2, 210, 38),
    text(605, 80 + i * ROW * 2, words, '', 'middle'),
  ])
  return svg(
    'svg',
    { class: 'picture', viewBox: `0 0 960 ${height}`, role: 'img', 'aria-label': t('pictureAlt') },
    svg('defs', {}, arrowTip('tip')),
    box(6, middle - 26, 170, 52),
    text(91, middle + 5, t('picDevices'), '', 'middle'),
    arrow(178, 222, middle),
    box(226, 8, 500, height - 16, 'core'),
    text(476, 34, t('picGateway'), '', 'middle'),
    apiRows,
    keptRows,
    arrow(728, 772, middle),
    box(776, middle - 26, 176, 52),
    text(864, middle + 5, upstreams, '', 'middle'),
  )
}

/** Tip of an arrow, to be named by `marker-end` and `marker-start`. */
function arrowTip(id: string): SVGElement {
  const size = { viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8 }
  return svg('marker', { id, ...size, orient: 'auto-start-reverse' }, svg('path', { d: 'M0 0L8 4L0 8z' }))
}
