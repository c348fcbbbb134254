/** In a shorter run caches still fill, and the heap has not found its size. */
export const MIN_MINUTES = 10

/**
 * Compares the second quarter of a run with its last: the first is the warm-up. Of memory the least of a quarter counts, for what
 * V8 has not collected yet is no growth and comes and goes by 100 MB; of the rest the median, so that one busy moment of the
 * machine decides nothing.
 *
 * `factor` and `plus` say how much more than at first is still no growth. The rows of models that are put stay for good, as they
 * would in the field, and a log is cut only when it passes 16 MB: so much is granted.
 */
const RULES = [
  { what: 'RSS MB', field: 'rssMb', of: least, factor: 1.15, plus: 10 },
  { what: 'heap MB', field: 'heapMb', of: least, factor: 1.3, plus: 10 },
  { what: 'handles', field: 'handles', of: median, factor: 1, plus: 8 },
  { what: 'WAL MB', field: 'walMb', of: median, factor: 1, plus: 20 },
  { what: 'disk MB', field: 'diskMb', of: median, factor: 1.1, plus: 8 },
  { what: 'p99 ms', field: 'p99Ms', of: median, factor: 3, plus: 50 },
]

/** @returns for each rule { what, first, last, limit, isGrowing } */
export function judge(samples) {
  const quarter = samples.length / 4
  const early = samples.slice(Math.floor(quarter), Math.floor(2 * quarter))
  const late = samples.slice(Math.floor(3 * quarter))
  return RULES.map(({ what, field, of, factor, plus }) => {
    const first = of(early.map((sample) => sample[field]))
    const last = of(late.map((sample) => sample[field]))
    const limit = first * factor + plus
    return { what, first, last, limit, isGrowing: !(last <= limit) }
  })
}

function least(values) {
  return Math.min(...values)
}

function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
