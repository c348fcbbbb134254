import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import t from 'tap'
import { readTls } from '../../../src/http/server/tls-pair.js'
import { cli } from '../../support/run-cli.js'
import { startGateway } from '../../support/start-gateway.js'
import { missing } from '../../support/tools.js'

const SERVER = { host: '127.0.0.1', port: 0, drainMs: 1000 } as Parameters<typeof readTls>[0]

/** A self-signed pair for localhost. */
function makePair(dir: string, name: string): { tlsCertFile: string; tlsKeyFile: string } {
  const pair = { tlsCertFile: path.join(dir, `${name}.crt`), tlsKeyFile: path.join(dir, `${name}.key`) }
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']
  const { status, stderr } = spawnSync('openssl', [
    ...['req', ...kind, '-subj', '/CN=localhost'],
    ...['-keyout', pair.tlsKeyFile, '-out', pair.tlsCertFile],
  ])
  if (status !== 0) throw new Error(String(stderr))
  return pair
}

t.test('readTls: null without the settings', async (t) => {
  t.equal(readTls(SERVER), null)
})

t.test('readTls: what cannot be read names the setting, the file and what to do', async (t) => {
  const dir = t.testdir({ 'x.crt': 'no PEM', 'x.key': 'no PEM', folder: {} })
  const at = (name: string) => path.join(dir, name)
  const table: [cert: string, key: string, line: RegExp][] = [
    [
      'none.crt',
      'x.key',
      /^server\.tlsCertFile: the file \S+none\.crt does not exist; put a PEM certificate/,
    ],
    [
      'x.crt',
      'none.key',
      /^server\.tlsKeyFile: the file \S+none\.key does not exist; put the PEM private key/,
    ],
    ['folder', 'x.key', /^server\.tlsCertFile: \S+folder is a directory; put/],
    ['x.crt', 'x.key', /x\.crt and the tlsKeyFile \S+x\.key cannot be used together \(.+\), expected/],
  ]
  for (const [cert, key, line] of table) {
    t.throws(() => readTls({ ...SERVER, tlsCertFile: at(cert), tlsKeyFile: at(key) }), { message: line })
  }
  const { code, stderr } = await cli(dir, ['serve', '--port', '0'], {
    FIELDGATE_SERVER__TLS_CERT_FILE: at('none.crt'),
    FIELDGATE_SERVER__TLS_KEY_FILE: at('x.key'),
  })
  t.equal(code, 1)
  t.match(stderr, /^fieldgate: server\.tlsCertFile: the file \S+none\.crt does not exist; [^\n]+\n$/)
})

t.test(
  'tls: files that change are taken over, and not before they fit',
  { skip: missing('openssl') },
  async (t) => {
    const dir = t.testdir()
    mkdirSync(path.join(dir, 'new'))
    const served = makePair(dir, 'served')
    const next = makePair(path.join(dir, 'new'), 'next')
    const other = makePair(path.join(dir, 'new'), 'other')
    t.throws(() => readTls({ ...SERVER, ...served, tlsKeyFile: other.tlsKeyFile }), /cannot be used together/)
    const gateway = await startGateway(t, {
      dataDir: path.join(dir, 'data'),
      settings: { server: { ...served } },
    })
    const before = await fingerprintOf(gateway.gateway.port)
    const logged = (message: RegExp) => gateway.logLines.some((line) => message.test(String(line.msg)))
    writeFileSync(served.tlsCertFile, 'half of a certif')
    while (!logged(/cannot be used; the old certificate stays/)) await sleep(50)
    t.equal(await fingerprintOf(gateway.gateway.port), before)
    copyFileSync(next.tlsKeyFile, served.tlsKeyFile)
    renameSync(next.tlsCertFile, served.tlsCertFile)
    while (!logged(/the TLS certificate is renewed/)) await sleep(50)
    t.not(await fingerprintOf(gateway.gateway.port), before)
  },
)

/** What a new connection is shown. */
function fingerprintOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

t.test('tls: every answer carries HSTS, and none without TLS', { skip: missing('openssl') }, async (t) => {
  const dir = t.testdir()
  const { gateway } = await startGateway(t, {
    settings: { server: makePair(dir, 'own') },
    dataDir: path.join(dir, 'tls'),
  })
  const plain = await startGateway(t, { dataDir: path.join(dir, 'plain') })
  for (const [file, verb] of [
    ['/healthz', 'GET'],
    ['/console/', 'GET'],
    ['/ogc', 'GET'],
    ['/nothing', 'POST'],
  ] as const) {
    t.equal(await hstsOf(gateway.port, file, verb), 'max-age=31536000', file)
    const response = await fetch(`${plain.url}${file}`, { method: verb })
    t.equal(response.headers.get('strict-transport-security'), null)
  }
})

function hstsOf(port: number, file: string, method: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: file, method, rejectUnauthorized: false, agent: false }
    const request = https.request(options, (response) => {
      response.resume()
      resolve(response.headers['strict-transport-security'])
    })
    request.on('error', reject).end()
  })
}
