import { setTimeout as sleep } from 'node:timers/promises'
import { LOADER, SESSION } from '../../api-paths.mjs'
import { ANSWER_MS, createModelBytes, put } from '../models.mjs'

/** Pause of a writer after a refusal, ms. */
const REFUSED_PAUSE_MS = 50
/** Longest pause of a writer between two calls, ms. */
const PAUSE_MS = 60
const MAX_CALL_ROWS = 40
/** Longest wait for an acknowledgement after a strike, ms. */
const SILENT_MS = 300_000
/** Share of the calls that override the rows of an earlier one. */
const OVERRIDE_SHARE = 0.3
/** Calls of a writer after which it opens another session. */
const SESSION_CALLS = 40
const MAX_MODEL_BYTES = 300_000
/** Statuses of engines and processes that are away; 0: no answer. */
const AWAY = new Set([0, 502, 503, 504])

/** Table of the rows. The key makes each row one; the counters of an answer tell whether the call was stored twice. */
export const definitionOf = (data_name) => ({
  ...{ data_name, unique_columns: ['k'] },
  record_def: { k: { udt_name: 'int4' }, v: { udt_name: 'int4' } },
})

/**
 * Writers of rows and models over HTTP, and a ledger outside of the hub. A call that gets no answer, or is answered by
 * 503, is never repeated: its rows may be there, whole, or not at all.
 *
 * @param node `url` and `headers` of the hub, or of a gateway
 * @param options.session true: calls carry a session token in place of the key
 */
export function startLoad(node, { table, random, writers, modelWriters = 0, session = false }) {
  const load = { table, calls: [], models: [], faults: [], refused: {}, sessions: 0, isOver: false }
  Object.assign(load, { isResting: false, putsUnderWay: 0 })
  const waiting = new Set()
  const modelOf = createModelBytes(MAX_MODEL_BYTES)
  let nextKey = 1
  const lastMs = {}
  const longestGapMs = {}
  load.acknowledge = (kind, beganMs) => {
    const nowMs = performance.now()
    longestGapMs[kind] = Math.round(Math.max(longestGapMs[kind] ?? 0, nowMs - (lastMs[kind] ?? nowMs)))
    lastMs[kind] = nowMs
    for (const each of waiting) {
      if (each.kind !== kind || beganMs < each.sinceMs) continue
      waiting.delete(each)
      each.resolve(nowMs)
    }
  }
  load.newKeys = (count) => {
    nextKey += count
    return nextKey - count
  }
  load.refuse = (error) => {
    const { status = 0, name = 'no answer' } = error
    load.refused[name] = (load.refused[name] ?? 0) + 1
    if (!AWAY.has(status)) load.faults.push(`refused with ${status}: ${error.message}`)
  }
  const running = [
    ...Array.from({ length: writers }, () => writeRows(load, node, { random, session })),
    ...Array.from({ length: modelWriters }, () => writeModels(load, node, { random, modelOf })),
  ]
  return Object.assign(load, {
    /**
     * @returns time of the first acknowledgement of a call that began after this, as `performance.now()`
     * @throws Error when there is none for minutes
     */
    async next(kind) {
      let timer
      const late = new Promise((_, reject) => {
        const error = new Error(`found no acknowledgement of ${kind} within ${SILENT_MS} ms`)
        timer = setTimeout(() => reject(error), SILENT_MS)
      })
      const acknowledged = new Promise((resolve) =>
        waiting.add({ kind, sinceMs: performance.now(), resolve }),
      )
      try {
        return await Promise.race([acknowledged, late])
      } finally {
        clearTimeout(timer)
      }
    },
    /** Resolves when no rows are on their way; none are sent until `goOn`. */
    async rest() {
      load.isResting = true
      while (load.putsUnderWay > 0) await sleep(PAUSE_MS / 4)
    },
    goOn() {
      load.isResting = false
    },
    async stop() {
      load.isOver = true
      await Promise.all(running)
    },
    facts: () => ({
      calls: load.calls.filter(({ acked }) => acked > 0).length,
      rows: load.calls.reduce((sum, { acked, count }) => sum + (acked > 0 ? count : 0), 0),
      models: load.models.filter(({ id }) => id !== undefined).length,
      ...{ longestGapMs, sessions: load.sessions, refused: load.refused },
    }),
  })
}

/** Calls a method. @throws Error with `status` and `name` of what was refused; status 0 for a broken connection */
export async function callHub({ url, headers }, apiPath, method, params = {}) {
  let response
  let body
  try {
    response = await fetch(`${url}${apiPath}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    body = await response.text()
  } catch (error) {
    throw refusal(`${method}: ${error.message}`, 0, 'no answer')
  }
  // a load balancer answers 502 to 504 with a page
  const json = body.startsWith('{') ? JSON.parse(body) : {}
  if (response.status === 200 && json.error === undefined) return json.result
  const name = json.error?.data?.name ?? `HTTP ${response.status}`
  throw refusal(`${method}: ${json.error?.message ?? body.slice(0, 200)}`, response.status, name)
}

function refusal(message, status, name) {
  return Object.assign(new Error(message), { status, name })
}

async function writeRows(load, node, { random, session }) {
  const own = []
  let signedIn = node
  for (let made = 0; !load.isOver; made++) {
    while (load.isResting && !load.isOver) await sleep(PAUSE_MS)
    if (session && made % SESSION_CALLS === 0) signedIn = (await openSession(load, node)) ?? signedIn
    const overrides = random() < OVERRIDE_SHARE ? own.filter(({ acked }) => acked > 0) : []
    let call = overrides[Math.floor(random() * overrides.length)]
    if (call === undefined) {
      const count = 1 + Math.floor(random() * MAX_CALL_ROWS)
      call = { first: load.newKeys(count), count, acked: 0, tried: 0 }
      own.push(call)
      load.calls.push(call)
    }
    await putRows(load, signedIn, call)
    await sleep(random() * PAUSE_MS)
  }
}

async function openSession(load, node) {
  try {
    const { access_token } = await callHub(node, SESSION, 'session.open_session')
    load.sessions++
    return { url: node.url, headers: { 'svc-session-token': access_token } }
  } catch (error) {
    load.refuse(error)
    return undefined
  }
}

/** Sends the rows of a call with their next value: new ones, or those that it has stored. */
async function putRows(load, node, call) {
  const v = ++call.tried
  const isNew = v === 1
  const record_set = Array.from({ length: call.count }, (_, at) => ({
    ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [139 + at / 1000, 35] } },
    properties: { k: call.first + at, v },
  }))
  const beganMs = performance.now()
  load.putsUnderWay++
  try {
    const params = { data_name: load.table, options: { if_exists: isNew ? 'skip' : 'override' }, record_set }
    const counters = await callHub(node, LOADER, 'loaderwebapi.add_record', params)
    const stored = isNew ? counters.count_insert : counters.count_update
    if (stored !== call.count)
      load.faults.push(
        `rows ${call.first}, value ${v}: found the counters ${JSON.stringify(counters)}, expected ${call.count} stored once`,
      )
    call.acked = v
    load.acknowledge('rows', beganMs)
  } catch (error) {
    load.refuse(error)
    await sleep(REFUSED_PAUSE_MS)
  } finally {
    load.putsUnderWay--
  }
}

async function writeModels(load, node, { random, modelOf }) {
  while (!load.isOver) {
    const { sha256, sizeBytes, chunks } = modelOf(Math.round(1000 * (MAX_MODEL_BYTES / 1000) ** random()))
    const model = { sha256, id: undefined }
    load.models.push(model)
    const beganMs = performance.now()
    try {
      model.id = (await put(node, { store: 'crash', sizeBytes, chunks })).model_id
      load.acknowledge('models', beganMs)
    } catch (error) {
      load.refuse({
        status: error.status,
        name: `put: ${error.status ?? 'no answer'}`,
        message: error.message,
      })
      await sleep(REFUSED_PAUSE_MS)
    }
    await sleep(random() * PAUSE_MS * 2)
  }
}
