import type { RecordSurvey } from '../../tabular/survey.js'
import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { faultText } from '../core/parts.js'
import type { MapCanvas } from './map-canvas.js'

/** A small map of the records of a file; it has no height until there is something to show. */
export function smallMap() {
  const box = h('div', { class: 'small-map', hidden: true })
  let canvas: MapCanvas | undefined
  let isClosed = false
  const show = async ({ mapped, bbox }: RecordSurvey) => {
    box.hidden = bbox === undefined
    if (bbox === undefined) return
    try {
      if (canvas === undefined) {
        // the map library is loaded when there is a place to show
        const { createMapCanvas } = await import('./map-canvas.js')
        if (isClosed) return
        canvas ??= await createMapCanvas(box)
      }
      if (isClosed) canvas.close()
      else canvas.show(mapped, bbox)
    } catch (error) {
      box.replaceChildren(h('p', { class: 'notice warn' }, `${t('map')}: ${faultText(error)}`))
    }
  }
  return {
    element: box,
    show: (records: RecordSurvey) => void show(records),
    close() {
      isClosed = true
      canvas?.close()
      canvas = undefined
    },
  }
}
