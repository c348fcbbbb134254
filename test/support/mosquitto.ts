import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'

/** Mosquitto from Debian, in a process of its own. */
export interface Mosquitto {
  /** anyone may connect */
  readonly port: number
  /** user `field` with the password `rain` */
  readonly passwordPort: number
  /** TLS with certificates of clients */
  readonly tlsPort: number
  /** files of the certificates: `ca.pem`, `client.pem`, `client.key`, and `other.pem`, which signed neither */
  readonly certDir: string
  /** Ends it by SIGTERM, which keeps its sessions, and starts it again. @param whileGone what happens in between */
  restart(whileGone?: () => Promise<void>): Promise<void>
}

/** Why tests of Mosquitto are left out; false where it is installed. */
export function withoutMosquitto(): string | false {
  for (const tool of ['mosquitto', 'openssl']) {
    const { error } = spawnSync(tool, ['-h'], { stdio: 'ignore' })
    if (error !== undefined) return `skipped: ${tool} is not installed`
  }
  return false
}

type TestLike = { testdir(): string; teardown(work: () => unknown): unknown }

/** Starts Mosquitto over a folder of the test's; it ends with the test. */
export async function startMosquitto(t: TestLike): Promise<Mosquitto> {
  const dir = t.testdir()
  const [port, passwordPort, tlsPort] = [await freePort(), await freePort(), await freePort()]
  const file = (name: string) => path.join(dir, name)
  mkdirSync(file('store'))
  makeCertificates(dir)
  openssl('passwd', '-6', 'x') // fails here rather than within the broker
  const made = spawnSync('mosquitto_passwd', ['-b', '-c', file('users'), 'field', 'rain'])
  if (made.status !== 0) writeFileSync(file('users'), '')
  // started as root it becomes another user, who must reach its files
  for (const [name, mode] of [
    ['', 0o755],
    ['store', 0o777],
    ['users', 0o644],
    ['server.key', 0o644],
  ] as const)
    chmodSync(file(name), mode)
  writeFileSync(
    file('mosquitto.conf'),
    `per_listener_settings true
persistence true
persistence_location ${file('store')}/
autosave_interval 1
max_queued_messages 0
listener ${port} 127.0.0.1
allow_anonymous true
listener ${passwordPort} 127.0.0.1
allow_anonymous false
password_file ${file('users')}
listener ${tlsPort} 127.0.0.1
allow_anonymous true
cafile ${file('ca.pem')}
certfile ${file('server.pem')}
keyfile ${file('server.key')}
require_certificate true
`,
  )
  let child = await run(file('mosquitto.conf'), port)
  t.teardown(() => end(child))
  return {
    ...{ port, passwordPort, tlsPort, certDir: dir },
    async restart(whileGone) {
      await end(child)
      await whileGone?.()
      child = await run(file('mosquitto.conf'), port)
    },
  }
}

async function run(config: string, port: number): Promise<ChildProcess> {
  const child = spawn('mosquitto', ['-c', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  let told = ''
  child.stderr.on('data', (chunk) => {
    told += chunk
  })
  for (let tries = 0; tries < 500; tries++) {
    if (child.exitCode !== null) throw new Error(`mosquitto ended with ${child.exitCode}: ${told}`)
    if (await isOpen(port)) return child
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  child.kill('SIGKILL')
  throw new Error(`mosquitto does not listen: ${told}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

/** Makes an authority, a certificate of the broker for `localhost`, and one of a client. */
function makeCertificates(dir: string): void {
  const file = (name: string) => path.join(dir, name)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  for (const name of ['ca', 'other'])
    openssl(
      'req',
      '-x509',
      ...key,
      '-days',
      '30',
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.pem`),
      '-subj',
      `/CN=${name}`,
    )
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost')
  for (const name of ['server', 'client']) {
    openssl(
      'req',
      ...key,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.csr`),
      '-subj',
      `/CN=${name}`,
    )
    openssl(
      ...['x509', '-req', '-in', file(`${name}.csr`), '-CA', file('ca.pem'), '-CAkey', file('ca.key')],
      ...['-CAcreateserial', '-days', '30', '-extfile', file('names'), '-out', file(`${name}.pem`)],
    )
  }
}

function openssl(...argv: string[]): void {
  const { status, stderr } = spawnSync('openssl', argv)
  if (status !== 0) throw new Error(`openssl ${argv[0]}: ${stderr}`)
}
