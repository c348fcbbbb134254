import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Settings } from '../../src/config/config.js'
import { FEED_SETTINGS, startNode, sync } from './feeds.js'
import { cli } from './run-cli.js'
import type { TestGateway } from './start-gateway.js'

type TestLike = Parameters<typeof startNode>[0]

/** A gateway that exchanges bundles with others. */
export interface BundleNode {
  readonly name: string
  readonly gateway: TestGateway
  /** Runs `fieldgate bundle …`. @throws Error with what was printed unless the exit code is `code` */
  bundle(args: readonly string[], code?: number): Promise<string>
  /** Runs any verb. */
  run(args: readonly string[], code?: number): Promise<string>
}

/** What `bundle apply --json` prints. */
export interface Applied {
  readonly others: number
  readonly bundles: readonly {
    readonly name: string
    readonly feeds: readonly {
      table: string
      written: number
      batches: number
      known: number
      keptOut: string | null
    }[]
    readonly models: { taken: number; known: number; refused: string[] }
    readonly acknowledged: { feeds: string[]; models: number; setAside: number }
  }[]
}

/** Starts a gateway below a directory. */
export async function startBundleNode(
  t: TestLike,
  dir: string,
  name: string,
  settings: Settings = {},
): Promise<BundleNode> {
  const gateway = await startNode(t, path.join(dir, name), settings)
  return { ...verbsOf(dir, name, settings), gateway }
}

/** Verbs on a data directory, beside a running gateway or without one. */
export function verbsOf(dir: string, name: string, settings: Settings = {}): Omit<BundleNode, 'gateway'> {
  mkdirSync(dir, { recursive: true })
  const file = path.join(dir, `${name}.settings.json`)
  writeFileSync(file, JSON.stringify({ ...FEED_SETTINGS, ...settings, dataDir: name }))
  const run = async (args: readonly string[], code = 0) => {
    const result = await cli(dir, ['--config', file, ...args])
    if (result.code !== code)
      throw new Error(`${args.join(' ')}: exit code ${result.code}: ${result.stdout}${result.stderr}`)
    return code === 0 ? result.stdout : `${result.stdout}${result.stderr}`
  }
  return { name, run, bundle: (args, code) => run(['bundle', ...args], code) }
}

/** Makes nodes known to each other. @param flags of `bundle peer add` at the second one */
export async function introduce(
  dir: string,
  a: Omit<BundleNode, 'gateway'>,
  b: Omit<BundleNode, 'gateway'>,
  flags: readonly string[] = [],
): Promise<void> {
  for (const [here, there, extra] of [
    [a, b, []],
    [b, a, flags],
  ] as const) {
    const file = path.join(dir, `${there.name}.identity`)
    writeFileSync(file, await there.bundle(['identity']))
    await here.bundle(['peer', 'add', there.name, '--key-file', file, ...extra])
  }
}

/** Makes a feed of the table `seen` that goes in bundles alone. */
export async function feedByBundles(from: BundleNode, to: BundleNode, params: object = {}): Promise<string> {
  await from.run(['sync', 'upstream', 'add', to.name, '--no-network'])
  const { feed } = await sync<{ feed: string }>(from.gateway, 'create_feed', {
    ...{ table: 'seen', upstream: to.name, from: 'all', ...params },
  })
  return feed
}

/** Applies a bundle. @param code expected exit code */
export async function applied(node: Omit<BundleNode, 'gateway'>, file: string, code = 0): Promise<Applied> {
  return JSON.parse(await node.bundle(['apply', file, '--json'], code)) as Applied
}
