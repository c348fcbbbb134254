import type { MeshDegree } from '../../geo/mesh.js'
import { prepareArea } from '../../geo/prepared-area.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import { type MeshOptions, readMeshCells } from '../../tables/mesh-riskmap.js'
import { findRiskSources, type RiskCell, type RiskQuery, readStoredCells } from '../../tables/riskmap.js'
import { collectionText } from '../feature-collection.js'
import { readPeriodFrom } from '../period.js'
import { type MapContext, requireReading } from './context.js'
import { RiskmapParams, RiskmapResult } from './schema.js'

/** Length of a period without an end: one second. */
const DEFAULT_PERIOD_US = 1_000_000n
const COLLECTION_NAME = 'requestExtraRiskmapResponse'

export const riskmap = defineMethod({
  name: 'mapserv.riskmap',
  summary:
    'Risk map cells of themes in an area and a period, as stored or on the standard grid. A theme in a dataset needs dataset:read, too',
  scope: 'map:read',
  errors: ['TOO_MANY_CELLS'],
  params: RiskmapParams,
  result: RiskmapResult,
  paramsIn: 'array',
  async handle({ geometry, properties }, context: MapContext) {
    const { tables, config, timeZoneMin, signal } = context
    const { themes, target_theme_mesh_degree: degree } = properties
    const sources = await findRiskSources(tables, config.riskmap, themes)
    for (const { table } of sources) requireReading(table, context)
    const query: RiskQuery = {
      area: geometry === null ? undefined : prepareArea(geometry),
      period: readPeriodFrom(properties, timeZoneMin, DEFAULT_PERIOD_US),
      sources,
      levelColumn: config.riskmap.levelColumn,
    }
    const cells =
      degree === undefined
        ? readStoredCells(tables, query, signal)
        : readMeshCells(tables, query, meshOptions(degree, config.limits.meshCells), signal)
    return streamed(collectionText(COLLECTION_NAME, featureTexts(cells)))
  },
})

/** @param degree 1 to 5, as the schema requires */
function meshOptions(degree: number, maxCells: number): MeshOptions {
  return { degree: degree as MeshDegree, maxCells }
}

async function* featureTexts(cells: AsyncIterable<RiskCell[]>): AsyncGenerator<string[]> {
  for await (const batch of cells) yield batch.map(featureText)
}

/** `datetime` is the start of the cell's slot, null when the cell has always been valid. */
function featureText({ geometry, theme, start, level }: RiskCell): string {
  const properties = { theme, datetime: start, risk: level }
  return JSON.stringify({ type: 'Feature', geometry, properties })
}
