import { fill, h, svg } from '../core/dom.js'
import { t } from '../core/i18n.js'
import type { Page } from '../core/page.js'
import { button, faultNotice } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { readTables, type TableInfo } from '../core/tables.js'
import { readLink } from '../map/link.js'
import { initialState, mapState, RISK_COLOURS, type ServedMap } from '../map/state.js'

/** Map page: the map with its overlays, and the panel that controls them. */
export function mapPage(rest: readonly string[]): Page {
  takeLink()
  if (rest[0] !== undefined) mapState.events.add(rest[0])
  const status = h('div', { class: 'map-status' })
  const panel = h('div', { class: 'map-panel' })
  const box = h('div', { class: 'map-box' })
  let close: (() => void) | undefined
  let isClosed = false
  const open = async () => {
    const loading = h('p', { class: 'notice', role: 'status' }, t('loadingMap'))
    const place = h('div', {}, h('div', { class: 'map-loading' }, loading))
    fill(box, place, status, legend())
    fill(panel, h('h1', {}, t('navMap')), waiting())
    panel.setAttribute('aria-busy', 'true')
    fill(status)
    try {
      const [{ showMap }, { maps }, tables] = await Promise.all([
        import('../map/show-map.js'),
        call<{ maps: ServedMap[] }>('routing.list_maps', {}),
        readTables().catch((error: unknown): TableInfo[] => {
          fault = faultNotice(error, open) // the map works without the tables
          return []
        }),
      ])
      if (isClosed) return
      fill(status, fault, maps.length === 0 && h('p', { class: 'notice warn' }, t('noMap')))
      fill(panel, h('h1', {}, t('navMap')))
      if (news !== undefined) showNews(status, news)
      close = showMap({ box: place, panel, status }, { maps, tables, again })
    } catch (error) {
      fill(status, faultNotice(error, open))
      fill(panel, h('h1', {}, t('navMap')), wayOn())
    }
    loading.parentElement?.remove()
    fault = undefined
    news = undefined
    panel.removeAttribute('aria-busy')
  }
  let fault: HTMLElement | undefined
  let news: string | undefined
  const again = (text: string) => {
    close?.()
    close = undefined
    news = text
    void open()
  }
  void open()
  return {
    title: t('navMap'),
    element: h('div', {}, panel, box),
    close() {
      isClosed = true
      close?.()
    },
  }
}

/** Shows that something was done, and puts the keyboard there: the place where it was is gone. */
function showNews(status: HTMLElement, text: string): void {
  const close = button(t('close'), () => fill(status), 'small')
  fill(status, h('div', { class: 'notice good', role: 'status' }, h('p', {}, text), close))
  close.focus()
}

/** Takes the question of a link, and the initial value of what it leaves out. */
function takeLink(): void {
  const [, query] = location.hash.split('?')
  if (query === undefined) return
  const found = readLink(query)
  Object.assign(mapState, { ...initialState(), spanMs: mapState.spanMs }, found)
  mapState.isTimeChosen = found.atMs !== undefined
}

/** Lines in place of the panel. */
function waiting(): HTMLElement[] {
  return ['80%', '60%', '70%', '50%'].map((width) => {
    const line = h('div', { class: 'skeleton' })
    line.style.width = width
    return line
  })
}

/** Pages that work without the map. */
function wayOn(): HTMLElement {
  return h(
    'div',
    { class: 'stack' },
    h('p', { class: 'soft' }, t('mapWayOn')),
    h(
      'div',
      { class: 'row' },
      h('a', { href: '#/tables' }, t('navTables')),
      h('a', { href: '#/health' }, t('navHealth')),
      button(t('reloadPage'), () => location.reload(), 'small'),
    ),
  )
}

/** Legend of the colours of the levels. */
function legend(): HTMLElement {
  const bars = RISK_COLOURS.map((colour, level) =>
    svg('rect', { x: level * 10, y: 0, width: 10, height: 10, fill: colour }),
  )
  return h(
    'div',
    { class: 'map-legend' },
    h('span', {}, `${t('risk')} 0`),
    svg('svg', { viewBox: '0 0 110 10', 'aria-hidden': 'true' }, bars),
    h('span', {}, '10'),
  )
}
