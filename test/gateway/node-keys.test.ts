import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { cli } from '../support/run-cli.js'
import { startGateway, type TestGateway } from '../support/start-gateway.js'

/** Runs SQL on the state of a gateway. @returns the first column of all rows, in hex where it is binary */
function ask(dataDir: string, sql: string, isChange = false): string[] {
  const db = new Database(path.join(dataDir, 'state.db'))
  try {
    if (isChange) db.exec(sql)
    else
      return db
        .prepare(sql)
        .pluck()
        .all()
        .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)))
    return []
  } finally {
    db.close()
  }
}

const keysOf = (dataDir: string) => ask(dataDir, 'SELECT public_key FROM node_key ORDER BY use')

async function startAndStop(t: Parameters<typeof startGateway>[0], dataDir: string): Promise<TestGateway> {
  const started = await startGateway(t, { dataDir })
  await started.gateway.stop()
  return started
}

t.test('keys of the node: made at the first start, kept at the next, and in each backup', async (t) => {
  const dir = t.testdir()
  const dataDir = path.join(dir, 'data')
  t.match(await cli(dir, ['init', '--data-dir', 'data']), { code: 0 })
  t.same(keysOf(dataDir), [], 'the place of the key file is known when the gateway starts')
  await startAndStop(t, dataDir)
  const keys = keysOf(dataDir)
  t.equal(keys.length, 2)
  await startAndStop(t, dataDir)
  t.same(keysOf(dataDir), keys)
  for (const argv of [
    ['backup', 'stick', '--data-dir', 'data'],
    ['restore', 'stick', '--data-dir', 'again'],
  ])
    t.match(await cli(dir, argv), { code: 0 })
  await startAndStop(t, path.join(dir, 'again'))
  t.same(keysOf(path.join(dir, 'again')), keys)
})

t.test('keys of the node: lost ones are made anew unless another node knows them', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const keyFile = path.join(dataDir, 'secret.key')
  await startAndStop(t, dataDir)
  const lost = keysOf(dataDir)
  rmSync(keyFile)
  const { logLines } = await startAndStop(t, dataDir)
  t.match(
    logLines.find(({ msg }) => /keys of this node were lost/.test(String(msg))),
    { level: 'warn' },
  )
  const keys = keysOf(dataDir)
  t.equal(keys.length, 2)
  t.notSame(keys, lost)
  const peer = `INSERT INTO node_peer (node_id, name, signing_key, exchange_key, added_at_us)
    VALUES ('11111111-1111-4111-8111-111111111111', 'base', zeroblob(32), zeroblob(32), 1)`
  ask(dataDir, peer, true)
  rmSync(keyFile)
  await t.rejects(startGateway(t, { dataDir }), {
    message: /secret\.key is missing, but values are encrypted/,
  })
  t.notOk(existsSync(keyFile))
  t.same(keysOf(dataDir), keys)
})
