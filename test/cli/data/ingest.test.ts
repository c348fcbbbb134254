import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { BrokerStatus, BusStatus } from '../../../src/storage/ingest.js'
import { openState } from '../../../src/storage/sqlite/state.js'
import { cli } from '../../support/run-cli.js'

const AT_US = Date.UTC(2026, 0, 1) * 1000
const STATUS: BrokerStatus = {
  ...{ isConnected: true, sinceUs: AT_US, lastError: null, faults: [], warnings: [] },
  ...{ messages: 12, rows: 11, repeats: 2, rejects: 1, published: 4, reconnects: 3, lostSessions: 0 },
  ...{ waiting: 5, unpublished: 6 },
}

/** A data directory whose settings name two brokers. */
async function prepared(t: Test) {
  const cwd = t.testdir()
  const brokers = ['site', 'hill'].map((name) => ({ name, url: `mqtt://${name}.example:1883` }))
  const settings = { service: { timeZone: '+00:00' }, ingest: { mqtt: { brokers } } }
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify(settings))
  await cli(cwd, ['init'])
  const state = await openState(path.join(cwd, 'data/state.db'))
  t.teardown(() => state.close())
  return { state, ingest: (...argv: string[]) => cli(cwd, ['ingest', ...argv]) }
}

t.test('ingest status: each broker with its connection, counts, faults and what is kept', async (t) => {
  const { state, ingest } = await prepared(t)
  await state.ingest.noteStatus('site', STATUS, AT_US + 60_000_000)
  await state.ingest.noteStatus(
    'old',
    {
      ...STATUS,
      isConnected: false,
      lastError: 'connect ECONNREFUSED\n',
      faults: ['no table'],
      warnings: ['no key'],
    },
    AT_US,
  )
  const { code, stdout } = await ingest('status')
  t.equal(code, 0)
  t.same(stdout.split('\n'), [
    'site mqtt://site.example:1883',
    '  connected since 2026-01-01T00:00:00+00:00, noted at 2026-01-01T00:01:00+00:00',
    '  since the gateway started: 12 messages, 1 of them rejected; 11 rows stored, of which 2 were there; 4 published',
    '  5 wait to be stored, 6 to be published; 3 reconnects, 0 lost sessions',
    'hill mqtt://hill.example:1883',
    '  no gateway has run with it yet',
    'old (the settings do not name it)',
    '  not connected since 2026-01-01T00:00:00+00:00: connect ECONNREFUSED , noted at 2026-01-01T00:00:00+00:00',
    '  since the gateway started: 12 messages, 1 of them rejected; 11 rows stored, of which 2 were there; 4 published',
    '  5 wait to be stored, 6 to be published; 3 reconnects, 0 lost sessions',
    '  fault: no table',
    '  warning: no key',
    '0 rejects are kept: `fieldgate ingest rejects` prints them.',
    '',
  ])
  await state.ingest.noteStatus('site', { ...STATUS, lastError: 'ping' }, AT_US)
  t.match((await ingest('status')).stdout, /connected since \S+; before: ping, noted/)
  t.match(JSON.parse((await ingest('status', '--json')).stdout), {
    rejectsKept: 0,
    brokers: [
      { name: 'site', url: 'mqtt://site.example:1883', status: { isConnected: true, rows: 11, rejects: 1 } },
      { name: 'hill', notedAt: null, status: null },
      { name: 'old', url: null, status: { since: '2026-01-01T00:00:00+00:00', faults: ['no table'] } },
    ],
  })
  const bare = t.testdir({ bare: {} })
  await cli(path.join(bare, 'bare'), ['init'])
  t.match(await cli(path.join(bare, 'bare'), ['ingest', 'status']), {
    stdout: 'The settings name no broker and no bus.\n',
  })
})

t.test('ingest rejects: the newest first, with reason and head of the payload', async (t) => {
  const { state, ingest } = await prepared(t)
  t.match(await ingest('rejects'), { code: 0, stdout: 'Nothing was rejected.\n' })
  const reject = (broker: string, payload: Uint8Array, payloadBytes = payload.length) => ({
    ...{ atUs: AT_US, broker, topic: 'farm/g1/rain', reason: 'payload: found x, expected JSON' },
    ...{ payload, payloadBytes },
  })
  const wide = Buffer.from('é'.repeat(600))
  await state.ingest.addRejects(
    [
      reject('site', Buffer.from('{"mm":\u009b1\n')),
      reject('hill', Buffer.from([0xff, 0, 1])),
      reject('site', wide.subarray(0, 1023), 5000),
    ],
    1000,
  )
  const head = 'farm/g1/rain  payload: found x, expected JSON'
  t.same((await ingest('rejects')).stdout.split('\n'), [
    `2026-01-01T00:00:00+00:00  site  ${head}`,
    `  5000 bytes: "${'é'.repeat(50)}"…`,
    `2026-01-01T00:00:00+00:00  hill  ${head}`,
    '  3 bytes: 0xff0001',
    `2026-01-01T00:00:00+00:00  site  ${head}`,
    '  10 bytes: "{\\"mm\\": 1\\n"',
    '',
  ])
  t.equal((await ingest('rejects', '--limit', '1')).stdout.split('\n').length, 3)
  const json = JSON.parse((await ingest('rejects', '--broker', 'hill', '--json')).stdout)
  t.same(json, [
    {
      ...{ at: '2026-01-01T00:00:00+00:00', broker: 'hill', topic: 'farm/g1/rain' },
      ...{ reason: 'payload: found x, expected JSON', payloadBytes: 3, payloadBase64: '/wAB' },
    },
  ])
  t.match(await ingest('rejects', '--broker', 'none'), {
    code: 1,
    stderr: /found the broker none, expected one of: site, hill/,
  })
  t.match(await ingest('rejects', '--limit', '0'), { code: 2, stderr: /whole number from 1 to 100000/ })
  t.match((await ingest('status')).stdout, /^3 rejects are kept/m)
})

t.test('ingest status: each Modbus bus with its connection, counts and faults; rejects of one', async (t) => {
  const cwd = t.testdir()
  const buses = ['shed', 'barn'].map((name) => ({ name, url: `tcp://${name}.example` }))
  const settings = { service: { timeZone: '+00:00' }, ingest: { modbus: { buses } } }
  writeFileSync(path.join(cwd, 'edge.config.json'), JSON.stringify(settings))
  await cli(cwd, ['init'])
  const state = await openState(path.join(cwd, 'data/state.db'))
  t.teardown(() => state.close())
  const status: BusStatus = {
    ...{ isConnected: true, sinceUs: AT_US, lastError: null, faults: [], warnings: [], readings: 9 },
    ...{ failures: 2, rows: 7, repeats: 0, rejects: 1, lost: 0, waiting: 3 },
  }
  await state.ingest.noteBus('shed', { ...status, lastError: 'closed' }, AT_US)
  const away = { isConnected: false, lastError: 'ECONNREFUSED', faults: ['no answer'], warnings: ['late'] }
  await state.ingest.noteBus('old', { ...status, ...away }, AT_US)
  const { stdout } = await cli(cwd, ['ingest', 'status'])
  t.same(stdout.split('\n'), [
    'shed tcp://shed.example',
    '  connected since 2026-01-01T00:00:00+00:00; before: closed, noted at 2026-01-01T00:00:00+00:00',
    '  since the gateway started: 9 readings, 2 failed; 7 rows stored, 1 rejected; 3 wait',
    'barn tcp://barn.example',
    '  no gateway has run with it yet',
    'old (the settings do not name it)',
    '  not connected since 2026-01-01T00:00:00+00:00: ECONNREFUSED, noted at 2026-01-01T00:00:00+00:00',
    '  since the gateway started: 9 readings, 2 failed; 7 rows stored, 1 rejected; 3 wait',
    '  fault: no answer',
    '  warning: late',
    '0 rejects are kept: `fieldgate ingest rejects` prints them.',
    '',
  ])
  const json = JSON.parse((await cli(cwd, ['ingest', 'status', '--json'])).stdout)
  t.match(json, { brokers: [], buses: [{ name: 'shed', status: { readings: 9 } }, { status: null }, {}] })
  const payload = Buffer.from('{}')
  const reject = { atUs: AT_US, broker: 'shed', topic: 'p1', reason: 'no', payload, payloadBytes: 2 }
  await state.ingest.addRejects([reject], 10)
  t.match((await cli(cwd, ['ingest', 'rejects', '--broker', 'shed'])).stdout, /shed {2}p1 {2}no/)
  t.match((await cli(cwd, ['ingest', 'rejects', '--broker', 'x'])).stderr, /expected one of: shed, barn, old/)
})
