import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { createS3Client, type S3Client, type S3Options } from '../../src/files/s3/client.js'

/** Swift in a process of its own. */
export interface Swift {
  readonly endpoint: string
  readonly pid: number
  kill(): Promise<void>
  /** starts it again at the same port, with the objects that it had */
  start(): Promise<void>
}

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

/** Why tests of Swift are left out; false where it is installed. */
export function withoutSwift(): string | false {
  const isThere =
    existsSync('/usr/bin/python3') &&
    spawnSync('/usr/bin/python3', ['-c', 'import swift.common.middleware.s3api.s3api'], { stdio: 'ignore' })
      .status === 0
  return isThere ? false : 'skipped: Swift is not installed: python3-swift of Debian'
}

const SERVER = path.join(import.meta.dirname, 'swift-server.py')

/**
 * Starts Swift over a folder of the test's; it ends with the test.
 *
 * @param hasRing true: the folder holds `etc/object.ring.gz`, and object servers run elsewhere
 */
export async function startSwift(t: TestLike, hasRing = false): Promise<Swift> {
  const dir = t.testdir()
  const words = hasRing ? ['--object-ring'] : []
  let { child, port } = await serve(dir, '0', words)
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.teardown(kill)
  return {
    endpoint: `http://127.0.0.1:${port}`,
    get pid() {
      if (child.pid === undefined) throw new Error('Swift did not start')
      return child.pid
    },
    kill,
    async start() {
      ;({ child, port } = await serve(dir, port, words))
    },
  }
}

async function serve(dir: string, at: string, words: readonly string[]) {
  const child = spawn('/usr/bin/python3', [SERVER, dir, at, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  child.once('exit', () => process.off('exit', killAtExit))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, port: line.toString().trim() }
}

/** Settings of a bucket of Swift. */
export function swiftOptions({ endpoint }: Pick<Swift, 'endpoint'>, bucket: string): S3Options {
  return {
    ...{ endpoint, bucket, region: 'us-east-1', accessKey: 'test:tester', secretKey: 'testing' },
    ...{ isPathStyle: true, timeoutMs: 10_000, connections: 16 },
  }
}

/** Makes a bucket, and a client for it that ends with the test. */
export async function openBucket(
  t: TestLike,
  swift: Pick<Swift, 'endpoint'>,
  bucket: string,
): Promise<S3Client> {
  const client = createS3Client(swiftOptions(swift, bucket))
  t.teardown(() => client.close())
  const made = await client.send({ method: 'PUT' })
  made?.resume()
  return client
}
