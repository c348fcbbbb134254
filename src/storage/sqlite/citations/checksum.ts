import { createHash } from 'node:crypto'
import type { Db } from '../connection/database.js'
import { createPause } from '../connection/pause.js'
import { canonicalHead, canonicalLine } from './canonical.js'
import type { CitationSums, FoundCitation } from './catalog.js'
import { createRowIndexWriter } from './row-index.js'
import { readState } from './state.js'

/** One reading of a cited state from its first row to its last, that can be interrupted. */
export interface ChecksumPass {
  /** goes on for about so long. @returns the sums when the last row has been read, else undefined */
  step(sliceMs: number): Promise<CitationSums | undefined>
  /** lets go of it before its end */
  abandon(): Promise<void>
}

/** Rows read at a time: about 2 ms. */
const PAGE_ROWS = 500

/** Reads a citation for its checksum and its row index. Constant memory but for the index. */
export function createChecksumPass(db: Db, citation: FoundCitation): ChecksumPass {
  const hash = createHash('sha256')
  const index = createRowIndexWriter()
  let rowCount = 0
  const env = { timeZoneMin: 0, nowUs: 0n } // nothing here depends on them
  const pause = createPause(undefined, Infinity)
  const { columns, pages } = readState({ db, env, pause, pageRows: PAGE_ROWS }, citation.state, {})
  hash.update(canonicalHead(columns))
  return {
    async step(sliceMs) {
      const endAt = performance.now() + sliceMs
      do {
        const page = await pages.next()
        if (page.done === true) return { checksum: hash.digest('hex'), rowCount, rowIndex: index.finish() }
        let text = ''
        for (const [rowId, ...values] of page.value) {
          text += canonicalLine(columns, values)
          index.add(Number(rowId))
        }
        rowCount += page.value.length
        hash.update(text)
      } while (performance.now() < endAt)
      return undefined
    },
    async abandon() {
      await pages.return(undefined)
    },
  }
}

/** Reads the whole citation. */
export async function computeSums(db: Db, citation: FoundCitation): Promise<CitationSums> {
  const pass = createChecksumPass(db, citation)
  for (;;) {
    const sums = await pass.step(Infinity)
    if (sums !== undefined) return sums
  }
}
