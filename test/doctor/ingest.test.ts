import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { loadConfig } from '../../src/config/config.js'
import type { CheckContext } from '../../src/doctor/finding.js'
import { checkIngest } from '../../src/doctor/ingest.js'
import type { BrokerStatus, Reject } from '../../src/storage/ingest.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { readBrokers } from '../../src/storage/sqlite/maintenance/broker-facts.js'
import { openState } from '../../src/storage/sqlite/state.js'

const HOUR_US = 3_600_000_000
/** Certificates of 100 and of 3,650 days. */
const SHORT = `-----BEGIN CERTIFICATE-----
MIIBcjCCARmgAwIBAgIUJm33+DwcgEjDh2+3kZfmiyw89cwwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdDEwMDAeFw0yNjExMjMxMzE3MTZaFw0yNzAzMDMxMzE3MTZa
MA8xDTALBgNVBAMMBHQxMDAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT1ipaa
lmbo/81oJC2d6AVUsN01YN3nvNFa+aCW+VswEX/lhYSkTDOjB67V5TaV5u8pygHC
5FheefdLdWA0JUmZo1MwUTAdBgNVHQ4EFgQUNs9tRZ5ATemuod85ENiQ9EGxtkUw
HwYDVR0jBBgwFoAUNs9tRZ5ATemuod85ENiQ9EGxtkUwDwYDVR0TAQH/BAUwAwEB
/zAKBggqhkjOPQQDAgNHADBEAiAdn0xdutlfPVP2rCkovBegFxRVIy7AMPi8JmCa
P4exiQIga6U1dNwju1R2m4cUKze6C/XGlsal9wpmE1YJOzpsz6Q=
-----END CERTIFICATE-----`
const LONG = `-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUdNxeeles7fMjZYMmaAGsNrRGB/0wCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFdDM2NTAwHhcNMjYxMTIzMTMxNzE2WhcNMzYxMTIwMTMxNzE2
WjAQMQ4wDAYDVQQDDAV0MzY1MDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCGH
hun8N94GdFTEQWJ5st17ppaQ3dEePVvXCUZOk3FL1I9USz4vBadagBy2ESwo1Oym
AaM+KzXOaUg54QuRIZWjUzBRMB0GA1UdDgQWBBSNXkASWWuqssOhTfB3n2CL7aDs
KzAfBgNVHSMEGDAWgBSNXkASWWuqssOhTfB3n2CL7aDsKzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0kAMEYCIQC9Seaf7wNv+qc6FXZd+eO1n3rZ8CpKWVQ2
a5KsP/eYDgIhANjZXLeJ8+4x0cohCeqrnuijHNuRZ53sFDG8qWGJaaSZ
-----END CERTIFICATE-----`
const endUs = (pem: string) => new X509Certificate(pem).validToDate.getTime() * 1000
const NOW_US = endUs(SHORT) - 50 * 24 * HOUR_US

const STATUS: BrokerStatus = {
  ...{ isConnected: true, sinceUs: NOW_US - 9 * HOUR_US, lastError: null, faults: [], warnings: [] },
  ...{ messages: 1, rows: 1, repeats: 0, rejects: 0, published: 0, reconnects: 0, lostSessions: 0 },
  ...{ waiting: 0, unpublished: 0 },
}

type TestLike = { teardown(work: () => unknown): unknown }

/** A doctor that knows some brokers; a status is noted at `nowUs` unless another time is given. */
async function startDoctor(t: TestLike, brokers: readonly object[]) {
  const state = await openState(':memory:', { keyring: createKeyring(new Uint8Array(32)) })
  t.teardown(() => state.close())
  const loaded = loadConfig(null, {}, { ingest: { mqtt: { brokers } } } as never)
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const facts = { brokers: async (_dir: string, sinceUs: number) => readBrokers(state.stateDb.db, sinceUs) }
  return {
    note: (name: string, status: Partial<BrokerStatus>, atUs = NOW_US) =>
      state.ingest.noteStatus(name, { ...STATUS, ...status }, atUs),
    reject: (rejects: readonly Omit<Reject, 'seq'>[]) => state.ingest.addRejects(rejects, 1000),
    noteFilters: (name: string) => state.ingest.noteFilters(name, ['a']),
    async find(nowUs = NOW_US) {
      const context = { config: loaded.config, layout: { root: '' }, maintenance: { facts }, nowUs }
      const findings = await checkIngest(context as unknown as CheckContext) // the parts that the check reads
      return findings.map(({ state: level, message }) => `${level}: ${message}`)
    },
  }
}

t.test('doctor: brokers that are away for long, their faults, and many rejects are told', async (t) => {
  const earlier = new Database(':memory:')
  t.same(readBrokers(earlier, 0), [], 'a database of an earlier schema')
  earlier.close()
  t.same(await (await startDoctor(t, [])).find(), ['ok: the settings name no MQTT broker'])
  const { note, noteFilters, reject, find } = await startDoctor(t, [
    { name: 'a', url: 'mqtt://127.0.0.1' },
    { name: 'b', url: 'mqtt://127.0.0.1' },
  ])
  t.same(await find(), ['ok: 2 MQTT brokers'], 'no gateway has run with them')
  await noteFilters('b')
  await note('a', {})
  t.same(await find(), ['ok: 2 MQTT brokers'])
  const away = { isConnected: false, lastError: 'connect ECONNREFUSED' }
  await note('a', { ...away, sinceUs: NOW_US - HOUR_US / 2 })
  t.same(await find(), ['ok: 2 MQTT brokers'], 'half an hour is not long')
  await note('a', { ...away, sinceUs: NOW_US - 10 * HOUR_US }, NOW_US - 10 * HOUR_US)
  t.same(await find(), ['ok: 2 MQTT brokers'], 'the gateway is off since then')
  await note('a', { ...away, sinceUs: NOW_US - 2 * HOUR_US })
  t.match(await find(), [/^warning: the broker a has not been connected since 2.*: connect ECONNREFUSED$/])
  await note('a', { ...away, lastError: null, sinceUs: NOW_US - 2 * HOUR_US })
  t.match(await find(), [/no reason is noted$/])
  await note('a', { faults: ['the map of x waits for the table y, which does not exist'] })
  t.same(await find(), ['warning: the broker a: the map of x waits for the table y, which does not exist'])
  await note('a', {})
  await note('gone', away)
  const one = {
    broker: 'a',
    topic: 'x',
    reason: 'payload: found "", expected JSON',
    payload: new Uint8Array(0),
  }
  const many = (atUs: number, count: number) =>
    reject(Array.from({ length: count }, () => ({ ...one, atUs, payloadBytes: 0 })))
  await many(NOW_US - 25 * HOUR_US, 200)
  await many(NOW_US - HOUR_US, 99)
  t.same(await find(), ['ok: 2 MQTT brokers'])
  await many(NOW_US, 1)
  t.same(await find(), [
    'warning: 100 messages or more of the broker a were rejected within a day, the last one because: payload: found "", expected JSON',
  ])
})

t.test('doctor: files of brokers that cannot be read, and certificates that expire', async (t) => {
  const dir = t.testdir()
  const file = (name: string) => path.join(dir, name)
  const broker = {
    ...{
      name: 'a',
      url: 'mqtts://localhost',
      caFile: file('ca'),
      certFile: file('cert'),
      keyFile: file('key'),
    },
    ...{ username: 'u', passwordFile: file('password') },
  }
  const { find } = await startDoctor(t, [broker])
  const expected = [
    /^error: the certificate .*ca cannot be read: ENOENT/,
    /^error: the certificate .*cert cannot be read: ENOENT/,
    /^error: keyFile of the broker a cannot be read: ENOENT/,
    /^error: passwordFile of the broker a cannot be read: ENOENT/,
  ]
  const missing = await find()
  t.match(missing, expected)
  t.equal(missing.length, 4)
  writeFileSync(file('ca'), `${SHORT}\n${LONG}\n`)
  writeFileSync(file('cert'), `text before it\n${SHORT}\n`)
  for (const name of ['key', 'password']) writeFileSync(file(name), 'x')
  t.same(await find(), ['ok: 1 MQTT brokers'])
  const end = new Date(endUs(SHORT) / 1000).toISOString()
  t.same(await find(endUs(SHORT) - 24 * HOUR_US), [
    `warning: the certificate ${file('cert')} expires at ${end}`,
  ])
  t.same(await find(endUs(SHORT) + 1000), [`error: the certificate ${file('cert')} expired at ${end}`])
  writeFileSync(file('cert'), 'no certificate')
  t.match(await find(), [/^error: the certificate .*cert cannot be read: /])
  writeFileSync(file('cert'), LONG)
  t.match(await find(endUs(LONG) - 24 * HOUR_US), [/warning: .*ca expires/, /warning: .*cert expires/])
})
