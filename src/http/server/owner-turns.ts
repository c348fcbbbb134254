/** Work of owners that waits; it is taken in turns of the owners. */
export interface OwnerTurns {
  push(owner: string, work: () => void): void
  /** Takes the oldest work of the owner whose turn it is, and puts the owner behind the others. */
  take(): (() => void) | undefined
  isEmpty(): boolean
}

/** Creates the turns: an owner with a thousand works and one with a single work take turns. */
export function createOwnerTurns(): OwnerTurns {
  /** the first owner has the next turn */
  const waiting = new Map<string, (() => void)[]>()
  return {
    push(owner, work) {
      const mine = waiting.get(owner)
      if (mine === undefined) waiting.set(owner, [work])
      else mine.push(work)
    },
    take() {
      const [next] = waiting
      if (next === undefined) return undefined
      const [owner, mine] = next
      const work = mine.shift()
      waiting.delete(owner)
      if (mine.length > 0) waiting.set(owner, mine)
      return work
    },
    isEmpty: () => waiting.size === 0,
  }
}
