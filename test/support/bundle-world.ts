import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { type BundleSide, openBundleSide } from './bundle-side.js'
import type { FeedNode } from './feed-node.js'
import type { Topology, WorldExtra } from './feed-world.js'

/** A bundle on a stick. */
interface Stick {
  readonly file: string
  readonly to: string
}

/** Sticks of a world that are kept: older ones are lost. */
const KEPT = 12

/**
 * Lets sticks go between the nodes of a world, both ways along its feeds: they are lost, applied again, and in any order.
 *
 * @param dir of the world
 */
export function sticksOf(
  { feeds }: Topology,
  dir: string,
  cutShare?: number,
): (nodes: readonly FeedNode[]) => WorldExtra {
  return (nodes) => {
    const sticks: Stick[] = []
    const byName = new Map(nodes.map((node) => [node.name, node]))
    const ways = feeds
      .filter(([, , direction]) => direction === 'up')
      .flatMap(
        ([a, b]) =>
          [
            [a, b],
            [b, a],
          ] as const,
      )
    const files = path.join(dir, 'sticks')
    mkdirSync(files)
    let written = 0
    const at = async <T>(name: string, work: (side: BundleSide) => Promise<T>): Promise<T> => {
      const side = await openBundleSide(path.join(dir, name), byName.get(name)?.nodeId)
      try {
        return await work(side)
      } finally {
        await side.close()
      }
    }
    const write = async (from: string, to: string, isContinued: boolean) => {
      const file = path.join(files, `${written++}`)
      await at(from, (side) => side.write(file, [to], { isContinued, maxBytes: 100_000 }))
      sticks.push({ file, to })
      if (sticks.length > KEPT) sticks.shift()
      return file
    }
    return {
      ...(cutShare === undefined ? {} : { cutShare }),
      async prepare() {
        for (const [from, to] of ways) await at(from, (side) => at(to, (other) => side.meet(other, to, true)))
      },
      async act(node, random) {
        const own = ways.filter(([from]) => from === node.name)
        const stick = sticks[Math.floor(random() * sticks.length)]
        const way = own[Math.floor(random() * own.length)]
        if (way !== undefined && (stick === undefined || random() < 0.5)) {
          const isContinued = random() < 0.3
          await write(way[0], way[1], isContinued)
          return `stick ${written - 1} ${way.join(' to ')}${isContinued ? ' continued' : ''}`
        }
        if (stick === undefined) return 'no stick'
        await at(stick.to, (side) => side.apply(stick.file))
        return `apply ${path.basename(stick.file)} at ${stick.to}`
      },
      async settle() {
        for (const [from, to] of ways) {
          const file = await write(from, to, false)
          await at(to, (side) => side.apply(file))
        }
      },
    }
  }
}
