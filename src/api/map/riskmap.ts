import type { MeshDegree } from '../../geo/mesh.js'
import { type PreparedArea, prepareArea } from '../../geo/prepared-area.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import type { LoaderTable } from '../../storage/tables.js'
import { findThemeTable } from '../../storage/themes.js'
import { collectionText } from './collection.js'
import type { MapContext } from './context.js'
import { readMeshCells } from './mesh-riskmap.js'
import { type Period, readPeriod } from './read-period.js'
import { featureText, levelOf } from './risk-feature.js'
import { RiskmapParams, RiskmapResult } from './schema.js'

const DEFAULT_PERIOD_US = 1_000_000n
const COLLECTION_NAME = 'requestExtraRiskmapResponse'

export const riskmap = defineMethod({
  name: 'mapserv.riskmap',
  summary: 'Risk map cells of themes in an area and a period, as stored or on the standard grid',
  scope: 'map:read',
  errors: ['TOO_MANY_CELLS'],
  params: RiskmapParams,
  result: RiskmapResult,
  paramsIn: 'array',
  handle({ geometry, properties }, context: MapContext) {
    const { themes, target_theme_mesh_degree: degree } = properties
    const question: RiskQuestion = {
      area: geometry === null ? undefined : prepareArea(geometry),
      period: readPeriod(properties, context.timeZoneMin, DEFAULT_PERIOD_US) as Period,
      sources: sourcesOf(themes, context),
      levelColumn: context.config.riskmap.levelColumn,
    }
    const batches =
      degree === undefined
        ? readStoredCells(question, context)
        : readMeshCells(question, degree as MeshDegree, context)
    return streamed(collectionText(COLLECTION_NAME, batches))
  },
})

/** What is asked of risk maps, checked. */
export interface RiskQuestion {
  /** undefined = everywhere */
  readonly area: PreparedArea | undefined
  readonly period: Period
  readonly sources: readonly { readonly theme: string; readonly table: LoaderTable }[]
  readonly levelColumn: string
}

/** Each theme once, in the order asked for; unknown ones have no cells. */
function sourcesOf(themes: readonly string[], { tables, config }: MapContext): RiskQuestion['sources'] {
  return [...new Set(themes)].flatMap((theme) => {
    const table = findThemeTable(tables.find, config.riskmap, theme)
    return table === undefined ? [] : [{ theme, table }]
  })
}

/** Rows without a level or a geometry are no cells. Read in the order of the themes, then of arrival. */
async function* readStoredCells(
  { area, period, sources, levelColumn }: RiskQuestion,
  { tables, signal }: MapContext,
): AsyncGenerator<string[]> {
  const columns = ['start_datetime', levelColumn]
  for (const { theme, table } of sources) {
    const query = { columns, span: period, ...(area === undefined ? {} : { area }) }
    for await (const page of tables.pages(table, query, signal)) {
      yield page.flatMap(({ geometry, properties }) => {
        const level = levelOf(properties[levelColumn])
        if (geometry === null || level === undefined) return []
        return [featureText(JSON.stringify(geometry), theme, properties.start_datetime, level)]
      })
    }
  }
}
