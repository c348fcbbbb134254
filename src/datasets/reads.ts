import { parseSafe } from '../json/exact-json.js'
import { jsonPieces } from '../json/json-pieces.js'
import type { StateQuery } from '../storage/states.js'
import type { ReadHandler } from '../worker/read-host.js'
import { type CitationReading, type RecordPages, readCitation } from './read-citation.js'

/** Request for records of a cited state, as it crosses threads. */
export interface RecordsRead {
  readonly label: string
  readonly query: Omit<StateQuery, 'conds'>
  /** JSON text of the condition, null for none: a number that is kept as text cannot be cloned */
  readonly conds: string | null
}

/** Name of the read of this room. */
export const RECORDS_READ = 'dataset.records'

/** Returns the reads of citations, for a reader thread. */
export function datasetReads(source: CitationReading): Record<string, ReadHandler> {
  return {
    async [RECORDS_READ]({ label, query: rest, conds }: RecordsRead, { signal }) {
      const query = conds === null ? rest : { ...rest, conds: parseSafe(conds) }
      return { text: arrayText(await readCitation(source, { label, query, signal })) }
    },
  }
}

/** Yields a JSON array, one chunk per page; pieces of a record that comes alone, as a large one does. */
async function* arrayText(pages: RecordPages): AsyncGenerator<string> {
  let before = '['
  for await (const page of pages) {
    if (page.length === 1) {
      yield before
      yield* jsonPieces(page[0])
    } else yield before + page.map((record) => JSON.stringify(record)).join(',')
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}
