import { h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { button, saveFile, type statusLine } from '../core/parts.js'
import { readAnswer, request, rpcFault } from '../core/rpc.js'
import type { GridSource } from './source.js'

const FORMATS = [
  ['csv', 'CSV'],
  ['geojson', 'GeoJSON'],
  ['gpkg', 'GeoPackage'],
] as const

/** Buttons that save the rows of the filters as a file. */
export function exportButtons(
  source: GridSource,
  now: () => { conds: object | undefined; sort: string },
  status: ReturnType<typeof statusLine>,
): HTMLElement {
  const save = async (format: string) => {
    status.say(t('gridSaving'))
    try {
      const { conds, sort } = now()
      const query = new URLSearchParams({ format })
      if (conds !== undefined) query.set('conds', JSON.stringify(conds))
      if (sort !== '') query.set('order', sort)
      const response = await request(`${source.exportPath}?${query}`)
      if (!response.ok) {
        const { error } = await readAnswer(response)
        throw rpcFault(response.status, error ?? { code: 0, message: `Found HTTP ${response.status}` })
      }
      saveFile(`${source.name}.${format}`, 'application/octet-stream', await response.blob())
      status.say('')
    } catch (error) {
      status.bad(error)
    }
  }
  return h(
    'div',
    { class: 'row', role: 'group', 'aria-label': t('gridExport') },
    h('span', { class: 'soft small' }, t('gridExport')),
    FORMATS.map(([format, name]) => button(name, () => void save(format), 'small')),
  )
}
