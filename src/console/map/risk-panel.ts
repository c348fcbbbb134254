import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { newest } from '../core/newest.js'
import { faultNotice, field, select } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { facts } from '../core/session.js'
import { clampedPolygon } from '../core/tables.js'
import { chooseTables } from './choose-tables.js'
import { curveEditor, PRESETS } from './curve.js'
import type { MapView } from './map-view.js'
import { mapState } from './state.js'

/**
 * Panel of the risk map: themes, cells, and a sensitivity curve for each shown theme.
 *
 * @param onWeights called when a change affects routes; `isLive` during a drag
 * @param onShown called when the choice of themes was changed
 */
export function riskPanel(
  themes: ReadonlyMap<string, string>,
  view: MapView,
  { onWeights, onShown }: { onWeights: (isLive: boolean) => void; onShown: () => void },
) {
  const { live, now, stop, status, fault } = riskLayer(view)
  const curves = h('div', { class: 'stack' })
  const showCurves = () => fill(curves, curveEditors(onWeights))
  const choose = (theme: string, isOn: boolean) => {
    if (isOn) mapState.themes.set(theme, [...PRESETS.presetCareful])
    else mapState.themes.delete(theme)
    showCurves()
    now()
    onWeights(false)
    onShown()
  }
  showCurves()
  const boxes = chooseTables({
    names: [...themes.keys()],
    label: t('filterThemes'),
    isChosen: (theme) => mapState.themes.has(theme),
    choose,
  })
  const degree = degreeChoice(now)
  const none = () => h('p', { class: 'soft small' }, t('riskNone', { column: facts().levelColumn }))
  const element = h(
    'section',
    { 'aria-labelledby': 'risk-title' },
    h('h2', { id: 'risk-title' }, t('riskTitle')),
    themes.size === 0 ? none() : [boxes, degree, status, fault, curves],
  )
  return { element, live, now, stop }
}

/** One editor for each shown theme. */
function curveEditors(onWeights: (isLive: boolean) => void): HTMLElement[] {
  return [...mapState.themes].map(([theme, curve]) =>
    curveEditor(theme, curve, (next, isLive) => {
      mapState.themes.set(theme, next)
      onWeights(isLive)
    }),
  )
}

/** Layer with the cells of the chosen themes in the visible area. */
function riskLayer(view: MapView) {
  const status = h('p', { class: 'soft small', role: 'status' })
  const fault = h('div')
  const show = async (signal: AbortSignal) => {
    const shown = [...mapState.themes.keys()]
    if (shown.length === 0) {
      fill(fault)
      view.setData('risk', [])
      status.textContent = ''
      return
    }
    try {
      const features = await readCells(shown, view, signal)
      if (signal.aborted) return
      fill(fault)
      view.setData('risk', features)
      const n = formatNumber(features.length)
      status.textContent = features.length === 0 ? t('riskNothing') : t('riskShown', { n })
    } catch (error) {
      if (!signal.aborted) fill(fault, faultNotice(error, latest.now))
    }
  }
  const latest = newest(show)
  return { ...latest, status, fault }
}

function degreeChoice(onChange: () => void): HTMLElement {
  const degree = select(
    [['0', t('cellsStored')], ...[1, 2, 3, 4, 5].map((n) => [String(n), t('cellsDegree', { n })] as const)],
    String(mapState.degree),
  )
  degree.addEventListener('change', () => {
    mapState.degree = Number(degree.value)
    onChange()
  })
  return field(t('riskCells'), degree)
}

async function readCells(themes: string[], view: MapView, signal: AbortSignal): Promise<object[]> {
  const { degree, atMs } = mapState
  const params = {
    type: 'Feature',
    geometry: clampedPolygon(view.bounds()),
    properties: {
      themes,
      start_datetime: new Date(atMs).toISOString(),
      ...(degree === 0 ? {} : { target_theme_mesh_degree: degree }),
    },
  }
  return (await call<{ features: object[] }>('mapserv.riskmap', params, signal)).features
}
