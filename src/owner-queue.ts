/** Items of owners, which are taken in turns of the owners. */
export interface OwnerQueue<T> {
  push(owner: string, item: T): void
  /** Takes the oldest item of the owner whose turn it is; undefined when there is none. */
  take(): T | undefined
  size(): number
}

/** Places of taken items at the front of an owner's array before it is cut: cutting moves what waits. */
const CUT_FROM = 64

/** Creates a queue in which an owner with a thousand items and one with a single item have turns. O(1) each, on average. */
export function createOwnerQueue<T>(): OwnerQueue<T> {
  /** the first owner has the next turn; `from` is the position of its oldest item, those before it are taken */
  const owners = new Map<string, { items: (T | undefined)[]; from: number }>()
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
      const item = mine.items[mine.from]
      mine.items[mine.from++] = undefined // what was taken is not kept
      owners.delete(owner)
      if (mine.from < mine.items.length) owners.set(owner, mine) // behind the others
      if (mine.from >= CUT_FROM && mine.from * 2 >= mine.items.length) {
        mine.items.splice(0, mine.from)
        mine.from = 0
      }
      size--
      return item
    },
    size: () => size,
  }
}
