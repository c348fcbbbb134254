import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createS3Client } from '../../src/files/s3/client.js'
import { makeDatabase, noPostgres, ROLE, startServer, type TestServer } from './postgres.js'
import { type CliRun, cli, printed, type RunningCli, startCli } from './run-cli.js'
import { post, type RpcAnswer } from './start-gateway.js'
import { type Swift, startSwift, swiftOptions, withoutSwift } from './swift.js'

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

/** Engines of hubs: one PostgreSQL and one object store for all tests of a file. */
export interface Engines {
  readonly postgres: TestServer
  readonly swift: Swift
}

/** Reason why hubs cannot run here; false when they can. */
export function noHub(): string | false {
  return noPostgres() || withoutSwift()
}

/** @param settings of PostgreSQL that differ from those of a test */
export async function startEngines(
  t: TestLike,
  settings?: Readonly<Record<string, string>>,
): Promise<Engines> {
  return { postgres: await startServer(t, undefined, settings), swift: await startSwift(t) }
}

/** Settings of one hub, and its folder. */
export interface HubPlace {
  readonly dir: string
  /** settings file; processes differ by their data directories */
  readonly config: string
  readonly database: string
  readonly bucket: string
}

let hubs = 0

/** Makes a database, a bucket and the settings of a hub. @param given settings that differ */
export async function makeHub(
  t: TestLike,
  { postgres, swift }: Engines,
  given: { database?: string; bucket?: string; settings?: object } = {},
): Promise<HubPlace> {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-hub-')) // a test has several hubs
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const database = given.database ?? (await makeDatabase(postgres))
  const bucket = given.bucket ?? `hub-${process.pid}-${++hubs}`
  const options = swiftOptions(swift, bucket)
  if (given.bucket === undefined) {
    const client = createS3Client(options)
    ;(await client.send({ method: 'PUT' }))?.resume()
    client.close()
  }
  writeFileSync(path.join(dir, 'access'), options.accessKey)
  writeFileSync(path.join(dir, 'secret'), `${options.secretKey}\n`)
  const config = path.join(dir, 'hub.json')
  writeFileSync(
    config,
    JSON.stringify({
      role: 'hub',
      encryption: { keyFile: 'secret.key' }, // all processes of a test share it
      log: { level: 'info' },
      hub: {
        database: {
          hosts: [`${postgres.host.host}:${postgres.host.port}`],
          ...{ name: database, user: ROLE, tls: 'off' },
        },
        bytes: { ...{ endpoint: swift.endpoint, bucket }, accessKeyFile: 'access', secretKeyFile: 'secret' },
      },
      ...given.settings,
    }),
  )
  return { dir, config, database, bucket }
}

/** Runs a verb with the settings of a hub. */
export function hubCli({ dir, config }: HubPlace, ...argv: string[]): Promise<CliRun> {
  return cli(dir, [...argv, '--config', config, '--data-dir', path.join(dir, 'verbs')])
}

export interface HubProcess {
  readonly url: string
  readonly running: RunningCli
  stop(): Promise<CliRun>
}

/** Starts a process of a hub in this one, over a data directory of its own. */
export async function serveHub(t: TestLike, place: HubPlace, name: string, port = '0'): Promise<HubProcess> {
  const argv = ['serve', '--json', '--port', port, '--config', place.config]
  const running = startCli(place.dir, [...argv, '--data-dir', path.join(place.dir, name)])
  const stop = async () => {
    running.signal('SIGTERM')
    return await running.ended
  }
  t.teardown(stop)
  const line = await printed(running, /"event":"ready".*\n/, 60_000)
  const ready = line.split('\n').find((each) => each.includes('"event":"ready"')) ?? ''
  return { url: (JSON.parse(ready) as { url: string }).url, running, stop }
}

/** One JSON-RPC call of a hub. */
export function hubCall(
  { url }: Pick<HubProcess, 'url'>,
  headers: Record<string, string>,
  apiPath: string,
  method: string,
  params: unknown = {},
): Promise<RpcAnswer> {
  return post(`${url}${apiPath}`, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers)
}
