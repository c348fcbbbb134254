/** Items of owners, which are taken in turns of the owners. */
export interface OwnerQueue<T> {
  push(owner: string, item: T): void
  /** Takes the oldest item of the owner whose turn it is; undefined when there is none. */
  take(): T | undefined
  size(): number
}

/** Creates a queue in which an owner with a thousand items and one with a single item have turns. O(1) each. */
export function createOwnerQueue<T>(): OwnerQueue<T> {
  /** the first owner has the next turn; `from` is the position of its oldest item */
  const owners = new Map<string, { items: T[]; from: number }>()
  let size = 0
  return {
    push(owner, item) {
      const mine = owners.get(owner)
      if (mine === undefined) owners.set(owner, { items: [item], from: 0 })
      else mine.items.push(item)
      size++
    },
    take() {
      const [next] = owners
      if (next === undefined) return undefined
      const [owner, mine] = next
      const item = mine.items[mine.from++]
      owners.delete(owner)
      if (mine.from < mine.items.length) owners.set(owner, mine) // behind the others
      size--
      return item
    },
    size: () => size,
  }
}
