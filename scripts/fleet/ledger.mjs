import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAPS, SYNC } from '../api-paths.mjs'
import { feedOf, madeBy, offer } from './gateway.mjs'
import { headersOf, nameOf, uuidOf } from './identity.mjs'
import { checkModels } from './models.mjs'
import { changedRows, digestOfDefinition, rowOf, sumOf } from './rows.mjs'

/** Gateways that are compared at a time. */
const AT_ONCE = 16
const PAGE_ROWS = 1000
/** Most tries of a question that the hub puts off or that breaks. */
const TRIES = 30
const AGAIN_MS = 2000

/**
 * Compares what the hub has with the ledger of a process: sums of the rows of each gateway, its models, and of some
 * gateways each row. Faults go to `world.fault`.
 *
 * @returns number of rows whose sums were compared, and that were read back
 */
export async function checkLedger(world, gateways) {
  const { flags } = world
  const key = flags['key-file'] === '' ? undefined : readKey(flags['key-file'])
  const checked = { rows: 0, readBack: 0 }
  const left = [...gateways]
  const check = async () => {
    for (let gateway = left.shift(); gateway !== undefined; gateway = left.shift()) {
      const isKnown = await checkSums(world, gateway, checked)
      if (isKnown) await patient(() => checkModels(world, gateway))
      if (isKnown && key !== undefined && gateway.index < flags['read-back'])
        await readBack(world, gateway, key, checked)
    }
  }
  // the first question may make the hub count all rows again, which it does once
  const [first] = flags.recount === 'yes' ? left : []
  if (first !== undefined) await patient(() => askSums(world, first, true))
  await Promise.all(Array.from({ length: AT_ONCE }, check))
  return checked
}

function readKey(file) {
  const { apiKey, apikey = apiKey, secret } = JSON.parse(readFileSync(file, 'utf8'))
  if (typeof apikey !== 'string' || typeof secret !== 'string')
    throw new Error(
      `${file}: found no apiKey and secret, expected the JSON of \`fieldgate key create --json\``,
    )
  return { apikey, secret }
}

/** @returns false when the hub does not have what it acknowledged, which is a fault */
async function checkSums(world, gateway, checked) {
  const name = nameOf(gateway.index)
  const made = madeBy(world, gateway)
  if (gateway.acked < made) {
    world.fault(`${name}: ${made - gateway.acked} changes were not taken until the end of --drain-s`)
    return false
  }
  if (gateway.acked === 0) return true
  const { cursor, sums } = await patient(() => askSums(world, gateway, false))
  const expected = sumOf(gateway, gateway.acked)
  const found = sums.find(({ day }) => day === expected.day) ?? { rows: 0, digest: '' }
  const others = sums.filter(({ day, rows }) => day !== expected.day && rows !== 0)
  checked.rows += expected.rows
  if (cursor !== gateway.acked) world.fault(`${name}: found the cursor ${cursor}, expected ${gateway.acked}`)
  if (found.rows !== expected.rows)
    world.fault(`${name}: found ${found.rows} rows at the hub, expected ${expected.rows}`)
  else if (found.digest !== expected.digest)
    world.fault(`${name}: found other rows at the hub than were sent: their sum is ${found.digest}`)
  if (others.length > 0) world.fault(`${name}: found rows of days on which nothing was written`)
  return true
}

async function askSums(world, gateway, recount) {
  const { flags, wire } = world
  const node = uuidOf(flags.seed, gateway.index, 'node')
  const params = { ...feedOf(flags, gateway), digest: digestOfDefinition, origins: [node], recount }
  try {
    return await wire.rpc(gateway, SYNC, 'sync.table_sums', params, headersOf(flags, gateway))
  } catch (error) {
    if (error.fault?.name !== 'UNKNOWN_FEED') throw error
    await offer(world, gateway)
    throw error
  }
}

/** Asks again what a hub could not answer yet. @throws the last error */
async function patient(ask) {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (error.fault === undefined || tries === TRIES) throw error
      await sleep((error.fault.waitS ?? 0) * 1000 || AGAIN_MS)
    }
  }
}

/** Reads the rows of a gateway by pages, and compares each. */
async function readBack(world, gateway, key, checked) {
  const { flags } = world
  const { index, acked } = gateway
  const wanted = new Map()
  for (const { change } of changedRows(gateway, { after: 0, last: acked, made: acked })) {
    const row = rowOf(gateway, change)
    wanted.set(row.k, [row.speed, row.startUs / 1000, ...row.point].join(' '))
  }
  for (let offset = 0; ; offset += PAGE_ROWS) {
    const { features } = await patient(() => readPage(world, gateway, { key, offset }))
    for (const { geometry, properties } of features) {
      const { k, speed, start_datetime: start } = properties
      const found = [speed, Date.parse(start?.val ?? start), ...(geometry?.coordinates ?? [])].join(' ')
      const expected = wanted.get(k)
      if (expected === undefined)
        world.fault(`${nameOf(index)}: found the row ${k} twice, or never acknowledged`)
      else if (found !== expected)
        world.fault(`${nameOf(index)}: found the row ${k} as ${found}, expected ${expected}`)
      wanted.delete(k)
      checked.readBack++
    }
    if (features.length < PAGE_ROWS) break
  }
  if (wanted.size > 0)
    world.fault(`${nameOf(index)}: ${wanted.size} acknowledged rows of ${flags.table} are gone`)
}

function readPage({ flags, wire }, gateway, { key, offset }) {
  const properties = {
    ...{
      table: flags.table,
      columns: ['k', 'speed', 'start_datetime'],
      order: 'k',
      limit: PAGE_ROWS,
      offset,
    },
    conds: { '=': ['_origin', uuidOf(flags.seed, gateway.index, 'node')] },
  }
  const params = [{ type: 'Feature', geometry: null, properties }]
  return wire.rpc(gateway, MAPS, 'mapserv.eventdata', params, key)
}
