import type { PreparedArea } from '../geo/prepared-area.js'
import type { Geometry } from '../geo/types.js'
import type { LoaderTable, Span, TableReader } from '../storage/tables.js'
import { findThemeTable, type ThemeNames } from '../storage/themes.js'

/** A theme and the table that holds it. */
interface RiskSource {
  readonly theme: string
  readonly table: LoaderTable
}

/** A query for cells of risk maps. */
export interface RiskQuery {
  /** undefined for everywhere */
  readonly area: PreparedArea | undefined
  readonly period: Span
  readonly sources: readonly RiskSource[]
  readonly levelColumn: string
}

/** A cell of a risk map. */
export interface RiskCell {
  readonly theme: string
  readonly geometry: Geometry
  /** start of its time slot as `start_datetime` is printed; null when it has none */
  readonly start: unknown
  /** 0 to 10 */
  readonly level: number
}

/** Part of the table reader that reading cells uses. */
export type CellReader = Pick<TableReader, 'find' | 'pages'>

/** Highest level of a cell; stored levels beyond it count as it. */
const MAX_LEVEL = 10

/**
 * Finds the tables of themes, each theme once and in the order given; a theme without a table is left out.
 */
export async function findRiskSources(
  tables: Pick<TableReader, 'find'>,
  names: ThemeNames,
  themes: readonly string[],
): Promise<RiskSource[]> {
  const sources: RiskSource[] = []
  for (const theme of new Set(themes)) {
    const table = await findThemeTable((name) => tables.find(name), names, theme)
    if (table !== undefined) sources.push({ theme, table })
  }
  return sources
}

/**
 * Reads cells as they are stored, theme by theme, in the order of arrival. Rows without a level or a geometry
 * are skipped.
 *
 * @throws AppError CANCELLED; UNKNOWN_TABLE when a table is dropped meanwhile
 */
export async function* readStoredCells(
  tables: CellReader,
  { area, period, sources, levelColumn }: RiskQuery,
  signal: AbortSignal,
): AsyncGenerator<RiskCell[]> {
  const columns = ['start_datetime', levelColumn]
  for (const { theme, table } of sources) {
    const query = { columns, span: period, ...(area === undefined ? {} : { area }) }
    for await (const page of tables.pages(table, query, signal)) {
      yield page.flatMap(({ geometry, properties }) => {
        const level = levelOf(properties[levelColumn])
        if (geometry === null || level === undefined) return []
        return [{ theme, geometry, start: properties.start_datetime, level }]
      })
    }
  }
}

/** Returns a printed level clamped to 0 to 10; undefined for null. */
export function levelOf(value: unknown): number | undefined {
  if (value === null || value === undefined) return undefined
  return Math.min(MAX_LEVEL, Math.max(0, Number(value))) // an int8 beyond 2^53 is printed as text
}
