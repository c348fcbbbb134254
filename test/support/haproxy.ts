import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { spawnTied } from './tied-process.js'

type TestLike = { teardown(work: () => unknown): unknown }

/** Why tests of a load balancer are left out; false where haproxy is installed. */
export function noHaproxy(): string | false {
  const isThere = spawnSync('haproxy', ['-v'], { stdio: 'ignore' }).status === 0
  return isThere ? false : 'skipped: haproxy is not installed (Debian: haproxy)'
}

/** Starts haproxy in front of processes, whose end it notices within a second. @returns its address */
export async function startHaproxy(t: TestLike, urls: readonly string[]): Promise<string> {
  const port = await freePort()
  const servers = urls.map(
    (url, at) => `  server hub${at + 1} ${new URL(url).host} check inter 1s fastinter 200ms fall 3 rise 1`,
  )
  const lines = [
    ...['global', '  maxconn 1000', 'defaults', '  mode http', '  timeout connect 5s', '  timeout check 5s'],
    ...[
      '  timeout client 60s',
      '  timeout server 60s',
      '  option forwardfor',
      '  option redispatch',
      '  retries 2',
    ],
    ...[
      'frontend field',
      `  bind 127.0.0.1:${port}`,
      '  default_backend hubs',
      'backend hubs',
      '  balance roundrobin',
    ],
    ...[
      '  option httpchk',
      '  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host hub',
      '  retry-on conn-failure',
      ...servers,
      '',
    ],
  ]
  runHaproxy(t, lines.join('\n'))
  return `http://127.0.0.1:${port}`
}

/** Runs haproxy with a configuration, until the test ends. */
export function runHaproxy(t: TestLike, configuration: string): void {
  // a folder of its own: a second `testdir` of a test empties the first
  const folder = mkdtempSync(path.join(tmpdir(), 'fieldgate-haproxy-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'haproxy.cfg')
  writeFileSync(file, configuration)
  const running = spawnTied(['haproxy', '-f', file, '-db'], { cwd: '/', env: process.env })
  running.stdout.resume()
  t.teardown(async () => {
    running.end()
    await running.ended
  })
}

export async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
