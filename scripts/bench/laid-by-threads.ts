// Lays cells on a map with threads, and compares what they make with what one thread makes of the same map in memory.
import { deepStrictEqual } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { loadGraphFile } from '../../src/files/graph-file-loader.js'
import type { CellSet } from '../../src/risk/cell-set.js'
import { type LayHelpers, layTogether } from '../../src/risk/shared-lay.js'
import { runSliced } from '../../src/route-engine/run-sliced.js'
import type { Overlay } from '../../src/routing/search/overlay.js'

export interface LaidByThreads {
  /** overlays so far, those of which threads laid a part, and those that differ in any byte */
  readonly tally: { overlays: number; shared: number; different: number }
  compare(cells: CellSet, expected: Overlay): Promise<void>
}

/** Memory for the pages of the map: less than any map has, so that it is read by pages, as that of a country is. */
const CACHE_BYTES = 1024 * 1024

/** @param bytes of the map's file */
export function layWithThreads(bytes: Uint8Array, laying: LayHelpers): LaidByThreads {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-bench-'))
  const file = path.join(dir, 'map.graph')
  writeFileSync(file, bytes)
  const graph = loadGraphFile(file, undefined, CACHE_BYTES)
  rmSync(dir, { recursive: true }) // the map keeps its file open
  const tally = { overlays: 0, shared: 0, different: 0 }
  let isShared = false
  const helpers: LayHelpers = {
    ...laying,
    minCells: 1,
    offer: (runFor, onAnswer) =>
      laying.offer(runFor, (place, found) => {
        isShared ||= found !== undefined && found.count > 0
        onAnswer(place, found)
      }),
  }
  const work = { cancel: new Int32Array(1), nextTurn }
  return {
    tally,
    async compare(cells, expected) {
      isShared = false
      const overlay = await runSliced(layTogether(graph, cells, undefined, helpers), work)
      tally.overlays++
      if (isShared) tally.shared++
      try {
        deepStrictEqual(overlay, expected)
      } catch {
        tally.different++
      }
    },
  }
}
