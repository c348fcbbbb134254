import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createByteBudget } from '../../src/http/byte-budget.js'
import type { HttpContext } from '../../src/http/env.js'
import { takeGrowing } from '../../src/http/memory.js'
import { openRaw, postHead, type RawSocket } from '../support/raw-http.js'
import { type KeyPair, pairHeaders, startGateway } from '../support/start-gateway.js'

const SESSION = '/api/v1/session/jsonrpc'
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const MIB = 1024 * 1024

async function openMany(url: string, count: number): Promise<RawSocket[]> {
  return await Promise.all(Array.from({ length: count }, () => openRaw(url)))
}

/** Head of a body that the gateway asks for before it is sent. */
function asked(path: string, key: KeyPair, length: number): string {
  return postHead(path, { ...pairHeaders(key), Expect: '100-continue' }, length)
}

t.test(
  'memory: half-sent bodies of one key leave room for another key, and small ones need none',
  async (t) => {
    const { url, makeKey, call } = await startGateway(t, {
      settings: { limits: { bytesInFlight: 32 * MIB } },
    })
    const [weak, other] = [await makeKey(['session:read']), await makeKey(['session:read'])]
    const crowd = await openMany(url, 20)
    for (const socket of crowd) socket.send(asked(SESSION, weak, 4_000_000))
    const isRead = ({ received }: RawSocket) => received.includes('100 Continue')
    const read = () => crowd.filter(isRead).length
    while (read() < 2) await sleep(5)
    t.equal(read(), 2, 'a body of 4 MB counts twice: half of the budget has room for two')
    const big = await openRaw(url)
    big.send(asked(SESSION, other, 4_000_000))
    t.match(await big.until(/\r\n\r\n/), /^HTTP\/1\.1 100 Continue/)
    const { status } = await call(SESSION, 'session.verify_session_token', { token: 'x' }, pairHeaders(weak))
    t.equal(status, 200)
    big.destroy() // an owner may hold as much as it leaves free, which is less beside another one
    crowd.find(isRead)?.destroy()
    while (read() < 3) await sleep(5)
    t.equal(read(), 3, 'the next one has its turn')
    for (const socket of [...crowd, big]) socket.destroy()
  },
)

t.test('memory: a body is refused before it is read when the key may do nothing with it', async (t) => {
  const { url, makeKey } = await startGateway(t)
  const weak = await makeKey(['session:read'])
  const reader = await makeKey(['loader:read'])
  const table: [string, KeyPair, string][] = [
    [LOADER, weak, 'loader:'],
    [LOADER, reader, 'loader:write'],
    [`${LOADER}/call/loaderwebapi.add_record`, reader, 'loader:write'],
    ['/api/v2/model_store/jsonrpc', weak, 'model:'],
  ]
  for (const [path, key, scope] of table) {
    const raw = await openRaw(url)
    raw.send(asked(path, key, 3_000_000))
    t.match(await raw.until(/\}$/), new RegExp(`^HTTP/1\\.1 403 [\\s\\S]*${scope}`), path)
    raw.destroy()
  }
})

t.test('memory: a body that is spooled stops at the reserve of the disk', async (t) => {
  const { url, admin, logLines } = await startGateway(t, {
    settings: { limits: { diskReserveBytes: Number.MAX_SAFE_INTEGER } },
  })
  const raw = await openRaw(url)
  raw.send(postHead(LOADER, pairHeaders(admin), 50_000_000))
  raw.send(' '.repeat(3_000_000)) // more than is held in memory
  t.match(await raw.until(/\}$/), /^HTTP\/1\.1 507 [\s\S]*DISK_FULL/)
  raw.destroy()
  t.notOk(logLines.some(({ level }) => level === 'error'))
})

t.test(
  'memory: answers that nobody reads are bounded, given back, and keep no other key waiting',
  async (t) => {
    const gateway = await startGateway(t, { settings: { limits: { bytesInFlight: 8 * MIB } } })
    const { url, admin, makeKey, call } = gateway
    const record_def = {
      id: { udt_name: 'int4' },
      photo: {
        ...{ udt_name: 'file', file_name_column: 'name', file_type_column: 'type' },
        ...{ file_prefixid_column: 'prefix', file_pathid_column: 'path' },
        file_relativepath_property: 'where',
      },
      ...{ name: { udt_name: 'text' }, type: { udt_name: 'text', is_nullable: true } },
      ...{ prefix: { udt_name: 'int4' }, path: { udt_name: 'text' } },
    }
    const table = { data_name: 'files', record_def, unique_columns: ['id'] }
    t.match((await call(LOADER, 'loaderwebapi.register_loader', table)).body, { result: {} })
    const photo = Buffer.alloc(8_000_000, 'abcdefg')
    const properties = {
      ...{ start_datetime: '2026-01-01 00:00:00Z', end_datetime: null, id: 1 },
      ...{ photo: photo.toString('base64'), where: 'trip/a.bin' },
    }
    const record_set = [{ type: 'Feature', geometry: null, properties }]
    const added = await call(LOADER, 'loaderwebapi.add_record', { data_name: 'files', record_set })
    t.match(added.body, { result: { count_insert: 1 } })
    const place = { data_name: 'files', prefix_id: 1, path_id: 'trip', file_name: 'a.bin' }
    const FILES = '/api/v1/getfileapi/jsonrpc'
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getfileapi.get_file', params: place })
    const crowd = await openMany(url, 20)
    for (const socket of crowd) {
      socket.pause()
      socket.send(`${postHead(FILES, pairHeaders(admin), body.length)}${body}`)
    }
    const metric = async (name: string) => {
      const headers = { Authorization: `Basic ${btoa(`${admin.apiKey}:${admin.secret}`)}` }
      const page = await (await fetch(`${url}/metrics`, { headers })).text()
      return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(page)?.[1])
    }
    while ((await metric('fieldgate_bytes_in_flight')) < 4 * MIB) await sleep(20)
    await sleep(200) // time enough for a fifth one
    t.equal(await metric('fieldgate_bytes_in_flight'), 4 * MIB, 'four of twenty have begun')
    const other = pairHeaders(await makeKey(['loader:read']))
    const answer = await call(FILES, 'getfileapi.get_file', place, other)
    t.ok(photo.equals(Buffer.from(answer.body.result.file_data, 'base64')), 'whole, byte for byte')
    for (const socket of crowd) socket.destroy()
    while ((await metric('fieldgate_bytes_in_flight')) > 0) await sleep(20)
    t.equal(await metric('fieldgate_requests_waiting'), 0)
  },
)

t.test(
  'memory: small bodies that grow hold what they need, and a large one grows in few steps',
  async (t) => {
    const budget = createByteBudget({ totalBytes: 8 * MIB, maxWaitingPerOwner: 1, maxWaiting: 1, waitMs: 1 })
    const never = new AbortController().signal
    const c = { req: { raw: { signal: never } } } as unknown as HttpContext // what a wait reads of it
    const take = (keyId: string, bytes: number) =>
      takeGrowing(c, { budget, stopSignal: never }, { keyId }, bytes)
    const shares = await Promise.all(
      Array.from({ length: 1000 }, async (_, n) => {
        const share = await take(`key ${n}`, 700)
        await share.hold(5000)
        await share.hold(5000)
        return share
      }),
    )
    t.equal(budget.facts().usedBytes, 1000 * 5000)
    for (const share of shares) share.release()
    t.equal(budget.facts().usedBytes, 0)
    const large = await take('large', 1000)
    const held = new Set<number>()
    for (let wanted = 1000; wanted < 2 * MIB; wanted += 1000) {
      await large.hold(wanted)
      held.add(budget.facts().usedBytes)
      t.ok(budget.facts().usedBytes >= wanted)
    }
    t.ok(held.size < 15)
    await large.hold(1000)
    t.equal(budget.facts().usedBytes, 1000, 'it gives back what it needs no more')
    large.release()
  },
)
