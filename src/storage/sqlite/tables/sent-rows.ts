import type { Stored } from '../../columns/column-type.js'
import { placeOf } from '../../records/place.js'
import { END, LOCATION, START } from '../../records/record-plan.js'
import type { LoaderTable } from '../../tables.js'
import type { Pause } from '../../work/pause.js'
import type { Db } from '../connection/database.js'
import { keepOrigin } from './origins.js'
import { MAX_SEGMENT_ROWS } from './segment-index.js'
import { createRowWriter } from './writer.js'

/** A row, its values checked. */
interface SentRow {
  /** UTC day of its last write at its origin */
  readonly day: number
  /** version at its origin; 0 where it is not known */
  readonly version: number
  readonly values: readonly Stored[]
}

/** Rows of one origin. */
interface SentRows {
  /** UUID of the node at which they were first put */
  readonly origin: string
  /** UUID of the node that sent them */
  readonly sender: string
  readonly rows: Iterable<SentRow>
}

/** Rows between two checks of the clock. */
const CHECK_ROWS = 64
/** Defaults of columns were applied where the rows were put first. */
const ENV = { timeZoneMin: 0, nowUs: 0n }

/**
 * Stores rows that another node sent: they override those with the same key and origin unless these are newer, and
 * equal ones are left as they are. The caller has begun a transaction.
 *
 * @returns number of rows that were written
 */
export async function putSentRows(
  db: Db,
  table: LoaderTable,
  { origin, sender, rows }: SentRows,
  pause: Pause,
): Promise<number> {
  const writer = createRowWriter(db, table, { ifExists: 'override', origin }, ENV)
  const senderId = keepOrigin(db, sender)
  let written = 0
  let read = 0
  for (const { day, version, values } of rows) {
    const [box, startUs, endUs] = placeOf({
      location: values[LOCATION] as Uint8Array | null,
      start_datetime: values[START] as bigint | null,
      end_datetime: values[END] as bigint | null,
    })
    if (writer.putSent({ values: [...values], box, startUs, endUs, files: [] }, { day, version, senderId }))
      written++
    if (read++ % CHECK_ROWS === 0) await pause()
  }
  writer.finish(MAX_SEGMENT_ROWS)
  return written
}
