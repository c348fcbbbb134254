/** In a shorter run caches still fill, and the heap has not found its size. */
export const MIN_MINUTES = 10

/**
 * Compares the medians of the second quarter of a run and of its last: the first is the warm-up, and one busy
 * moment of the machine decides nothing.
 *
 * `factor` and `plus` say how much more than at first is still no growth. The rows of models that are put
 * stay for good, as they would in the field, and a log is cut only when it passes 16 MB: so much is granted.
 * Of memory 10 % and 8 MB: between two collections the heap swings by more, the median of its quarter does
 * not.
 */
const RULES = [
  { what: 'RSS MB', field: 'rssMb', factor: 1.1, plus: 8 },
  { what: 'heap MB', field: 'heapMb', factor: 1.1, plus: 8 },
  { what: 'handles', field: 'handles', factor: 1, plus: 8 },
  { what: 'WAL MB', field: 'walMb', factor: 1, plus: 20 },
  { what: 'disk MB', field: 'diskMb', factor: 1.1, plus: 8 },
  { what: 'p99 ms', field: 'p99Ms', factor: 3, plus: 50 },
]

/** @returns for each rule { what, first, last, limit, isGrowing } */
export function judge(samples) {
  const quarter = samples.length / 4
  const early = samples.slice(Math.floor(quarter), Math.floor(2 * quarter))
  const late = samples.slice(Math.floor(3 * quarter))
  return RULES.map(({ what, field, factor, plus }) => {
    const first = median(early.map((sample) => sample[field]))
    const last = median(late.map((sample) => sample[field]))
    const limit = first * factor + plus
    return { what, first, last, limit, isGrowing: !(last <= limit) }
  })
}

function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
