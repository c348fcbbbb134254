import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
// @ts-expect-error a script without types
import { judgeRows } from '../../../scripts/crash/hub/judge.mjs'

/** Serves rows by the range of keys that a question names. @returns the address */
async function serveRows(t: Test, rows: readonly { k: number; v: number }[]): Promise<string> {
  const server = createServer(async (request, response) => {
    const { params } = (await json(request)) as {
      params: [{ properties: { conds: { and: [{ '>=': [string, number] }, { '<': [string, number] }] } } }]
    }
    const [low, high] = params[0].properties.conds.and
    const found = rows.filter(({ k }) => k >= low['>='][1] && k < high['<'][1])
    const features = found.map((properties) => ({ properties }))
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { features } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('judge of a hub: finds lost, doubled and torn calls, and no others', async (t) => {
  const rows = (first: number, count: number, v = 1) =>
    Array.from({ length: count }, (_, at) => ({ k: first + at, v }))
  const judge = async (calls: object[], there: { k: number; v: number }[]) =>
    await judgeRows({ url: await serveRows(t, there), headers: {} }, { table: 'x', calls })
  const call = { count: 20, acked: 1, tried: 1 }

  // the last call goes on behind the page of keys in which it begins
  const across = { ...call, first: 990 }
  t.same((await judge([{ ...call, first: 1 }, across], [...rows(1, 20), ...rows(990, 20)])).faults, [])
  t.match((await judge([across], rows(990, 12))).facts, { lost: 8, torn: 1 })
  t.match((await judge([across], [])).facts, { lost: 20, torn: 0 })
  t.match((await judge([across], [...rows(990, 20), ...rows(1000, 1)])).facts, { doubled: 1 })
  const overridden = { ...across, acked: 2, tried: 3 }
  t.match((await judge([overridden], rows(990, 20, 1))).facts, { lost: 20, torn: 0 })
  t.same((await judge([overridden], rows(990, 20, 3))).faults, [])
  t.match((await judge([{ ...across, acked: 0 }], rows(990, 20))).facts, { lost: 0, refusedButThere: 1 })
})
