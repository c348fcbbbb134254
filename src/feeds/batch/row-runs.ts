import type { ChangedRow } from '../../storage/tables.js'

/** Facts on rows in the header and the second line of a batch: equal ones in a row are told together. */
export interface RowRuns {
  /** origins of consecutive rows, with their numbers */
  readonly origins: readonly [origin: string, rows: number][]
  /** days of consecutive rows, with their numbers */
  readonly days: readonly [day: number, rows: number][]
  /** versions of consecutive rows: rows in the order of their first put at one origin are one pair */
  readonly versions: readonly [step: number, rows: number][]
  add(row: ChangedRow): void
}

/** Creates the runs of no rows. @param node stands for the empty origin */
export function createRowRuns(node: string): RowRuns {
  const origins: [string, number][] = []
  const days: [number, number][] = []
  const versions: [number, number][] = []
  let nextVersion = 0
  return {
    ...{ origins, days, versions },
    add({ origin, day, version }) {
      count(origins, origin === '' ? node : origin)
      count(days, day)
      const lastVersions = versions.at(-1)
      if (version === nextVersion && lastVersions !== undefined) lastVersions[1]++
      else versions.push([version - nextVersion, 1])
      nextVersion = version + 1
    },
  }
}

/** Counts a value: in the last run if that is of the same value, else in a new one. */
function count<T>(runs: [T, number][], value: T): void {
  const last = runs.at(-1)
  if (last?.[0] === value) last[1]++
  else runs.push([value, 1])
}
