import { openRowFile } from '../../tabular/formats/open.js'
import { bestKey, type KeyCount } from '../../tabular/key-counter.js'
import { type ImportPlan, keyCandidates, planFor, proposePlan, type TableTypes } from '../../tabular/plan.js'
import type { FileChoices, RowFile } from '../../tabular/row-file.js'
import { type FileSurvey, type RecordSurvey, surveyFile, surveyRecords } from '../../tabular/survey.js'

/** A file whose rows have been looked at. */
export interface LookedAt {
  readonly name: string
  readonly file: RowFile
  readonly survey: FileSurvey
  /** how it is proposed to import it */
  readonly plan: ImportPlan
  readonly records: RecordSurvey
  /** key to begin with; undefined when no column can be one */
  readonly key: KeyCount | undefined
}

/** A table that the file is imported into. */
export interface Target {
  readonly types: TableTypes
  readonly uniqueColumns: readonly string[]
}

export interface Watch {
  readonly signal: AbortSignal
  /** @param share of all the reading, 0 to 1 */
  onShare(share: number): void
}

/** Longest stretch of work between two turns of the page, ms. */
const SLICE_MS = 40

/**
 * Reads a file twice: first for its columns, then for its places and for what its keys share.
 *
 * @param target table that exists; undefined to propose a new one
 * @throws FileFault, or the reason of the signal
 */
export async function lookAt(
  blob: Blob,
  name: string,
  choices: FileChoices,
  target: Target | undefined,
  { signal, onShare }: Watch,
): Promise<LookedAt> {
  const file = await openRowFile(blob, name, choices)
  const pause = createPause()
  const survey = await surveyFile(file, { signal, pause, onRead: (share) => onShare(share / 2) })
  const { columns, hasGeometry, rowCount } = survey
  const plan =
    target === undefined ? proposePlan(columns, hasGeometry) : planFor(target.types, columns, hasGeometry)
  const keys = target === undefined ? keyCandidates(plan, columns, rowCount) : [[...target.uniqueColumns]]
  const onRead = (share: number) => onShare((1 + share) / 2)
  const records = await surveyRecords(file, plan, keys, { signal, pause, onRead })
  return {
    name,
    file,
    survey,
    plan,
    records,
    key: target === undefined ? bestKey(records.keys) : records.keys[0],
  }
}

/** Counts what a key shares, over the whole file, with places and records for the map as the plan has them now. */
export async function lookAgain(
  file: RowFile,
  plan: ImportPlan,
  key: readonly string[],
  { signal, onShare }: Watch,
): Promise<RecordSurvey> {
  return await surveyRecords(file, plan, [key], { signal, pause: createPause(), onRead: onShare })
}

/** Returns a function that lets the page have a turn now and then. */
export function createPause(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < SLICE_MS) return
    await new Promise((resolve) => setTimeout(resolve))
    since = performance.now()
  }
}
