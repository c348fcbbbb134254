import { boundsOf } from '../../tabular/survey.js'
import { h } from '../core/dom.js'
import { smallMap } from '../import/small-map.js'
import type { GridRow } from './source.js'

/** Map of the rows of a page. @param onChosen called with the position of a row that was clicked on the map */
export function gridMap(onChosen: (position: number) => void) {
  let positions: number[] = []
  const map = smallMap((at) => {
    const position = positions[at]
    if (position !== undefined) onChosen(position)
  })
  return {
    element: h('div', {}, map.element),
    show(rows: readonly GridRow[]) {
      positions = rows.flatMap(({ geometry }, at) => (isGeometry(geometry) ? [at] : []))
      const mapped = positions.map((at) => ({
        type: 'Feature' as const,
        geometry: rows[at]?.geometry,
        properties: {},
      }))
      map.show({ mapped, bbox: boundsOf(mapped) })
    },
    select: (chosen: ReadonlySet<number>) =>
      map.select(new Set(positions.flatMap((position, at) => (chosen.has(position) ? [at] : [])))),
  }
}

function isGeometry(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value
}
