import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { call, startNode } from '../../support/feeds.js'
import { fleet, makeToken, setProfile } from '../../support/fleet.js'
import type { TestGateway } from '../../support/start-gateway.js'
import { edit } from '../../support/verified-feeds.js'

const MODELS = '/api/v2/model_store/jsonrpc'
/** Everything happens often, so that seconds show it. */
const OFTEN = {
  ...{ gateways: 20, 'events-per-second': 400, minutes: 0.1, seed: 7, processes: 2, table: 'seen' },
  ...{ 'batch-wait-s': 0.2, 'report-s': 1, 'retry-base-s': 0.1, 'retry-cap-s': 0.5, 'drain-s': 600 },
  ...{ outages: 2, storms: 1, 'outage-s': 1, 'restarts-per-minute': 240, 'slow-percent': 10 },
  ...{ 'backlog-gateways': 1, 'backlog-rows': 6000, 'model-store': 'fleet', 'models-per-minute': 120 },
  ...{ 'model-bytes': 5000, 'read-back': 20, recount: 'yes', json: 'yes' },
}

interface Run {
  code: number
  stderr: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into figures of every kind
  summary: any
}

function run(flags: object): Promise<Run> {
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  return new Promise((resolve) => {
    execFile(process.execPath, ['scripts/fleet/main.mjs', ...words], (error, stdout, stderr) => {
      const summary = stdout === '' ? undefined : JSON.parse(stdout)
      resolve({ code: error === null ? 0 : Number(error.code), stderr, summary })
    })
  })
}

async function startHub(t: Test, dir: string) {
  const hub = await startNode(t, path.join(dir, 'hub'))
  await call(hub, MODELS, 'model_store.create', { model_store_ddc: 'fleet' })
  const body = { up: [{ table: 'seen' }], model_stores: [{ store: 'fleet' }] }
  await setProfile(hub, body)
  const keyFile = path.join(dir, 'key.json')
  writeFileSync(keyFile, JSON.stringify(await hub.makeKey(['map:read'])))
  const state = path.join(dir, 'state.json')
  const token = await makeToken(hub, { uses: 20 })
  return { hub, flags: { ...OFTEN, hub: hub.url, token, state, 'key-file': keyFile } }
}

const gatewaysOf = (hub: TestGateway): Promise<{ report: object | null }[]> => fleet(hub, 'list_gateways')

t.test('fleet: what a hub acknowledged to gateways that fail is there once', async (t) => {
  const { hub, flags } = await startHub(t, t.testdir())
  const { code, stderr, summary } = await run(flags)
  t.same(summary?.faults, [], stderr)
  t.equal(code, 0, stderr)
  t.match(summary, { ok: true, gateways: 20, joined: 20, backlogRows: 6000 })
  // not `elsewhere`: a batch whose answer was lost is seldom stored after the gateway has asked for its cursor
  for (const name of ['restarts', 'restores', 'sessions', 'models', 'reports', 'herd'])
    t.ok(summary[name] > 0, `${name}: ${summary[name]}`)
  t.ok(summary.rows > 0 && summary.rowsCompared > 5000, `${summary.rowsCompared} rows`)
  t.equal(summary.rowsReadBack, summary.rowsCompared, 'each row was read back')
  // those of ordinary links are of the first 0.6 s alone, before the first outage
  const acks = ['ackMs', 'slowAckMs', 'outageAckMs', 'drainAckMs'].map((name) => summary[name])
  const measured = acks.filter(({ p50 }) => p50 !== null)
  t.ok(measured.length > 0 && measured.every(({ p50, p99 }) => p50 > 0 && p99 >= p50))
  t.ok(summary.bytesPerRow < 80, `${summary.bytesPerRow} bytes a row`)
  const gateways = await gatewaysOf(hub)
  t.equal(gateways.length, 20)
  t.ok(gateways.some(({ report }) => report !== null))

  const kept = JSON.parse(readFileSync(flags.state, 'utf8'))
  t.equal(kept.length, 20)
  const later = { ...flags, token: '', 'backlog-gateways': 0, outages: 0, storms: 0 }
  const second = await run({ ...later, minutes: 0.02 })
  t.same(second.summary?.faults, [], second.stderr)
  t.match(second, { code: 0, summary: { joined: 0, ok: true } }, 'the same gateways go on')
  t.ok(second.summary.rowsCompared > summary.rowsCompared)

  edit(hub, 'DELETE FROM "seen_tbl_0" WHERE k = 5')
  const lost = await run({ ...later, minutes: 0 })
  t.equal(lost.code, 1, 'lost rows are seen')
  t.match(lost.summary.faults.join('\n'), /^sim-000\d\d: found \d+ rows at the hub, expected \d+$/m)
  t.match(lost.summary.faults.join('\n'), /acknowledged rows of seen are gone/)
  edit(hub, 'UPDATE "seen_tbl_0" SET speed = 999 WHERE k = 7')
  const changed = await run({ ...later, minutes: 0, recount: 'no' })
  t.match(changed.summary.faults.join('\n'), /found the row 7 as 999 /, 'changed rows are seen')
})

t.test('fleet: what cannot be run is said', async (t) => {
  const { flags } = await startHub(t, t.testdir())
  const wrong = async (more: object) => {
    const { code, stderr } = await run({ ...flags, minutes: 0, ...more })
    t.not(code, 0)
    return stderr
  }
  t.match(await wrong({ hub: 'nowhere' }), /--hub: found "nowhere", expected the base URL of a hub/)
  t.match(await wrong({ minutes: 'long' }), /--minutes: found NaN, expected a number from 0/)
  t.match(await wrong({ token: 'x' }), /--token: found another text than a token/)
  t.match(await wrong({ token: '', state: '' }), /--token: found none/)
  t.match(await wrong({ colour: 1 }), /unknown flag --colour/)
})
