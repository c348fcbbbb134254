/** Most names that one message lists. */
const MAX_LISTED = 20
const MAX_SHOWN = 80
/** Longer names are not compared: the comparison takes time with the product of the lengths. */
const MAX_COMPARED = 200

/**
 * Returns known names for a message, the closest to a found one first; the others are counted. `none` when
 * there is none.
 *
 * @param found name that is not known; undefined keeps the order
 */
export function candidates(known: Iterable<string>, found?: string, maxListed = MAX_LISTED): string {
  const names = [...known]
  const sorted = found === undefined || names.length < 2 ? names : closestFirst(names, found)
  const listed = sorted.slice(0, maxListed).map(shortName)
  if (listed.length === 0) return 'none'
  return names.length > maxListed
    ? `${listed.join(', ')} and ${names.length - maxListed} more`
    : listed.join(', ')
}

/** Sorts names by their distance to a found one; equal distances keep their order. */
function closestFirst(names: readonly string[], found: string): string[] {
  const wanted = found.slice(0, MAX_COMPARED).toLowerCase()
  return names
    .map((name) => ({ name, distance: editDistance(wanted, name.slice(0, MAX_COMPARED).toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .map(({ name }) => name)
}

/**
 * Returns the number of letters to insert, remove or replace.
 *
 * @see V. I. Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals", 1966
 */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

function shortName(name: string): string {
  return name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name
}
