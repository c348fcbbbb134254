import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAPS, MODELS, SYNC } from '../../api-paths.mjs'
import { callHub } from './load.mjs'

const PAGE_ROWS = 1000
/** Most tries of a question that the hub puts off. */
const TRIES = 60
const AGAIN_MS = 500

/**
 * Compares the rows of a hub with a ledger: those of acknowledged calls are there with their last value, or with a later
 * one that was tried; those of the others are there whole or not at all.
 *
 * @param origin node id of the gateway that sent the rows; undefined for those of the hub
 * @returns numbers of rows and calls, and lines that say what is wrong
 */
export async function judgeRows(hub, { table, calls }, origin) {
  const last = calls.reduce((most, { first, count }) => Math.max(most, first + count - 1), 0)
  const found = await readValues(hub, table, { last, origin })
  const facts = { lost: 0, doubled: 0, torn: 0, refusedButThere: 0 }
  const wrong = []
  for (const { first, count, acked, tried } of calls) {
    const values = Array.from({ length: count }, (_, at) => found.get(first + at) ?? [])
    const isThere = values.some(({ length }) => length > 0)
    if (acked === 0 && isThere) facts.refusedButThere++
    const doubled = values.filter(({ length }) => length > 1).length
    const lost = acked > 0 ? values.filter(([v]) => v === undefined || v < acked).length : 0
    const [[v] = []] = values
    const isTorn = isThere && values.some(([other]) => other !== v || other > tried)
    if (isTorn) facts.torn++
    facts.doubled += doubled
    facts.lost += lost
    if (isTorn || doubled > 0 || lost > 0) wrong.push({ first, count, acked, tried, values })
  }
  const faults = ['lost', 'doubled', 'torn']
    .filter((name) => facts[name] > 0)
    .map((name) => `${table}: ${facts[name]} rows or calls are ${name}`)
  return { facts, faults: [...faults, ...wrong.slice(0, 3).map((call) => JSON.stringify(call))] }
}

/** Reads the column `v` of all rows by pages of keys. @returns key → values found */
async function readValues(hub, table, { last, origin }) {
  const found = new Map()
  const ofOrigin = origin === undefined ? [] : [{ '=': ['_origin', origin] }]
  for (let from = 0; from <= last; from += PAGE_ROWS) {
    const conds = { and: [{ '>=': ['k', from] }, { '<': ['k', from + PAGE_ROWS] }, ...ofOrigin] }
    const query = {
      ...{ type: 'Feature', geometry: null },
      properties: { table, columns: ['k', 'v'], conds },
    }
    const { features } = await patient(() => callHub(hub, MAPS, 'mapserv.eventdata', [query]))
    for (const { properties } of features)
      found.set(properties.k, [...(found.get(properties.k) ?? []), properties.v])
  }
  return found
}

/** Compares the models of a hub with a ledger: each acknowledged one is there once, with its bytes. */
export async function judgeModels(hub, { models }) {
  const params = { model_store_ddc: 'crash' }
  const infos = await patient(() => callHub(hub, MODELS, 'model_store.model.get_info', params))
  const bySha = Map.groupBy(infos, ({ model_sha256 }) => model_sha256)
  const faults = []
  for (const { sha256, id } of models) {
    const same = bySha.get(sha256) ?? []
    if (same.length > 1) faults.push(`the model ${sha256} is there ${same.length} times`)
    if (id === undefined) continue
    if (!same.some(({ model_id }) => model_id === id)) faults.push(`the acknowledged model ${id} is lost`)
    else if ((await patient(() => digestOf(hub, id))) !== sha256)
      faults.push(`the model ${id} has other bytes`)
  }
  return { facts: { modelsThere: infos.length }, faults }
}

async function digestOf({ url, headers }, id) {
  const response = await fetch(`${url}/api/v2/model_store/models/${id}/file`, { headers })
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (response.status === 503) throw Object.assign(new Error('the download was put off'), { status: 503 })
  return createHash('sha256').update(bytes).digest('hex')
}

/** Waits until a gateway has sent all rows, and compares its sums with those of the hub. */
export async function judgeFeed(gateway) {
  for (let tries = 0; ; tries++) {
    const [feed] = await gateway.rpc(SYNC, 'sync.list_feeds', {})
    if (feed !== undefined && feed.rows_behind === 0) break
    if (tries === TRIES * 4) return { faults: [`the feed does not come to its end: ${JSON.stringify(feed)}`] }
    await sleep(AGAIN_MS)
  }
  const [{ feed }] = await gateway.rpc(SYNC, 'sync.list_feeds', {})
  const answer = await patient(() => gateway.rpc(SYNC, 'sync.verify', { feed }))
  return { faults: answer.equal ? [] : [`sync.verify: ${JSON.stringify(answer.days.slice(0, 3))}`] }
}

/** Asks again what cannot be answered yet. @throws the last error */
async function patient(ask) {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries === TRIES) throw error
      await sleep(AGAIN_MS)
    }
  }
}
