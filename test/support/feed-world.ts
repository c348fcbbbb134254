import { setTimeout as sleep } from 'node:timers/promises'
import type { Cut } from './feed-client.js'
import { createFeedNode, type FeedNet, type FeedNode, type NodeRow } from './feed-node.js'
import { createRandom } from './random.js'

/** A feed of a world: `[from, to, direction, conds]`, made by `from`. */
export type WorldFeed = readonly [from: string, to: string, direction: 'up' | 'down']

/** Nodes and their feeds. */
export interface Topology {
  readonly name: string
  readonly nodes: readonly string[]
  readonly feeds: readonly WorldFeed[]
}

/** Circles of three, a relay in the middle, a tree with tables that come down, and rows that arrive by two ways. */
export const TOPOLOGIES: readonly Topology[] = [
  {
    name: 'gateway, relay, hub, and down again',
    nodes: ['van', 'base', 'hub'],
    feeds: [
      ['van', 'base', 'up'],
      ['base', 'hub', 'up'],
      ['van', 'hub', 'down'],
    ],
  },
  {
    name: 'circle of three, and one outside',
    nodes: ['a', 'b', 'c', 'outside'],
    feeds: [
      ['a', 'b', 'up'],
      ['b', 'c', 'up'],
      ['c', 'a', 'up'],
      ['outside', 'a', 'up'],
    ],
  },
  {
    name: 'circle of three that ask each other',
    nodes: ['a', 'b', 'c', 'outside'],
    feeds: [
      ['a', 'b', 'down'],
      ['b', 'c', 'down'],
      ['c', 'a', 'down'],
      ['b', 'outside', 'down'],
    ],
  },
  {
    name: 'two ways to the hub',
    nodes: ['van', 'left', 'right', 'hub'],
    feeds: [
      ...([
        ['van', 'left', 'up'],
        ['van', 'right', 'up'],
        ['left', 'hub', 'up'],
        ['right', 'hub', 'up'],
      ] as const),
      ['van', 'hub', 'down'],
    ],
  },
  {
    name: 'six: two gateways below each of two relays',
    nodes: ['van1', 'van2', 'base1', 'van3', 'base2', 'hub'],
    feeds: [
      ...([
        ['van1', 'base1', 'up'],
        ['van2', 'base1', 'up'],
        ['van3', 'base2', 'up'],
      ] as const),
      ...([
        ['base1', 'hub', 'up'],
        ['base2', 'hub', 'up'],
        ['base2', 'hub', 'down'],
      ] as const),
      ...([
        ['van3', 'base2', 'down'],
        ['van1', 'hub', 'down'],
      ] as const),
    ],
  },
]

/** A random world: what was put at each node, and the nodes. */
export interface FeedWorld {
  readonly nodes: readonly FeedNode[]
  /** does so many random things */
  run(steps: number): Promise<void>
  /**
   * Lets all links work and waits until every node has the rows that reach it.
   *
   * @param ms longest time in which nothing moves: a busy machine may take longer for all
   * @returns what differs when nothing moves any more, with where each feed is; empty when all is well
   */
  settle(ms: number): Promise<string[]>
  /** Lets all links work, also those that never did. */
  mendLinks(): void
  /** what was done, for messages */
  readonly log: readonly string[]
  stop(): Promise<void>
}

/** Keys of a node: few, so that many are overridden. */
const KEYS = 12
/** Longest time of settling while something moves, in times of that in which nothing does. */
const MOVING_FACTOR = 6
/** Share of calls that are lost. */
const CUT_SHARE = 0.15

/** What else happens in a world, beside its links. */
export interface WorldExtra {
  /** share of calls that are lost, until `settle` lets all links work; 1 for links that never do */
  readonly cutShare?: number
  /** called once, before anything happens */
  prepare(): Promise<void>
  /** does one thing at a node, which may be down. @returns what it did */
  act(node: FeedNode, random: () => number): Promise<string>
  /** brings everything to its place once */
  settle(): Promise<void>
}

/** Share of the steps of a world that are those of its extra. */
const EXTRA_SHARE = 0.4

/** Starts a world. @param seed decides everything that happens */
export async function startWorld(
  topology: Topology,
  seed: number,
  dir: string,
  extraOf?: (nodes: readonly FeedNode[]) => WorldExtra,
): Promise<FeedWorld> {
  const random = createRandom(seed)
  let isCut = true
  let cutShare = 0
  const cut = (): Cut => {
    if (!isCut || random() >= cutShare) return 'none'
    return cutShare === 1 || random() < 0.5 ? 'call' : 'answer'
  }
  const net: FeedNet = { nodes: new Map(), cut }
  const nodes = topology.nodes.map((name) => createFeedNode(net, dir, name))
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const extra = extraOf?.(nodes)
  const history = new Map(nodes.map(({ nodeId }) => [nodeId, new Set<string>()]))
  const log: string[] = []
  for (const node of nodes) {
    await node.start()
    await node.registerTable()
  }
  for (const [from, to, direction] of topology.feeds)
    await byName.get(from)?.feed(byName.get(to) as FeedNode, direction)
  await extra?.prepare()
  for (const node of nodes) node.backup()
  cutShare = extra?.cutShare ?? CUT_SHARE

  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const putSome = async (node: FeedNode) => {
    const rows = Array.from({ length: 1 + Math.floor(random() * 5) }, () => ({
      k: Math.floor(random() * KEYS),
      note: `${log.length}.${Math.floor(random() * 1e6)}`,
    }))
    const last = new Map(rows.map((row) => [row.k, row]))
    for (const { k, note } of last.values()) history.get(node.nodeId)?.add(`${k} ${note}`)
    await node.put([...last.values()])
  }
  const acts: [share: number, name: string, act: (node: FeedNode) => Promise<unknown>][] = [
    [0.62, 'put', putSome],
    [0.76, 'wait', () => sleep(random() * 15)],
    [0.86, 'kill', (node) => node.kill()],
    [0.91, 'backup', async (node) => node.backup()],
    [0.96, 'restore', (node) => node.restore()],
    [
      1,
      'register again',
      async (node) => {
        await node.dropTable()
        await node.registerTable().catch(() => undefined) // a feed may have registered it meanwhile
      },
    ],
  ]
  return {
    nodes,
    log,
    async run(steps) {
      for (let step = 0; step < steps; step++) {
        const node = pick(nodes)
        if (extra !== undefined && random() < EXTRA_SHARE) {
          log.push(await extra.act(node, random))
          continue
        }
        if (!node.isUp()) {
          log.push(`start ${node.name}`)
          await node.start()
          continue
        }
        const share = random()
        const [, name, act] = acts.find(([upTo]) => share < upTo) as (typeof acts)[number]
        log.push(`${name} ${node.name}`)
        await act(node)
      }
    },
    async settle(ms) {
      isCut = cutShare === 1
      for (const node of nodes) if (!node.isUp()) await node.start()
      const endsAt = performance.now() + MOVING_FACTOR * ms
      let last = { text: '', atMs: performance.now() }
      for (;;) {
        await extra?.settle()
        const found = await differences(nodes, topology, history)
        const before = await lastChanges(nodes)
        if (found.length === 0) {
          await sleep(60) // longer than several turns of every feed: whatever goes round in a circle moves on
          if ((await lastChanges(nodes)) === before) return []
        }
        const text = `${before} ${found}`
        if (text !== last.text) last = { text, atMs: performance.now() }
        if (performance.now() > Math.min(endsAt, last.atMs + ms)) {
          const states = (await Promise.all(nodes.map((node) => node.feedStates()))).flat()
          return [...states, `changes ${before} ${await lastChanges(nodes)}`, ...found]
        }
        await sleep(20)
      }
    },
    mendLinks() {
      isCut = false
    },
    async stop() {
      for (const node of nodes) await node.kill()
    },
  }
}

async function lastChanges(nodes: readonly FeedNode[]): Promise<string> {
  return (await Promise.all(nodes.map((node) => node.lastChange()))).join()
}

/** Names of the nodes whose rows reach a node. */
function sourcesOf(name: string, { feeds }: Topology): Set<string> {
  const found = new Set([name])
  for (let size = 0; size !== found.size; ) {
    size = found.size
    for (const [from, to, direction] of feeds) {
      const [source, target] = direction === 'up' ? [from, to] : [to, from]
      if (found.has(target)) found.add(source)
    }
  }
  return found
}

/**
 * Returns what is wrong: a row of an origin that a node lacks, has otherwise, or has twice, and one that was never put. A
 * row that its origin has lost, to an older backup or with its table, may remain elsewhere as it once was.
 */
async function differences(
  nodes: readonly FeedNode[],
  topology: Topology,
  history: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<string[]> {
  const tables = new Map(
    await Promise.all(nodes.map(async (node) => [node.name, await node.rows()] as const)),
  )
  const nameOf = new Map(nodes.map(({ nodeId, name }) => [nodeId, name]))
  const wrong: string[] = []
  for (const node of nodes) {
    for (const fault of await node.faults()) wrong.push(`${node.name} stopped: ${fault}`)
    const here = byKey(tables.get(node.name) ?? [], (key) => wrong.push(`${node.name} has ${key} twice`))
    const sources = sourcesOf(node.name, topology)
    for (const { nodeId, name } of nodes.filter(({ name }) => sources.has(name)))
      for (const row of (tables.get(name) ?? []).filter(({ origin }) => origin === nodeId))
        if (here.get(keyOf(row)) !== row.note)
          wrong.push(`${node.name} has ${here.get(keyOf(row))} as ${row.k} of ${name}, expected ${row.note}`)
    for (const row of tables.get(node.name) ?? [])
      if (history.get(row.origin)?.has(`${row.k} ${row.note}`) !== true)
        wrong.push(`${node.name} has ${row.k} ${row.note} of ${nameOf.get(row.origin)}, which was never put`)
  }
  return wrong
}

const keyOf = ({ origin, k }: NodeRow) => `${origin} ${k}`

function byKey(rows: readonly NodeRow[], onTwice: (key: string) => void): Map<string, string> {
  const map = new Map<string, string>()
  for (const row of rows) {
    if (map.has(keyOf(row))) onTwice(keyOf(row))
    map.set(keyOf(row), row.note)
  }
  return map
}
