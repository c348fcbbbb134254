import { createHash } from 'node:crypto'
import type { ChecksumPass, CitationSums } from '../datasets/citations.js'
import type { RowState } from '../datasets/states.js'
import { createPause } from '../work/pause.js'
import { canonicalHead, canonicalLine } from './canonical.js'
import { createPageDigestWriter } from './page-digests.js'
import { createRowIndexWriter } from './row-index.js'

/** Rows read at a time: about 2 ms. */
const PAGE_ROWS = 500

/**
 * Starts a reading that computes checksum, row index and page digests. Memory is constant except for 2 bytes
 * per 1024 rows and 9 bytes per 64 row ids.
 */
export async function createChecksumPass(citation: RowState): Promise<ChecksumPass> {
  const hash = createHash('sha256')
  const index = createRowIndexWriter()
  const digests = createPageDigestWriter()
  let rowCount = 0
  const env = { timeZoneMin: 0, nowUs: 0n } // the canonical text depends on neither
  const pause = createPause(undefined, Infinity)
  const { columns, pages } = await citation.read({}, { env, pause, pageRows: PAGE_ROWS, isUnchecked: true })
  hash.update(canonicalHead(columns))
  return {
    async step(sliceMs) {
      const endAt = performance.now() + sliceMs
      do {
        const page = await pages.next()
        if (page.done === true) {
          const checksum = hash.digest('hex')
          return { checksum, rowCount, rowIndex: index.finish(), pageDigests: digests.finish() }
        }
        let text = ''
        for (const [rowId, ...values] of page.value) {
          const line = canonicalLine(columns, values)
          text += line
          index.add(Number(rowId))
          digests.add(Number(rowId), line)
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
