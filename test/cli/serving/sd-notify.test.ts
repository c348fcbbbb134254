import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createNotifier, watchdogMs } from '../../../src/cli/serving/sd-notify.js'
import { printed, startCli } from '../../support/run-cli.js'
import { missing } from '../../support/tools.js'
import { workerEntry } from '../../support/worker-entry.js'

/** A `systemd-notify` on a PATH of its own that writes down what it was told. */
function fakeProgram(t: Test) {
  // not the test's own folder, which has to be empty when it ends: a word may be under way then
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fg-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  const told = path.join(dir, 'told')
  const bin = path.join(dir, 'bin')
  mkdirSync(bin)
  // one write each, so that two at a time do not mix
  writeFileSync(path.join(bin, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> '${told}'\n`)
  chmodSync(path.join(bin, 'systemd-notify'), 0o755)
  const lines = () => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : [])
  return { dir, lines, env: { PATH: `${bin}:${process.env.PATH}`, NOTIFY_SOCKET: '/run/n' } }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 1500) throw new Error('it did not come to it')
    await sleep(20)
  }
}

t.test('serve: tells the service manager ready, reloading, ready, alive and stopping', async (t) => {
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

t.test('serve: without a service manager nothing is started', async (t) => {
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

t.test('notifier: a missing or failing program is told once in the log and stops nothing', async (t) => {
  const warnings: unknown[] = []
  const log = { warn: (fields: unknown) => void warnings.push(fields), error: () => undefined } as never
  const gone = createNotifier({ NOTIFY_SOCKET: '/run/n', PATH: t.testdir() }, log)
  await gone.ready('x')
  await gone.stopping()
  t.match(warnings, [{ told: 'READY=1', err: { code: 'ENOENT' } }], 'once')
})

t.test('watchdog: tells nothing while a worker does not answer, and again when it does', async (t) => {
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

t.test('watchdog: the period is taken only when it is meant for this process', async (t) => {
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

/** On SIGUSR2 the main thread goes round in a circle. */
const STUCK = `process.on('SIGUSR2', () => { require('node:fs').writeSync(2, 'STUCK'); for (;;); })`

t.test(
  'program: over a real socket; a stuck event loop sends nothing more',
  { skip: missing('systemd-notify') || missing('python3') },
  async (t) => {
    const dir = t.testdir({ 'stuck.cjs': STUCK })
    const short = mkdtempSync(path.join(os.tmpdir(), 'fg-')) // a socket's path has 107 bytes at most
    t.teardown(() => rmSync(short, { recursive: true, force: true }))
    const socket = path.join(short, 'notify')
    const receiver = spawn('python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
    const heard = collect(receiver)
    t.teardown(() => receiver.kill('SIGKILL'))
    await until(() => heard.stdout.includes('bound'))
    const gateway = spawn(
      process.execPath,
      [workerEntry(), 'serve', '--port', '0', '--json', '--data-dir', dir],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: process.env.PATH,
          NOTIFY_SOCKET: socket,
          WATCHDOG_USEC: '200000',
          NODE_OPTIONS: `--require ${path.join(dir, 'stuck.cjs')}`,
        },
      },
    )
    const said = collect(gateway)
    t.teardown(() => gateway.kill('SIGKILL'))
    const beats = () => heard.stdout.split('WATCHDOG=1').length - 1
    await until(() => beats() >= 3)
    t.match(heard.stdout, /READY=1 STATUS=serving http/)
    gateway.kill('SIGUSR2')
    await until(() => said.stderr.includes('STUCK'))
    await sleep(500) // one that was under way
    const before = beats()
    await sleep(2000)
    t.equal(beats(), before, 'ten periods without a word')
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
