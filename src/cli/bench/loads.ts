import { setTimeout as sleep } from 'node:timers/promises'
import { DEMO } from '../../demo/town.js'
import { figure, type Row, spreadText } from './row.js'
import type { BenchServer } from './server.js'

const SESSION = '/api/v1/session/jsonrpc'
const LOADER = '/api/v1/dataloaderapi/jsonrpc'
const ROUTES = '/api/v1/svcapi/jsonrpc'
const CLIENTS = 8
const BATCH = 100
const ROWS_A_CALL = 1000
const QUIET_MS = 2000
const AT = '2026-01-01 00:00:00Z'

/** Length of each load, ms. */
export interface LoadOptions {
  readonly loadMs: number
}

/** Start and memory of a gateway that nobody calls. */
export async function measureIdle(server: BenchServer, what: string): Promise<Row[]> {
  await sleep(QUIET_MS)
  const memory = server.memory()
  const held = memory && `${memory.rssMb.toFixed(0)} MB, ${memory.anonymousMb.toFixed(0)} MB of it anonymous`
  return [
    { part: 'start', what: `${what}: to the first answered call`, value: `${server.startMs.toFixed(0)} ms` },
    { part: 'memory', what: `${what}: resident while idle`, value: held ?? 'not known on this system' },
  ]
}

export async function measureCalls(server: BenchServer, { loadMs }: LoadOptions): Promise<Row[]> {
  const request = (id: number) => ({
    ...{ jsonrpc: '2.0', id, method: 'session.verify_session_token' },
    params: { token: 'c0ffee00-0000-4000-8000-000000000000' },
  })
  const batch = JSON.stringify(Array.from({ length: BATCH }, (_, i) => request(i)))
  const one = await load(server, SESSION, (i) => JSON.stringify(request(i)), { clients: CLIENTS, loadMs })
  const many = await load(server, SESSION, () => batch, { clients: CLIENTS, loadMs })
  return [
    { part: 'calls', what: `small calls of ${CLIENTS} clients`, value: rateText(one, 1, 'calls') },
    { part: 'calls', what: `the same in batches of ${BATCH}`, value: rateText(many, BATCH, 'calls') },
  ]
}

export async function measureRows(server: BenchServer, { loadMs }: LoadOptions): Promise<Row[]> {
  await server.call(LOADER, 'loaderwebapi.register_loader', {
    data_name: 'bench',
    record_def: { id: { udt_name: 'int4' }, value: { udt_name: 'float8' }, note: { udt_name: 'text' } },
    unique_columns: ['id'],
  })
  let next = 0
  const record = () => ({
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [139 + (next % 977) / 1000, 35] } },
    properties: { id: next++, value: next / 7, note: 'a short note of a sensor' },
  })
  const body = (count: number) =>
    JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'loaderwebapi.add_record' },
      params: { data_name: 'bench', record_set: Array.from({ length: count }, record) },
    })
  const single = await load(server, LOADER, () => body(1), { clients: 1, loadMs })
  const bulk = await load(server, LOADER, () => body(ROWS_A_CALL), { clients: 1, loadMs })
  const crowd = await load(server, LOADER, () => body(1), { clients: 64, loadMs })
  return [
    { part: 'rows', what: 'one row a call, one client', value: rateText(single, 1, 'rows') },
    { part: 'rows', what: 'one row a call, 64 clients', value: rateText(crowd, 1, 'rows') },
    { part: 'rows', what: `${ROWS_A_CALL} rows a call`, value: rateText(bulk, ROWS_A_CALL, 'rows') },
  ]
}

/** Routes on the town of `serve --demo`, with its flood. */
export async function measureRoutes(server: BenchServer, { loadMs }: LoadOptions): Promise<Row[]> {
  const [west, south, east, north] = DEMO.bbox
  const place = (i: number, salt: number): [number, number] => [
    west + (east - west) * (0.25 + 0.5 * ((i * 0.618 + salt) % 1)),
    south + (north - south) * (0.25 + 0.5 * ((i * 0.382 + salt * 3) % 1)),
  ]
  const body = (i: number, times: number) => {
    const flood = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, times]
    const ends = { start_lonlat: place(i, 0.1), goal_lonlat: place(i, 0.7), start_datetime: AT }
    return JSON.stringify({
      ...{ jsonrpc: '2.0', id: i, method: 'routing.dijkstra' },
      params: [{ ...ends, map: DEMO.mapName, themes: { flood } }],
    })
  }
  const known = await load(server, ROUTES, (i) => body(i, 9999), { clients: 1, loadMs })
  const crowd = await load(server, ROUTES, (i) => body(i, 9999), { clients: CLIENTS, loadMs })
  const fresh = await load(server, ROUTES, (i) => body(i, 10 + i / 1000), { clients: 1, loadMs })
  return [
    { part: 'routes', what: 'around a flood, one client', value: rateText(known, 1, 'routes') },
    { part: 'routes', what: `the same, ${CLIENTS} clients`, value: rateText(crowd, 1, 'routes') },
    { part: 'routes', what: 'each under new sensitivities', value: rateText(fresh, 1, 'routes') },
  ]
}

interface Load {
  readonly ms: readonly number[]
  readonly elapsedMs: number
  /** processor time of the gateway for each request, µs; undefined where it is not known */
  readonly cpuUs: number | undefined
}

/** Sends requests from some clients, each the next one when its answer is there. @throws Error for a refusal */
async function load(
  server: BenchServer,
  path: string,
  body: (i: number) => string,
  { clients, loadMs }: LoadOptions & { clients: number },
): Promise<Load> {
  let sent = 0
  const run = async (untilMs: number, ms: number[]) => {
    while (performance.now() < untilMs) {
      const startedMs = performance.now()
      const status = await server.post(path, body(sent++))
      if (status !== 200) throw new Error(`${path} answered ${status}, expected 200`)
      ms.push(performance.now() - startedMs)
    }
  }
  const all = async (lengthMs: number) => {
    const ms: number[] = []
    const untilMs = performance.now() + lengthMs
    await Promise.all(Array.from({ length: clients }, () => run(untilMs, ms)))
    return ms
  }
  await all(loadMs / 4) // what runs for the first time is compiled
  const [startedMs, before] = [performance.now(), server.cpuMs()]
  const ms = await all(loadMs)
  const [elapsedMs, after] = [performance.now() - startedMs, server.cpuMs()]
  const cpuUs =
    before === undefined || after === undefined ? undefined : ((after - before) * 1000) / ms.length
  return { ms, elapsedMs, cpuUs }
}

/** @param each things that a request holds */
function rateText({ ms, elapsedMs, cpuUs }: Load, each: number, things: string): string {
  const rate = `${Math.round((ms.length * each * 1000) / elapsedMs)} ${things}/s`
  const cpu = cpuUs === undefined ? '' : `; processor ${figure(cpuUs / each)} µs each`
  return `${rate}; a request ${spreadText(ms)} ms${cpu}`
}
