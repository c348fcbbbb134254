import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { repeat } from '../core/page.js'
import { faultNotice } from '../core/parts.js'
import { call } from '../core/rpc.js'
import type { Place, PlacesMap } from '../map/places.js'
import type { ServedMap } from '../map/state.js'
import type { Position, Trouble } from './read.js'
import { KIND_COLOURS, kindOf, kindWord } from './trouble.js'

/** Time between two looks at the positions while the map is open. */
const EVERY_MS = 30_000

type Choice = Readonly<Record<string, unknown>>

/**
 * Map of the last positions of gateways, closed at first: the library is loaded when it is opened. Without a map of
 * this hub the positions stand alone on the ground.
 */
export function gatewayMap() {
  const [box, note] = [h('div', { class: 'map-box fleet-map' }), h('p', { class: 'soft small' })]
  const [status, canvas] = [h('div', { class: 'map-status' }), h('div')]
  fill(box, canvas, status, legend())
  let [choice, isFitted]: [Choice, boolean] = [{}, false]
  let view: Promise<PlacesMap> | undefined
  let stop: (() => void) | undefined
  const open = async () => {
    const { createPlacesMap } = await import('../map/places.js')
    const onFault = (message: string) => fill(status, h('p', { class: 'notice bad', role: 'alert' }, message))
    return createPlacesMap(canvas, await readBase(), onFault)
  }
  const show = async () => {
    if (view === undefined) return
    const question = choice
    try {
      const [made, found] = await Promise.all([view, call<Position[]>('fleet.list_positions', question)])
      if (question !== choice) return
      // those with trouble are drawn last, above the others
      const places = found.reverse().map(toPlace)
      made.show(places)
      note.textContent = t('positionsKnown', { n: formatNumber(found.length) })
      if (!isFitted && places.length > 0) made.fit(places)
      isFitted ||= places.length > 0
      fill(status)
    } catch (error) {
      fill(status, faultNotice(error))
    }
  }
  const element = h(
    'details',
    { class: 'card', ontoggle: () => (element.open ? begin() : stop?.()) },
    h('summary', {}, t('fleetMap')),
    box,
    note,
  )
  const begin = () => {
    view ??= open()
    stop = repeat(EVERY_MS, show)
  }
  return {
    element,
    /** Shows other gateways. */
    show(next: Choice) {
      choice = next
      if (element.open) void show()
    },
    close() {
      stop?.()
      view?.then((made) => made.close()).catch(() => undefined) // one that could not be opened said why
    },
  }
}

/** The first map of this hub; undefined where there is none, or the key may not read it. */
async function readBase(): Promise<ServedMap | undefined> {
  try {
    return (await call<{ maps: ServedMap[] }>('routing.list_maps', {})).maps[0]
  } catch {
    return undefined // the positions are shown without it
  }
}

function toPlace({ node, name, trouble, position }: Position): Place {
  const kind = kindOf(trouble)
  return {
    ...{ name, note: t(kindWord(trouble)), position },
    ...{ colour: KIND_COLOURS[kind], size: kind === 'bad' ? 1.5 : 1 },
    link: [`#/fleet/gateway/${node}`, t('openGateway')],
  }
}

function legend(): HTMLElement {
  const kinds: readonly Trouble[] = ['silent', 'behind', 'none']
  const labels = [t('legendBad'), t('legendWarn'), t('inOrder')]
  return h(
    'div',
    { class: 'map-legend' },
    kinds.map((kind, at) => {
      const swatch = h('span', { class: 'swatch round' })
      swatch.style.background = KIND_COLOURS[kindOf(kind)]
      return h('span', {}, swatch, labels[at])
    }),
  )
}
