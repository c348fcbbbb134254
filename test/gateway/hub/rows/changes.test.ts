import t from 'tap'
import { LOADER_PATH } from '../../../../src/gateway/apis.js'
import { DEFINITION, until } from '../../../support/feeds.js'
import {
  type HubProcess,
  hubCall,
  hubCli,
  makeHub,
  noHub,
  serveHub,
  startEngines,
} from '../../../support/hub.js'
import { pairHeaders } from '../../../support/start-gateway.js'

type Headers = Record<string, string>

/** Row of a change, with its number. */
interface Seen {
  readonly change: number
  readonly k: number
  readonly note: string
}

/** Reads changes of the table `seen` at a process. @param after last change that the reader has */
async function listen(
  t: { teardown(work: () => unknown): unknown },
  hub: HubProcess,
  headers: Headers,
  after?: number,
) {
  const breaks = new AbortController()
  const behind: Headers = after === undefined ? {} : { 'Last-Event-ID': String(after) }
  const answer = await fetch(`${hub.url}/api/v1/dataloaderapi/changes/seen`, {
    ...{ headers: { ...headers, ...behind }, signal: breaks.signal },
  })
  if (answer.status !== 200 || answer.body === null)
    throw new Error(`${answer.status} ${await answer.text()}`)
  let text = ''
  const read = async (body: AsyncIterable<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const bytes of body) text += decoder.decode(bytes, { stream: true })
  }
  const ended = read(answer.body).catch((error: Error) => {
    if (!breaks.signal.aborted) throw error
  })
  const disconnect = async () => {
    breaks.abort()
    await ended
  }
  t.teardown(disconnect)
  const rows = (): Seen[] =>
    [...text.matchAll(/^id: (\d+)\nevent: change\ndata: (.*)\n\n/gm)].map(([, id, data = '']) => {
      const { k, note } = JSON.parse(data).properties as Seen
      return { change: Number(id), k, note }
    })
  /** what tells where to go on, once the stream has ended */
  const end = (): unknown => JSON.parse(/^event: end\ndata: (.*)\n\n/m.exec(text)?.[1] ?? 'null')
  const last = () => rows().at(-1)?.change ?? after ?? 0
  return { rows, last, end, ended, disconnect }
}

t.test('hub: live changes hold across its processes', { skip: noHub() }, async (t) => {
  const place = await makeHub(t, await startEngines(t), { settings: { server: { drainMs: 1000 } } })
  const admin = pairHeaders(JSON.parse((await hubCli(place, 'hub', 'init', '--json')).stdout))
  const [one, two] = [await serveHub(t, place, 'one'), await serveHub(t, place, 'two')]
  const call = async (hub: HubProcess, method: string, params: object) => {
    const { body } = await hubCall(hub, admin, LOADER_PATH, `loaderwebapi.${method}`, params)
    if (body.error !== undefined) throw new Error(`${method}: ${JSON.stringify(body.error)}`)
  }
  const put = (hub: HubProcess, keys: readonly number[], note = 'first') => {
    const record_set = keys.map((k) => ({
      type: 'Feature',
      geometry: null,
      properties: { k, note, speed: 1 },
    }))
    return call(hub, 'add_record', { data_name: 'seen', record_set, options: { if_exists: 'override' } })
  }
  const keysOf = (rows: readonly Seen[]) => rows.map(({ k }) => k)
  const untilRows = async (reader: { rows(): Seen[] }, count: number) =>
    await until(
      async () => reader.rows(),
      (rows) => rows.length >= count,
    )
  await call(one, 'register_loader', DEFINITION)

  await t.test('rows put at one process come at the other by a hint, in order and once', async (t) => {
    const reader = await listen(t, one, admin)
    const beganAt = performance.now()
    for (let k = 0; k < 8; k++) {
      await put(two, [k])
      await untilRows(reader, k + 1)
    }
    const tookMs = performance.now() - beganAt
    t.ok(tookMs < 12_000, `${tookMs} ms: without hints each but the first waits for the next look, 2 s`)
    await put(two, [3], 'second')
    await untilRows(reader, 9)
    t.same(keysOf(reader.rows()), [0, 1, 2, 3, 4, 5, 6, 7, 3])
    t.equal(reader.rows().at(-1)?.note, 'second')
    await reader.disconnect()
  })

  await t.test('a reader goes on at the other process, behind its last change', async (t) => {
    const first = await listen(t, one, admin)
    await put(two, [10, 11])
    await untilRows(first, 2)
    await first.disconnect()
    await put(two, [12, 13])
    await put(one, [14])
    const second = await listen(t, two, admin, first.last())
    await untilRows(second, 3)
    await put(one, [15])
    await untilRows(second, 4)
    t.same(keysOf([...first.rows(), ...second.rows()]), [10, 11, 12, 13, 14, 15])
    await second.disconnect()
  })

  await t.test('a reader that changes its process again and again, while both take rows', async (t) => {
    let [moves, reader] = [0, await listen(t, one, admin)]
    const found: Seen[] = []
    const written: number[] = []
    const write = async (hub: HubProcess, first: number) => {
      for (let k = first; moves < 8; k += 4) {
        await put(hub, [k])
        written.push(k)
      }
    }
    const writing = Promise.all([one, one, two, two].map((hub, n) => write(hub, 100 + n)))
    const move = async () => {
      await reader.disconnect()
      found.push(...reader.rows())
      reader = await listen(t, ++moves % 2 === 0 ? one : two, admin, found.at(-1)?.change)
    }
    while (moves < 8) {
      await untilRows(reader, 1)
      await move()
    }
    await writing
    await untilRows(reader, written.length - found.length)
    await move()
    const changes = found.map(({ change }) => change)
    const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)
    t.same(changes, sorted([...new Set(changes)]), 'numbers of changes grow')
    t.same(sorted(keysOf(found)), sorted(written), 'each row once')
    await reader.disconnect()
  })

  await t.test('a process that stops tells where to go on, and the other one does', async (t) => {
    const reader = await listen(t, one, admin)
    await put(two, [200])
    await untilRows(reader, 1)
    await one.stop()
    await reader.ended
    t.match(reader.end(), { after: reader.last(), reason: 'the gateway stops' })
    await put(two, [201])
    const next = await listen(t, two, admin, reader.last())
    t.same(keysOf(await untilRows(next, 1)), [201])
    await next.disconnect()
  })
})
