import type { RecordSurvey } from '../../tabular/survey.js'
import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { faultText } from '../core/parts.js'
import type { MapCanvas } from './map-canvas.js'

type MappedRecords = Pick<RecordSurvey, 'mapped' | 'bbox'>

/**
 * A small map of records; it has no height until there is something to show.
 *
 * @param onChosen called with the position of the record that was clicked, among those that are shown
 */
export function smallMap(onChosen?: (position: number) => void) {
  const box = h('div', { class: 'small-map', hidden: true })
  let canvas: MapCanvas | undefined
  let isClosed = false
  const show = async ({ mapped, bbox }: MappedRecords) => {
    box.hidden = bbox === undefined
    if (bbox === undefined) return
    try {
      if (canvas === undefined) {
        // the map library is loaded when there is a place to show
        const { createMapCanvas } = await import('./map-canvas.js')
        if (isClosed) return
        canvas ??= await createMapCanvas(box, onChosen)
      }
      if (isClosed) canvas.close()
      else canvas.show(mapped, bbox)
    } catch (error) {
      box.replaceChildren(h('p', { class: 'notice warn' }, `${t('map')}: ${faultText(error)}`))
    }
  }
  return {
    element: box,
    show: (records: MappedRecords) => void show(records),
    /** marks records by their positions among those that are shown */
    select: (positions: ReadonlySet<number>) => canvas?.select(positions),
    close() {
      isClosed = true
      canvas?.close()
      canvas = undefined
    },
  }
}
