import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { createS3Client, type S3Client, type S3Options } from '../../src/files/s3/client.js'

/** Swift in a process of its own. */
export interface Swift {
  readonly endpoint: string
  readonly pid: number
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

/** Starts Swift over a folder of the test's; it ends with the test. */
export async function startSwift(t: TestLike): Promise<Swift> {
  const child = spawn('/usr/bin/python3', [SERVER, t.testdir()], { stdio: ['ignore', 'pipe', 'inherit'] })
  endWith(t, child)
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  if (child.pid === undefined) throw new Error('Swift did not start')
  return { endpoint: `http://127.0.0.1:${line.toString().trim()}`, pid: child.pid }
}

function endWith(t: TestLike, child: ChildProcess): void {
  t.teardown(async () => {
    child.kill('SIGCONT')
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
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
