import type { Counters, LoaderTable } from '../../storage/tables.js'
import { bestKey, type KeyCount } from '../../tabular/key-counter.js'
import type { ImportPlan, PlanColumn } from '../../tabular/plan.js'
import { type CliIo, type GlobalOptions, printJson } from '../io.js'
import { group } from '../maps/map-facts.js'
import type { FeatureSource } from './feature-source.js'
import { exampleText, type PlannedImport, proposalText } from './import-plan.js'

interface Imported {
  readonly table: LoaderTable
  readonly isNew: boolean
  readonly counters: Counters
  /** what the records of the file share */
  readonly shared: KeyCount
}

/** Prints what an import stored, and warns of records that share a key. */
export function reportImport(
  io: CliIo,
  { json }: GlobalOptions,
  { table, isNew, counters, shared }: Imported,
  { places, seconds }: { places: FeatureSource['places']; seconds: number },
): void {
  const { upload, duplicate, insert, update } = counters
  if (shared.shared > 0)
    io.stderr.write(
      `fieldgate: warning: ${group(shared.shared)} records share their key with an earlier record of the file: ${exampleText(shared, places)}\n`,
    )
  if (!shared.isWhole)
    io.stderr.write('fieldgate: warning: the file has too many keys to compare them all with each other\n')
  if (json === true) {
    const facts = { upload, duplicate, duplicateInFile: shared.shared, insert, update, seconds }
    printJson(io, { table: table.dataName, made: isNew, ...facts })
    return
  }
  const skipped = upload - insert - update
  io.stdout.write(
    `${table.dataName}${isNew ? ' (created)' : ''}: ${group(insert)} ${insert === 1 ? 'record' : 'records'} inserted, ${group(update)} overwritten, ` +
      `${group(skipped)} skipped, in ${seconds.toFixed(1)} s\n`,
  )
}

/** Says which columns of a file have another name in the table. */
export function reportRenamed(io: CliIo, plan: ImportPlan): void {
  const renamed = plan.columns.filter(({ source, name }) => source !== name)
  const times = [
    ...(plan.start === undefined || plan.start.source === 'start_datetime'
      ? []
      : [`${plan.start.source} → start_datetime`]),
    ...(plan.end === undefined || plan.end.source === 'end_datetime'
      ? []
      : [`${plan.end.source} → end_datetime`]),
  ]
  const texts = [...times, ...renamed.map(({ source, name }) => `${source} → ${name}`)]
  if (texts.length > 0) io.stderr.write(`fieldgate: columns with another name: ${texts.join(', ')}\n`)
}

/** Prints what `--dry-run` found. */
export function reportPlan(
  io: CliIo,
  { json }: GlobalOptions,
  planned: PlannedImport & { readonly plan: ImportPlan },
  source: FeatureSource,
): void {
  const { plan, survey, counts = [], uniqueColumns } = planned
  const { format, encoding, separator, entry, places } = source
  const facts = { format, encoding, separator, entry }
  const key = uniqueColumns === undefined ? bestKey(counts) : counts[0]
  if (json === true) {
    const columns = plan.columns.map(({ source: from, name, kind }) => ({ source: from, name, type: kind }))
    const { start = null, end = null, place = null } = plan
    printJson(io, { ...facts, records: survey?.rowCount ?? 0, columns, start, end, place, key: key ?? null })
    return
  }
  const about = Object.values(facts).filter((value) => value !== undefined)
  const lines = [
    `${about.join(', ')}: ${group(survey?.rowCount ?? 0)} records`,
    ...plan.columns.map(columnText),
    `start: ${plan.start?.source ?? 'none'}; end: ${plan.end?.source ?? 'none'}; place: ${placeText(plan)}`,
    uniqueColumns === undefined
      ? `key: ${proposalText(planned, places)}`
      : `key: ${uniqueColumns.join(',')}, ${group(key?.shared ?? 0)} records share it with an earlier one`,
    ...(key === undefined || key.shared === 0 || uniqueColumns === undefined
      ? []
      : [`  ${exampleText(key, places)}`]),
    ...oddTexts(planned, places),
  ]
  io.stdout.write(`${lines.join('\n')}\nNothing was stored.\n`)
}

function columnText({ source, name, kind }: PlanColumn): string {
  return `  ${name} ${kind}${source === name ? '' : ` (${source})`}`
}

function placeText({ place }: ImportPlan): string {
  if (place === undefined) return 'none'
  if (place.kind === 'own') return 'the geometry of each record'
  return place.kind === 'degrees' ? `${place.lng}, ${place.lat}` : place.source
}

/** Columns that a few values make text. */
function oddTexts({ survey }: PlannedImport, places: FeatureSource['places']): string[] {
  return (survey?.columns ?? []).flatMap(({ source, odd }) =>
    odd === undefined
      ? []
      : [
          `note: ${source} is text because of ${group(odd.count)} values such as ${JSON.stringify(odd.text)} (${places === 'lines' ? 'line' : 'record'} ${odd.place})`,
        ],
  )
}
