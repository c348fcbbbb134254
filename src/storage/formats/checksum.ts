import { createHash } from 'node:crypto'
import type { ChecksumPass, CitationSums } from '../citations.js'
import { createPause } from '../pause.js'
import type { RowState } from '../states.js'
import { canonicalHead, canonicalLine } from './canonical.js'
import { createRowIndexWriter } from './row-index.js'

/** Rows read at a time: about 2 ms. */
const PAGE_ROWS = 500

/**
 * Starts a reading that computes checksum and row index. Memory is constant except for the index: 2 bytes per
 * 1024 rows.
 */
export async function createChecksumPass(citation: RowState): Promise<ChecksumPass> {
  const hash = createHash('sha256')
  const index = createRowIndexWriter()
  let rowCount = 0
  const env = { timeZoneMin: 0, nowUs: 0n } // the canonical text depends on neither
  const pause = createPause(undefined, Infinity)
  const { columns, pages } = await citation.read({}, { env, pause, pageRows: PAGE_ROWS })
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

/** Reads a whole citation and returns its sums. */
export async function computeSums(citation: RowState): Promise<CitationSums> {
  const pass = await createChecksumPass(citation)
  for (;;) {
    const sums = await pass.step(Infinity)
    if (sums !== undefined) return sums
  }
}
