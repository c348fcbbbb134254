import type { RecordSurvey } from '../../tabular/survey.js'
import { h } from '../core/dom.js'
import { faultText } from '../core/fault-text.js'
import { t } from '../core/i18n.js'

import { whenSeen } from '../core/when-idle.js'
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
  let newest: MappedRecords | undefined
  let isStarted = false
  const start = async () => {
    try {
      // the map library is loaded when there is a place to show
      const { createMapCanvas } = await import('./map-canvas.js')
      if (isClosed) return
      canvas = await createMapCanvas(box, onChosen)
      if (isClosed) canvas.close()
      else show()
    } catch (error) {
      box.replaceChildren(h('p', { class: 'notice warn' }, `${t('map')}: ${faultText(error)}`))
    }
  }
  const show = (next: MappedRecords | undefined = newest) => {
    newest = next
    box.hidden = next?.bbox === undefined
    if (next?.bbox === undefined) return
    canvas?.show(next.mapped, next.bbox)
    if (isStarted) return
    isStarted = true
    whenSeen(box, () => void start())
  }
  return {
    element: box,
    show: (records: MappedRecords) => show(records),
    /** marks records by their positions among those that are shown */
    select: (positions: ReadonlySet<number>) => canvas?.select(positions),
    close() {
      isClosed = true
      canvas?.close()
      canvas = undefined
    },
  }
}
