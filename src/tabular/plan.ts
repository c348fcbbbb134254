import type { ColumnFacts, ColumnKind } from './columns.js'
import {
  columnName,
  endRank,
  GEOMETRY_NAMES,
  LAT_NAMES,
  LNG_NAMES,
  soundsLikeId,
  soundsLikeSeries,
  startRank,
} from './names.js'
import type { TimeForm } from './times.js'

/** Column of a file as a column of a table. */
export interface PlanColumn {
  readonly source: string
  /** name in the table */
  name: string
  kind: ColumnKind
  readonly hasComma: boolean
  readonly timeForm: TimeForm | undefined
}

/** Column whose values become the start or the end of the records. */
export interface TimeColumn {
  readonly source: string
  readonly form: TimeForm
}

/** Where the geometry of a record comes from. */
export type PlaceColumns =
  | { readonly kind: 'own' }
  | { readonly kind: 'degrees'; readonly lng: string; readonly lat: string }
  /** WKT, hex WKB or GeoJSON */
  | { readonly kind: 'text'; readonly source: string }

/** Plan by which rows of a file become records of a table. */
export interface ImportPlan {
  /** columns that are stored, without those of time and place */
  readonly columns: PlanColumn[]
  readonly start: TimeColumn | undefined
  readonly end: TimeColumn | undefined
  readonly place: PlaceColumns | undefined
}

/**
 * Proposes how a file becomes a table: its time, its place, and a name and a type for every other column.
 *
 * @param hasGeometry rows have a geometry beside their columns
 */
export function proposePlan(facts: readonly ColumnFacts[], hasGeometry: boolean): ImportPlan {
  const place = hasGeometry ? { kind: 'own' as const } : findPlace(facts)
  const placeSources = sourcesOf(place)
  const times = facts.filter(({ source, timeForm }) => timeForm !== undefined && !placeSources.has(source))
  return planWith(facts, {
    start: timeColumn(best(times, startRank)),
    end: timeColumn(best(times, endRank)),
    place,
  })
}

/** Plan with the time and the place that were decided: a name and a type for every other column. */
export function planWith(
  facts: readonly ColumnFacts[],
  { start, end, place }: Pick<ImportPlan, 'start' | 'end' | 'place'>,
): ImportPlan {
  const taken = new Set<string>()
  const used = new Set([...sourcesOf(place), ...[start, end].flatMap((each) => each?.source ?? [])])
  const columns = facts
    .filter(({ source }) => !used.has(source))
    .map(({ source, kind, hasComma, timeForm }) => ({
      ...{ source, name: columnName(source, taken), kind, hasComma, timeForm },
    }))
  return { columns, start, end, place }
}

/** Types of a table's columns by name. */
export type TableTypes = ReadonlyMap<string, string>

/**
 * Plans the import of a file into a table that exists. Columns of the table keep their names, with the kind of
 * values that their types take; time and place come from columns that it does not have. Any other column keeps
 * its name, which the gateway then refuses.
 *
 * @param types column → PostgreSQL's internal type name, without start, end and location
 */
export function planFor(types: TableTypes, facts: readonly ColumnFacts[], hasGeometry: boolean): ImportPlan {
  const named = (source: string) => (types.has(source) ? source : columnName(source, new Set()))
  const free = facts.filter(({ source }) => !types.has(source))
  const byName = (names: readonly string[]) =>
    free.find(({ source }) => names.includes(source.trim().toLowerCase()))?.source
  const [text, lng, lat] = [byName(GEOMETRY_NAMES), byName(LNG_NAMES), byName(LAT_NAMES)]
  const degrees = lng === undefined || lat === undefined ? undefined : { kind: 'degrees' as const, lng, lat }
  const place = hasGeometry
    ? { kind: 'own' as const }
    : text === undefined
      ? degrees
      : { kind: 'text' as const, source: text }
  const times = free.filter(({ source }) => !types.has(named(source)))
  const start = timeColumnFor('start_datetime', times, startRank)
  const end = timeColumnFor('end_datetime', times, endRank)
  const used = new Set([...sourcesOf(place), ...[start, end].flatMap((each) => each?.source ?? [])])
  const columns = facts
    .filter(({ source }) => !used.has(source))
    .map((each) => {
      const name = types.has(named(each.source)) ? named(each.source) : each.source
      return { ...each, name, kind: kindOfType(types.get(name)) ?? each.kind }
    })
  return { columns, start, end, place }
}

/** The column of the table's own name, whatever it holds; else one that holds times. */
function timeColumnFor(
  own: string,
  facts: readonly ColumnFacts[],
  rank: (name: string) => number,
): TimeColumn | undefined {
  const exact = facts.find(({ source }) => source === own)
  if (exact !== undefined) return { source: own, form: exact.timeForm ?? 'iso' }
  return timeColumn(
    best(
      facts.filter(({ timeForm }) => timeForm !== undefined),
      rank,
    ),
  )
}

/** Kind of the values that a type takes; undefined for an unknown type. */
function kindOfType(udtName: string | undefined): ColumnKind | undefined {
  if (udtName === undefined) return undefined
  if (/^int[248]$/.test(udtName)) return 'int8'
  if (/^float[48]$/.test(udtName)) return 'float8'
  if (udtName === 'timestamptz' || udtName === 'timestamp') return 'timestamptz'
  return udtName === 'bool' || udtName === 'date' ? udtName : 'text'
}

function timeColumn(facts: ColumnFacts | undefined): TimeColumn | undefined {
  return facts?.timeForm === undefined ? undefined : { source: facts.source, form: facts.timeForm }
}

/** Column with the most usual name; undefined when none has one. */
function best(facts: readonly ColumnFacts[], rank: (name: string) => number): ColumnFacts | undefined {
  const named = facts.filter(({ source }) => rank(source) !== -1)
  return named.sort((a, b) => rank(a.source) - rank(b.source))[0]
}

function findPlace(facts: readonly ColumnFacts[]): PlaceColumns | undefined {
  const find = (names: readonly string[], most: number) =>
    facts.find(
      ({ source, range }) =>
        names.includes(source.trim().toLowerCase()) &&
        range !== undefined &&
        Math.max(-range[0], range[1]) <= most,
    )?.source
  const geometry = facts.find(
    ({ source, kind }) => kind === 'text' && GEOMETRY_NAMES.includes(source.trim().toLowerCase()),
  )
  if (geometry !== undefined) return { kind: 'text', source: geometry.source }
  // latitudes up to 180: a file with swapped columns is refused with its line instead of stored without a place
  const [lng, lat] = [find(LNG_NAMES, 180), find(LAT_NAMES, 180)]
  return lng === undefined || lat === undefined ? undefined : { kind: 'degrees', lng, lat }
}

function sourcesOf(place: PlaceColumns | undefined): Set<string> {
  if (place?.kind === 'degrees') return new Set([place.lng, place.lat])
  return new Set(place?.kind === 'text' ? [place.source] : [])
}

/** Most keys that are counted at once. */
const MAX_CANDIDATES = 6

/**
 * Keys that the records of a file may have, the more likely ones first: a column whose values differ; a series
 * with the time; the time with the place; everything.
 */
export function keyCandidates(plan: ImportPlan, facts: readonly ColumnFacts[], rowCount: number): string[][] {
  const factsBy = new Map(facts.map((each) => [each.source, each]))
  const isFilled = (source: string | undefined) =>
    source !== undefined && factsBy.get(source)?.filled === rowCount
  const usable = plan.columns.filter(({ kind, source }) => isFilled(source) && isKeyKind(kind))
  const unique = usable.filter(({ source }) => factsBy.get(source)?.isUnique === true)
  const ids = unique.filter(({ source }) => soundsLikeId(source))
  const others = unique.filter(({ source, kind }) => !soundsLikeId(source) && kind !== 'timestamptz')
  const series = usable
    .filter((column) => !unique.includes(column))
    .sort((a, b) => seriesRank(a.source) - seriesRank(b.source))
  const time = isFilled(plan.start?.source) ? ['start_datetime'] : []
  const place = plan.place === undefined ? [] : ['location']
  const candidates = [
    ...ids.map(({ name }) => [name]),
    ...(time.length === 0 ? [] : series.slice(0, 2).map(({ name }) => [name, ...time])),
    ...(time.length === 0 || place.length === 0 ? [] : [[...time, ...place]]),
    ...others.map(({ name }) => [name]),
    ...(time.length === 0 ? [] : [time]),
    ...(series.length > 1 && time.length === 0 ? [series.slice(0, 2).map(({ name }) => name)] : []),
    [...series.map(({ name }) => name).slice(0, 8), ...time, ...place],
  ]
  const seen = new Set<string>()
  const distinct = candidates.filter((names) => {
    const text = names.join(',')
    return names.length > 0 && !seen.has(text) && seen.add(text)
  })
  return distinct.slice(0, MAX_CANDIDATES)
}

/** Numbers with fractions and truth values identify nothing. */
function isKeyKind(kind: ColumnKind): boolean {
  return kind !== 'float8' && kind !== 'bool'
}

function seriesRank(source: string): number {
  if (soundsLikeSeries(source)) return 0
  return soundsLikeId(source) ? 1 : 2
}
