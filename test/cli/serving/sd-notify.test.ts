import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createNotifier, watchdogMs } from '../../../src/cli/serving/sd-notify.js'
import { printed, startCli } from '../../support/run-cli.js'
import { missing } from '../../support/tools.js'
import { workerEntry } from '../../support/worker-entry.js'

/** Puts a `systemd-notify` that records its arguments on a separate PATH. */
function fakeProgram(t: Test) {
  // not the test's own folder, which must be empty at its end: a notification may still be running then
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fg-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  const record = path.join(dir, 'record')
  const bin = path.join(dir, 'bin')
  mkdirSync(bin)
  // one write each, so that two at the same time do not mix
  writeFileSync(path.join(bin, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> '${record}'\n`)
  chmodSync(path.join(bin, 'systemd-notify'), 0o755)
  const lines = () => (existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : [])
  return { dir, lines, env: { PATH: `${bin}:${process.env.PATH}`, NOTIFY_SOCKET: '/run/n' } }
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    if (tries > 1500) throw new Error('the condition was not met within 30 s')
    await sleep(20)
  }
}

t.test('serve: notifies the service manager of ready, reloading, ready, alive and stopping', async (t) => {
  const { dir, lines, env } = fakeProgram(t)
  const watched = { ...env, WATCHDOG_USEC: '100000', WATCHDOG_PID: String(process.pid) }
  const running = startCli(dir, ['serve', '--port', '0', '--json'], watched)
  await printed(running, /"ready"/)
  const beats = () => lines().filter((line) => line === '/run/n WATCHDOG=1').length
  await until(() => beats() >= 3)
  running.signal('SIGHUP')
  const states = () => lines().filter((line) => !line.includes('WATCHDOG'))
  await until(() => states().length >= 3)
  running.signal('SIGTERM')
  t.equal((await running.ended).code, 0)
  t.match(states(), [
    /^\/run\/n READY=1 STATUS=serving http:\/\/127/,
    /^\/run\/n RELOADING=1 MONOTONIC_USEC=\d+$/,
    /^\/run\/n READY=1 STATUS=serving/,
    /^\/run\/n STOPPING=1 STATUS=/,
  ])
})

t.test('serve: without a service manager no notification is sent', async (t) => {
  const { dir, lines, env } = fakeProgram(t)
  const running = startCli(dir, ['serve', '--port', '0', '--json'], {
    PATH: env.PATH,
    WATCHDOG_USEC: '20000',
  })
  await printed(running, /"ready"/)
  running.signal('SIGTERM')
  t.equal((await running.ended).code, 0)
  t.same(lines(), [])
})

t.test('createNotifier: a missing program is logged once and is not an error', async (t) => {
  const warnings: unknown[] = []
  const log = { warn: (fields: unknown) => void warnings.push(fields), error: () => undefined } as never
  const gone = createNotifier({ NOTIFY_SOCKET: '/run/n', PATH: t.testdir() }, log)
  await gone.ready('x')
  await gone.stopping()
  t.match(warnings, [{ notification: 'READY=1', err: { code: 'ENOENT' } }], 'once')
})

t.test('watchdog: is not notified while a worker does not respond', async (t) => {
  const { lines, env } = fakeProgram(t)
  let isAlive = true
  const errors: unknown[] = []
  const log = { warn: () => undefined, error: (...args: unknown[]) => void errors.push(args) } as never
  const { startWatchdog } = createNotifier({ ...env, WATCHDOG_USEC: '40000' }, log)
  const stop = startWatchdog(async () => isAlive)
  t.teardown(stop)
  await until(() => lines().length >= 2)
  isAlive = false
  await until(() => errors.length >= 2)
  const before = lines().length
  await until(() => errors.length >= 10)
  t.equal(lines().length, before)
  isAlive = true
  await until(() => lines().length > before)
})

t.test('watchdogMs: ignores a period for another process', async (t) => {
  t.equal(watchdogMs({ WATCHDOG_USEC: '30000000' }, 7), 30_000)
  t.equal(watchdogMs({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 7), 30_000)
  for (const env of [
    {},
    { WATCHDOG_USEC: '0' },
    { WATCHDOG_USEC: 'x' },
    { WATCHDOG_USEC: '5', WATCHDOG_PID: '8' },
  ])
    t.equal(watchdogMs(env, 7), undefined)
})

/** Prints each datagram of a socket as a line. */
const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(s.recv(4096).decode().replace(chr(10), ' '), flush=True)`

const MARKERS = 50

/** On SIGUSR2 the main thread enters an endless loop. */
const STUCK = `process.on('SIGUSR2', () => { require('node:fs').writeSync(2, 'STUCK'); for (;;); })`

t.test(
  'serve: over a real socket; a blocked event loop sends no more notifications',
  { skip: missing('systemd-notify') || missing('python3') },
  async (t) => {
    const dir = t.testdir({ 'stuck.cjs': STUCK })
    const short = mkdtempSync(path.join(os.tmpdir(), 'fg-')) // the path of a socket has at most 107 bytes
    t.teardown(() => rmSync(short, { recursive: true, force: true }))
    const socket = path.join(short, 'notify')
    const receiver = spawn('python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
    const received = collect(receiver)
    t.teardown(() => receiver.kill('SIGKILL'))
    await until(() => received.stdout.includes('bound'))
    const gateway = spawn(
      process.execPath,
      [workerEntry(), 'serve', '--port', '0', '--json', '--data-dir', dir],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: process.env.PATH,
          NOTIFY_SOCKET: socket,
          WATCHDOG_USEC: '100000',
          NODE_OPTIONS: `--require ${path.join(dir, 'stuck.cjs')}`,
        },
      },
    )
    const output = collect(gateway)
    t.teardown(() => gateway.kill('SIGKILL'))
    const beats = () => received.stdout.split('WATCHDOG=1').length - 1
    await until(() => beats() >= 3)
    t.match(received.stdout, /READY=1 STATUS=serving http/)
    gateway.kill('SIGUSR2')
    await until(() => output.stderr.includes('STUCK'))
    const before = beats()
    // markers through the same socket: starting one takes milliseconds, so all of them take several periods
    for (let marker = 1; marker <= MARKERS; marker++)
      await promisify(execFile)('systemd-notify', [`STATUS=marker ${marker}`], {
        env: { PATH: process.env.PATH, NOTIFY_SOCKET: socket },
      })
    await until(() => received.stdout.includes(`STATUS=marker ${MARKERS}`))
    t.ok(beats() <= before + 1, 'at most the notification that was being sent')
    gateway.kill('SIGKILL')
    await once(gateway, 'close')
  },
)

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const text = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    text.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    text.stderr += chunk
  })
  return text
}
