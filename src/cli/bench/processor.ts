import { figure, type Row } from './row.js'

const ADDITIONS = 100_000_000
/** Beyond the caches of boards. */
const READ_BYTES = 64 * 1024 * 1024
const READS = 4_000_000

/** Measures one core: loops in registers, and reads that miss its caches, as searches on large maps do. */
export function measureProcessor(): Row[] {
  return [
    {
      part: 'processor',
      what: '100 million steps of an integer loop',
      value: `${figure(best(countSteps))} ms`,
    },
    {
      part: 'processor',
      what: 'reads at random places of 64 MB, each after the other',
      value: `${figure((best(readAtRandom()) * 1e6) / READS)} ns a read`,
    },
  ]
}

/** @returns milliseconds of the fastest of three runs: the first ones compile */
function best(work: () => number): number {
  let leastMs = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    const startedMs = performance.now()
    if (work() === Number.NEGATIVE_INFINITY) return 0 // uses the result, so that the loop cannot be left out
    leastMs = Math.min(leastMs, performance.now() - startedMs)
  }
  return leastMs
}

function countSteps(): number {
  let state = 1
  for (let i = 0; i < ADDITIONS; i++) state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
  return state
}

/** One cycle through all places, so that each read waits for the one before. */
function readAtRandom(): () => number {
  const places = READ_BYTES / 4
  const next = new Int32Array(places)
  // a full period: the multiplier is 1 more than a multiple of 4, the increment odd, the modulus a power of two
  for (let at = 0; at < places; at++) next[at] = (Math.imul(at, 1_664_525) + 1_013_904_223) & (places - 1)
  return () => {
    let at = 0
    for (let i = 0; i < READS; i++) at = next[at] ?? 0
    return at
  }
}
