import type { LoaderTable } from '../../storage/tables.js'
import type { ColumnFacts } from '../../tabular/columns.js'
import type { Encoding } from '../../tabular/encoding.js'
import { bestKey, type KeyCount } from '../../tabular/key-counter.js'
import {
  type ImportPlan,
  keyCandidates,
  type PlaceColumns,
  planFor,
  proposePlan,
} from '../../tabular/plan.js'
import type { RowFile } from '../../tabular/row-file.js'
import type { SeparatorName } from '../../tabular/separator.js'
import { type FileSurvey, surveyFile, surveyRecords } from '../../tabular/survey.js'
import { usageError } from '../io.js'
import { group } from '../maps/map-facts.js'
import type { LongWork } from '../with-progress.js'
import type { FeatureSource, PlaceFlags } from './feature-source.js'

export interface PlanFlags extends PlaceFlags {
  unique?: string
  ifExists?: string
  dryRun?: boolean
  /** column of the start */
  time?: string
  separator?: SeparatorName
  encoding?: Encoding
}

/** Plan of an import, found by reading all of the file first. */
export interface PlannedImport {
  /** absent where the Features of the file are records as they are */
  readonly plan: ImportPlan | undefined
  readonly survey: FileSurvey | undefined
  /** key of the table, or of the one to create; undefined when none was named */
  readonly uniqueColumns: readonly string[] | undefined
  /** what the records share of that key, or of each key that is proposed; undefined when it was not counted */
  readonly counts: readonly KeyCount[] | undefined
}

/** Keys that are remembered of a column or a key, 20 to 40 bytes each. */
export const MAX_KEYS = 500_000

/**
 * Reads a file to find out how it is imported: its columns where they have to be derived, and how many records
 * share a key unless `--if-exists` decides that.
 */
export async function planImport(
  source: FeatureSource,
  table: LoaderTable | undefined,
  flags: PlanFlags,
  work: LongWork,
): Promise<PlannedImport> {
  const needsPlan = table === undefined || source.format === 'csv' || flags.dryRun === true
  const survey = needsPlan ? await surveyFile(watched(source), watchOf(work, 'columns')) : undefined
  const plan = survey === undefined ? undefined : planOf(table, survey, flags)
  const named = flags.unique === undefined ? undefined : keyOf(flags.unique, plan)
  const uniqueColumns = table?.uniqueColumns ?? named
  if (flags.ifExists !== undefined && uniqueColumns !== undefined && flags.dryRun !== true)
    return { plan, survey, uniqueColumns, counts: undefined }
  const keys =
    uniqueColumns !== undefined || plan === undefined || survey === undefined
      ? [uniqueColumns ?? []]
      : keyCandidates(plan, survey.columns, survey.rowCount)
  const { keys: counts } = await surveyRecords(watched(source), plan ?? AS_IT_IS, keys, watchOf(work, 'keys'))
  return { plan, survey, uniqueColumns, counts }
}

/** Plan of Features whose properties are those of the records: the values of the key are taken from them. */
const AS_IT_IS: ImportPlan = { columns: [], start: undefined, end: undefined, place: { kind: 'own' } }

function watched(source: FeatureSource): RowFile {
  return { ...source, batches: (onRead) => source.batches(onRead) }
}

function watchOf({ progress, signal }: LongWork, what: string) {
  return { signal, maxKeys: MAX_KEYS, onRead: (share: number) => progress.show(share, what, 0) }
}

function planOf(table: LoaderTable | undefined, survey: FileSurvey, flags: PlanFlags): ImportPlan {
  const { columns: facts, hasGeometry } = survey
  const plan =
    table === undefined
      ? proposePlan(withoutPlaces(facts, flags), hasGeometry)
      : planFor(typesOf(table), withoutPlaces(facts, flags), hasGeometry)
  const place = placeOf(facts, flags) ?? plan.place
  if (flags.time === undefined) return { ...plan, place }
  const time = facts.find(({ source }) => source === flags.time)
  if (time?.timeForm === undefined)
    throw usageError(`--time: found ${flags.time}, expected a column of times, one of ${namesOf(facts)}`)
  const columns = plan.columns.filter(({ source }) => source !== flags.time)
  return { ...plan, place, columns, start: { source: time.source, form: time.timeForm } }
}

function typesOf({ columns }: LoaderTable): Map<string, string> {
  const own = columns.filter(({ name }) => !/^(?:start_datetime|end_datetime|location)$/.test(name))
  return new Map(own.map(({ name, udtName }) => [name, udtName]))
}

/** Columns without those that flags name for the place. */
function withoutPlaces(facts: readonly ColumnFacts[], { lng, lat, geometry }: PlaceFlags): ColumnFacts[] {
  return facts.filter(({ source }) => source !== lng && source !== lat && source !== geometry)
}

/** Place that flags name; the usual name stands for a coordinate that is not named. */
function placeOf(
  facts: readonly ColumnFacts[],
  { lng, lat, geometry }: PlaceFlags,
): PlaceColumns | undefined {
  for (const named of [lng, lat, geometry]) {
    if (named === undefined || facts.some(({ source }) => source === named)) continue
    throw new Error(`the file has no column ${JSON.stringify(named)}, found ${namesOf(facts)}`)
  }
  if (geometry !== undefined) return { kind: 'text', source: geometry }
  return lng === undefined || lat === undefined ? undefined : { kind: 'degrees', lng, lat }
}

function namesOf(facts: readonly ColumnFacts[]): string {
  return facts
    .slice(0, 20)
    .map(({ source }) => source)
    .join(', ')
}

/** Columns of a key; a name of the file stands for the column of the table that it becomes. */
function keyOf(unique: string, plan: ImportPlan | undefined): string[] {
  return unique.split(',').map((text) => {
    const name = text.trim()
    if (plan === undefined || plan.columns.some((column) => column.name === name)) return name
    if (plan.start?.source === name) return 'start_datetime'
    if (plan.end?.source === name) return 'end_datetime'
    return plan.columns.find(({ source }) => source === name)?.name ?? name
  })
}

/** Text of examples: `line 7 has the key of line 3 (gauge "a")`. */
export function exampleText({ examples }: KeyCount, places: RowFile['places']): string {
  const one = places === 'lines' ? 'line' : 'record'
  return examples
    .map(({ first, second, key }) => `${one} ${second} has the key of ${one} ${first} (${key})`)
    .join('; ')
}

/** Key to propose, as the flag that chooses it, with what the records share of it. */
export function proposalText({ counts = [] }: PlannedImport, places: RowFile['places']): string {
  const best = bestKey(counts)
  if (best === undefined) return 'no column of the file has a value in every record'
  const flag = `--unique ${best.columns.join(',')}`
  if (best.shared === 0) return `for example ${flag}, which no two records share`
  return `the best that was found is ${flag}, which ${group(best.shared)} records share with an earlier one: ${exampleText(best, places)}`
}
