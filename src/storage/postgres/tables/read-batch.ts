import { sizeOfRow } from '../../records/read-records.js'
import type { CheckedRow } from '../../records/record.js'
import type { Pause } from '../../work/pause.js'

/** Most bytes of rows that are kept before they are written: such a call can be repeated by the gateway itself. */
const MAX_BYTES = 16 * 1024 * 1024
/** Rows between two looks at the clock. */
const CHECK_ROWS = 32

/** Rows of one call, read and checked as far as memory allows. */
export interface Batch {
  /** rows that were read so far */
  readonly rows: readonly CheckedRow[]
  /** Reads on until `isTime` says that it is time for something else. @returns true when nothing more is read ahead */
  advance(isTime: () => boolean): boolean
  /** Reads on as far as rows are kept. */
  fill(pause: Pause): Promise<void>
  /** True when all rows are in `rows`, or those before the fault. */
  isWhole(): boolean
  /** Returns the error of the first record that does not fit, as far as it was read. */
  fault(): unknown
  /** Yields the rows that are not kept. @throws AppError BAD_RECORD */
  rest(): Iterable<CheckedRow>
}

/** Creates a batch over rows, which are read one at a time. */
export function createBatch(items: Iterable<CheckedRow>): Batch {
  const source = items[Symbol.iterator]()
  const rows: CheckedRow[] = []
  let bytes = 0
  let end: { readonly error?: unknown } | undefined
  const readOne = () => {
    try {
      const next = source.next()
      if (next.done === true) end = {}
      else {
        rows.push(next.value)
        bytes += sizeOfRow(next.value)
      }
    } catch (error) {
      end = { error }
    }
  }
  const isFull = () => end !== undefined || bytes >= MAX_BYTES
  return {
    rows,
    advance(isTime) {
      for (let count = 1; !isFull(); count++) {
        readOne()
        if (count % CHECK_ROWS === 0 && isTime()) break
      }
      return isFull()
    },
    async fill(pause) {
      for (let count = 1; !isFull(); count++) {
        readOne()
        if (count % CHECK_ROWS === 0) await pause()
      }
    },
    isWhole: () => end !== undefined,
    fault: () => end?.error,
    *rest() {
      if (end === undefined) yield* { [Symbol.iterator]: () => source }
    },
  }
}
