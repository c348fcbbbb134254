import { setTimeout as sleep } from 'node:timers/promises'
import { drip, openRaw, postHead, type RawSocket } from '../raw-http.js'
import { type KeyPair, pairHeaders, post } from '../start-gateway.js'
import {
  type Crossing,
  ensureTable,
  isRefused,
  LOADER,
  MAPS,
  record,
  SESSION,
  send,
  VERIFY,
} from './crossing.js'

/** Two streams of changes at once, where one is allowed. */
function crossedByStreams(setting: string): Crossing {
  return {
    settings: { limits: { [setting]: 1 } },
    async cross(t, gateway) {
      await ensureTable(gateway, 'live')
      const open = () =>
        fetch(`${gateway.url}/api/v1/dataloaderapi/changes/live`, { headers: pairHeaders(gateway.admin) })
      const first = await open()
      t.equal(first.status, 200)
      const second = await open()
      isRefused(
        t,
        { status: second.status, headers: second.headers, body: await second.json() },
        429,
        'RATE_LIMITED',
        new RegExp(setting),
      )
      await first.body?.cancel()
    },
  }
}

/** Limits of sockets, headers, bodies and envelopes. */
export const TRANSPORT: Record<string, Crossing> = {
  'limits.bodyBytes': {
    async cross(t, gateway) {
      isRefused(t, await send(gateway, SESSION, ' '.repeat(3000)), 413, 'BODY_TOO_LARGE', /at most 2048/)
    },
  },
  'limits.loaderBodyBytes': {
    async cross(t, gateway) {
      const answer = await send(gateway, LOADER, ' '.repeat(30_000))
      isRefused(t, answer, 413, 'BODY_TOO_LARGE', /at most 20000/)
    },
  },
  'limits.inlineBodyBytes': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'inline')
      const record_set = Array.from({ length: 8 }, (_, i) => record(i, 'y'.repeat(300)))
      const { status, body } = await gateway.call(LOADER, 'loaderwebapi.add_record', {
        data_name: 'inline',
        record_set,
      })
      t.equal(status, 200)
      t.equal(body.result?.count_insert, 8, 'goes through a file, and is answered as ever')
    },
  },
  'limits.bytesInFlight': {
    settings: { limits: { bytesInFlight: 400_000 } },
    async cross(t, { url, admin, makeKey }) {
      // a body counts twice: the first two of a key hold all that one key may have
      const head = { ...pairHeaders(admin), Expect: '100-continue' }
      const held = await Promise.all([openRaw(url), openRaw(url)])
      for (const socket of held) {
        socket.send(postHead(SESSION, head, 50_000))
        await socket.until(/100 Continue/)
      }
      // 64 requests of a key may wait for memory: of 65, the one that comes last is refused at once
      const waiting = await Promise.all(Array.from({ length: 65 }, () => openRaw(url)))
      for (const socket of waiting) socket.send(postHead(SESSION, head, 50_000))
      t.match(
        await Promise.any(waiting.map((socket) => socket.until(/\}$/))),
        /^HTTP\/1\.1 503 [\s\S]*Retry-After[\s\S]*Too many requests wait[\s\S]*limits\.bytesInFlight[\s\S]*BUSY/i,
      )
      const other = await openRaw(url)
      other.send(
        postHead(
          SESSION,
          { ...pairHeaders(await makeKey(['session:read'])), Expect: '100-continue' },
          50_000,
        ),
      )
      t.match(await other.until(/100 Continue/), /100 Continue/, 'another key has its own share')
      for (const socket of [...held, ...waiting, other]) socket.destroy()
    },
  },
  'limits.changeReaders': crossedByStreams('changeReaders'),
  'limits.changeReadersPerKey': crossedByStreams('changeReadersPerKey'),
  'limits.batch': {
    async cross(t, gateway) {
      const answer = await send(gateway, SESSION, `[${VERIFY},${VERIFY},${VERIFY},${VERIFY}]`)
      isRefused(t, answer, 200, 'INVALID_REQUEST', /a batch of 4, expected 1 to 3/)
    },
  },
  'limits.jsonDepth': {
    async cross(t, gateway) {
      const answer = await send(gateway, SESSION, `${'['.repeat(20)}${']'.repeat(20)}`)
      isRefused(t, answer, 200, 'INVALID_REQUEST', /expected at most 12/)
    },
  },
  'limits.headerBytes': {
    async cross(t, { url }) {
      const raw = await openRaw(url)
      raw.send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(8000)}\r\n\r\n`)
      t.match(await raw.closed(), /^HTTP\/1\.1 431 [\s\S]*HEADERS_TOO_LARGE/)
    },
  },
  'limits.headerMs': {
    async cross(t, { url }) {
      const raw = await openRaw(url)
      raw.send('GET /healthz HTTP/1.1\r\n')
      drip(t, raw, 'X-A: b\r\n', 50) // the clock runs however much comes
      t.match(await raw.closed(), /^HTTP\/1\.1 408 [\s\S]*headers took too long[\s\S]*BODY_TIMEOUT/)
      const mute = await openRaw(url)
      await mute.closed()
      t.pass('a connection that says nothing is closed too')
    },
  },
  'limits.bodyIdleMs': {
    async cross(t, { url, admin }) {
      const raw = await openRaw(url)
      raw.send(`${postHead(SESSION, pairHeaders(admin), 100)}{"a`)
      t.match(await raw.until(/\}$/), /^HTTP\/1\.1 408 [\s\S]*limits\.bodyIdleMs[\s\S]*BODY_TIMEOUT/)
      raw.destroy()
    },
  },
  'limits.bodyMs': {
    async cross(t, { url, admin }) {
      for (const path of [SESSION, LOADER]) {
        const raw = await openRaw(url)
        raw.send(postHead(path, pairHeaders(admin), 2000))
        drip(t, raw, ' ', 40) // never silent, never done
        t.match(await raw.until(/\}$/), /^HTTP\/1\.1 408 [\s\S]*limits\.bodyMs[\s\S]*BODY_TIMEOUT/, path)
        await raw.closed() // though it goes on dripping
      }
    },
  },
  'limits.keepAliveMs': {
    async cross(t, { url }) {
      const raw = await openRaw(url)
      raw.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
      t.match(await raw.closed(), /^HTTP\/1\.1 200 /, 'answered, then closed when nothing more comes')
    },
  },
  'limits.writeIdleMs': {
    async cross(t, gateway) {
      await ensureTable(gateway, 'wide')
      const note = 'z'.repeat(100_000)
      const lines = Array.from({ length: 300 }, (_, i) => JSON.stringify(record(i, note))).join('\n')
      const headers = { 'Content-Type': 'application/x-ndjson' }
      t.equal((await send(gateway, '/api/v1/dataloaderapi/stream/wide', lines, headers)).status, 200)
      const params = { type: 'Feature', geometry: null, properties: { table: 'wide', columns: [] } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'mapserv.eventdata', params })
      const controller = new AbortController()
      const response = await fetch(gateway.url + MAPS, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'Accept-Encoding': 'identity',
          ...pairHeaders(gateway.admin),
        },
        body,
        signal: controller.signal,
      })
      await sleep(2000) // 30 MB do not fit the sockets' buffers: the gateway waits for us and gives up
      await t.rejects(response.text(), 'a body that is not whole is no answer')
      controller.abort()
    },
  },
  'limits.compressedAnswers': {
    settings: { limits: { compressedAnswers: 0 } },
    async cross(t, { url }) {
      const response = await fetch(url + MAPS, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip, zstd' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'rpc.discover' }),
      })
      const text = await response.text()
      t.ok(response.ok && text.length > 10_000)
      t.equal(response.headers.get('content-encoding'), null, 'sent as it is')
    },
  },
  'limits.connections': {
    settings: { limits: { connections: 3 } },
    async cross(t, { url, admin }) {
      const held = await Promise.all([openRaw(url), openRaw(url), openRaw(url)])
      await busy(held, admin)
      const fourth = await openRaw(url)
      fourth.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
      t.match(await fourth.closed(), /^HTTP\/1\.1 503 [\s\S]*Retry-After[\s\S]*limits\.connections/)
      const mute = await openRaw(url)
      await mute.closed()
      t.pass('closed though it sent nothing')
      for (const socket of held) socket.destroy()
      for (let tries = 0; tries < 200; tries++) {
        const again = await openRaw(url)
        again.send('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
        if (!/^HTTP\/1\.1 200 /.test(await again.closed())) continue
        t.pass('room again')
        return
      }
      t.fail('no room again')
    },
  },
  'limits.connectionsPerAddress': {
    settings: { limits: { connectionsPerAddress: 2 } },
    async cross(t, { url, admin }) {
      const held = await Promise.all([openRaw(url), openRaw(url)])
      await busy(held, admin)
      const third = await openRaw(url)
      third.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
      t.match(await third.closed(), /^HTTP\/1\.1 429 [\s\S]*Retry-After[\s\S]*limits\.connectionsPerAddress/)
      for (const socket of held) socket.destroy()
    },
  },
  'limits.pipelined': {
    async cross(t, { url }) {
      const raw = await openRaw(url)
      raw.send('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(30))
      const got = await raw.closed()
      t.match(got, /HTTP\/1\.1 429 [\s\S]*limits\.pipelined[\s\S]*RATE_LIMITED/)
      t.ok(got.split('HTTP/1.1 200').length - 1 <= 8, 'the first ones are answered, the rest is not begun')
    },
  },
  'limits.callsPerMinutePerKey': {
    settings: { limits: { callsPerMinutePerKey: 3 } },
    async cross(t, gateway) {
      const answer = await send(gateway, SESSION, `[${VERIFY},${VERIFY},${VERIFY},${VERIFY}]`)
      isRefused(t, answer, 429, 'RATE_LIMITED', /calls of this key/)
      t.ok(Number(answer.headers.get('retry-after')) > 0)
    },
  },
  'limits.callsPerMinutePerAddress': {
    settings: { limits: { callsPerMinutePerAddress: 3 } },
    async cross(t, gateway) {
      for (let i = 0; i < 3; i++) t.equal((await send(gateway, SESSION, VERIFY)).status, 200)
      const other = pairHeaders(await gateway.makeKey(['session:read']))
      isRefused(t, await send(gateway, SESSION, VERIFY, other), 429, 'RATE_LIMITED', /calls of this address/)
    },
  },
  'limits.signInFailuresPerMinute': {
    settings: { limits: { signInFailuresPerMinute: 2 } },
    async cross(t, gateway) {
      const bad = { APIKey: 'x', Secret: 'y' }
      for (let i = 0; i < 2; i++) t.equal((await post(gateway.url + SESSION, VERIFY, bad)).status, 401)
      isRefused(t, await send(gateway, SESSION, VERIFY, bad), 429, 'RATE_LIMITED', /failed sign-ins/)
      t.equal((await send(gateway, SESSION, VERIFY)).status, 200, 'right credentials are never refused')
    },
  },
  'limits.anonymousPerMinute': {
    settings: { limits: { anonymousPerMinute: 3 } },
    async cross(t, { url }) {
      for (let i = 0; i < 3; i++) t.equal((await fetch(`${url}/openrpc.json`)).status, 200)
      isRefused(t, await post(`${url}/openrpc.json`, '', {}), 429, 'RATE_LIMITED', /without credentials/)
      t.equal((await fetch(`${url}/healthz`)).status, 200, 'health is always answered')
    },
  },
}

/** Keeps connections in use: each has signed in, and waits for the rest of a body. */
async function busy(sockets: readonly RawSocket[], admin: KeyPair): Promise<void> {
  const head = postHead(SESSION, { ...pairHeaders(admin), Expect: '100-continue' }, 100)
  for (const socket of sockets) socket.send(head)
  // the gateway asks for the body when the caller is known
  await Promise.all(sockets.map((socket) => socket.until(/100 Continue/)))
}
