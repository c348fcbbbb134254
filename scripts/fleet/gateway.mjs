import { FLEET, SYNC } from '../api-paths.mjs'
import { headersOf, joinRequest, nameOf, uuidOf } from './identity.mjs'
import { putModel } from './models.mjs'
import { cutUntilMs, isSettling } from './plan.mjs'
import { changedRows, definitionOf, digestOfDefinition, drawn, placeOf, rowOf, SLOTS } from './rows.mjs'
import { encodeBatch, PUTTING_OFF, retryMs, SENT_ROWS } from './sources.mjs'
import { noteMs, noteName } from './stats.mjs'
import { faultOf, readResult } from './wire.mjs'

/** Batches after which a gateway writes its cursor down. */
const SAVED_EVERY = 5
/** Longest wait before a retry while what is left is sent. */
const DRAIN_RETRY_MS = 2000
/** Tries of the last report. */
const LAST_TRIES = 5
/** Failures after which a gateway does not try to join again. */
const MAX_JOIN_FAILURES = 8

/**
 * A simulated gateway: some numbers.
 *
 * @param kept what a former run has written of it
 */
export function createGateway(flags, index, kept) {
  const { seed } = flags
  const hasBacklog = kept === undefined && index < flags['backlog-gateways']
  return {
    ...{ index, place: placeOf(seed, index), linkPlace: drawn(seed, index, 'link') },
    isSlow: drawn(seed, index, 'slow') < flags['slow-percent'] / 100,
    isTroubled: drawn(seed, index, 'trouble') < flags['trouble-percent'] / 100,
    ...{ apiKey: '', applied: null, models: 0 },
    /** time of its change 0, µs UTC; the same for ever, as its rows are */
    originUs: Math.floor(Date.now() / 1000) * 1_000_000,
    ...{ epoch: 1, isAgreed: false },
    /** change up to which the hub has its rows; the highest that it acknowledged in this epoch, and that was ever sent */
    ...{ acked: 0, promised: 0, sent: 0 },
    /** cursors on its disk: the last one written, and one before */
    ...{ saved: 0, older: 0, batches: 0 },
    /** changes of its table before this run */
    base: hasBacklog ? flags['backlog-rows'] : 0,
    ...kept,
    ...{ backlog: hasBacklog ? flags['backlog-rows'] : 0, failures: 0, reportAtMs: 0, modelAtMs: 0 },
    ...{ isBack: false, isOpening: false, wasCut: false, restart: undefined, pending: undefined },
  }
}

/** Parts of a gateway that a later run needs. */
export function keptOf(world, gateway) {
  const { index, apiKey, originUs, epoch, acked, promised, sent, models } = gateway
  const cursors = { acked, promised, sent, saved: acked, older: acked, base: madeBy(world, gateway) }
  return { index, apiKey, originUs, epoch, models, ...cursors }
}

/** Joins the hub; a repeat gets the same membership. @throws fault of a hub that refuses it */
export async function join(world, gateway, token) {
  const { flags, wire, stats } = world
  const { credentials, params } = await joinRequest(flags.seed, gateway.index, token)
  const ask = () => wire.rpc(gateway, FLEET, 'fleet.join', params, credentials)
  const { api_key, profile } = await repeated(world, gateway, ask)
  gateway.apiKey = api_key
  gateway.applied = profile.digest
  stats.counts.joined++
}

/** Asks until there is an answer that is none of a busy hub or a broken link. */
async function repeated(world, gateway, ask) {
  for (;;) {
    try {
      const answer = await ask()
      gateway.failures = 0
      return answer
    } catch (error) {
      const { status, name, waitS = 0 } = error.fault ?? { status: 400 }
      const mayPass = status === 0 || status === 429 || status >= 500
      if (!mayPass || gateway.failures === MAX_JOIN_FAILURES) throw error
      noteName(world.stats.refused, `${status} ${name}`)
      await world.rest(nextTryMs(world, gateway, waitS))
    }
  }
}

/** Sends, reports and fails as a gateway does, until the run is over and the hub has all of its rows. */
export async function live(world, gateway) {
  const { flags, outages, stats } = world
  gateway.reportAtMs = world.now() + flags['report-s'] * 1000 * world.random()
  gateway.modelAtMs = world.now() + world.modelEveryMs * 2 * world.random()
  await world.rest(flags['batch-wait-s'] * 1000 * world.random())
  while (!world.isOver() && !(world.isDraining() && gateway.acked >= madeBy(world, gateway))) {
    const cutMs = world.isDraining() ? 0 : cutUntilMs(outages, gateway.linkPlace, world.now())
    if (cutMs > 0) {
      await beAway(world, gateway, cutMs)
      continue
    }
    restart(world, gateway)
    if (gateway.isBack) {
      noteName(stats.reconnects, Math.floor(world.now() / 1000))
      stats.counts.sessions++
    }
    gateway.isOpening = gateway.isBack
    gateway.isBack = false
    try {
      const beganMs = world.now()
      await attend(world, gateway)
      gateway.failures = 0
      const everyMs = world.isDraining() ? 0 : flags['batch-wait-s'] * 1000 * (0.75 + 0.5 * world.random())
      await world.rest(Math.max(0, beganMs + everyMs - world.now()))
    } catch (error) {
      if (error.fault === undefined) throw error
      await endure(world, gateway, error)
    }
  }
  await takeLeave(world, gateway)
}

/** Sends the model that is due, and a last report: nothing waits any more. */
async function takeLeave(world, gateway) {
  await world.rest(world.flags['batch-wait-s'] * 1000 * world.random())
  for (let tries = 0; tries < LAST_TRIES && !world.isOver(); tries++) {
    try {
      if (world.now() >= gateway.modelAtMs) {
        await putModel(world, gateway)
        gateway.modelAtMs = Number.POSITIVE_INFINITY
      }
      return await report(world, gateway)
    } catch (error) {
      if (error.fault === undefined) throw error
      await endure(world, gateway, error)
    }
  }
}

/** Changes of a gateway's table until now. */
export function madeBy({ flags, endMs, now }, { base, linkPlace }) {
  const perMs = flags['events-per-second'] / flags.gateways / 1000
  return base + Math.max(0, Math.floor(Math.min(now(), endMs) * perMs + linkPlace))
}

/** Breaks the link of a gateway, with what is on its way. */
export function cutLink(gateway) {
  if (gateway.pending === undefined) return
  gateway.wasCut = true
  gateway.pending.destroy(new Error('the link was cut'))
}

/** Tries to connect while there is no link, as a gateway does, and returns with the first try after it. */
async function beAway(world, gateway, untilMs) {
  let atMs = world.now()
  while (atMs < untilMs) atMs += Math.max(1, nextTryMs(world, gateway))
  await world.rest(atMs - world.now())
  gateway.isAgreed = false
  gateway.isBack = true
}

/** @param waitS wait that the hub asked for, s */
function nextTryMs({ flags, random, isDraining }, gateway, waitS = 0) {
  gateway.failures++
  const capMs = isDraining() ? DRAIN_RETRY_MS : flags['retry-cap-s'] * 1000
  return retryMs(gateway.failures, { baseMs: flags['retry-base-s'] * 1000, capMs }, waitS, random)
}

/** Starts a gateway again that was stopped: with the cursor of its disk, an older one, none, or a restored disk. */
function restart({ stats }, gateway) {
  const { restart: kind } = gateway
  if (kind === undefined) return
  gateway.restart = undefined
  gateway.isBack = true
  stats.counts.restarts++
  if (kind === 'none') gateway.isAgreed = false
  if (kind === 'saved') gateway.acked = gateway.saved
  if (kind === 'older') gateway.acked = gateway.older
  if (kind !== 'restored') return
  stats.counts.restores++
  gateway.epoch++
  gateway.isAgreed = false
  Object.assign(gateway, { acked: 0, promised: 0, saved: 0, older: 0 })
}

/** Waits after a failure. One that this program has caused is no failure of the hub. */
async function endure(world, gateway, { fault }) {
  const { counts, refused } = world.stats
  if (gateway.wasCut) {
    counts.cuts++
    gateway.wasCut = false
    gateway.isAgreed = false
    return
  }
  noteName(refused, `${fault.status} ${fault.name}`)
  if (gateway.isOpening) counts.failedSessions++
  counts.retries++
  // as a gateway does: a hub that is only busy is not offered the table again
  if (!PUTTING_OFF.includes(fault.status)) gateway.isAgreed = false
  await world.rest(nextTryMs(world, gateway, fault.waitS))
}

/** Does what is due. @throws fault */
async function attend(world, gateway) {
  const { flags } = world
  // one without rows has no table to offer yet
  if (!gateway.isAgreed && gateway.acked + madeBy(world, gateway) > 0) await offer(world, gateway)
  // as a gateway does: rows that come while all others are on their way are collected for the next batch
  for (let isEnd = false; !world.isOver() && !isEnd && gateway.acked < madeBy(world, gateway); ) {
    isEnd = (await sendBatch(world, gateway)) && !world.isDraining()
    gateway.isOpening = false
    if (gateway.restart !== undefined) return
  }
  if (world.isDraining()) return
  if (world.now() >= gateway.reportAtMs) {
    await report(world, gateway)
    gateway.reportAtMs = world.now() + flags['report-s'] * 1000 * (0.75 + 0.5 * world.random())
  }
  if (world.now() < gateway.modelAtMs) return
  await putModel(world, gateway)
  gateway.modelAtMs = world.now() + world.modelEveryMs * 2 * world.random()
}

/** Offers the table, and goes on from the cursor of the hub. @throws fault */
export async function offer(world, gateway) {
  const { flags, wire } = world
  const params = { ...feedOf(flags, gateway), start: 0, definition: definitionOf(flags.table) }
  const { cursor } = await wire.rpc(gateway, SYNC, 'sync.offer_table', params, headersOf(flags, gateway))
  goOnFrom(world, gateway, cursor)
  gateway.isAgreed = true
}

/** Members with which the hub knows the feed of a gateway. */
export function feedOf({ seed }, { index, epoch }) {
  const [node, feed, table] = ['node', 'feed', 'table'].map((what) => uuidOf(seed, index, what))
  return { node, feed, table, epoch }
}

/** Takes the cursor of the hub. One that lacks acknowledged rows, or has rows that were never sent, is a fault. */
function goOnFrom(world, gateway, cursor) {
  const { promised, sent } = gateway
  if (cursor < promised)
    world.fault(
      `${nameOf(gateway.index)}: found the cursor ${cursor} at the hub, which acknowledged ${promised}`,
    )
  if (cursor > sent)
    throw new Error(
      `${nameOf(gateway.index)}: found the cursor ${cursor} at the hub, but only ${sent} changes were sent; ` +
        'give the --state of the run before, or another --seed',
    )
  gateway.acked = cursor
  noteBacklog(world, gateway)
}

/** Sends the next batch. @returns true when it held all rows that were there, and was taken */
async function sendBatch(world, gateway) {
  const { flags, wire, stats } = world
  const made = madeBy(world, gateway)
  const after = gateway.acked
  const last = Math.min(made, after + SENT_ROWS)
  const rows = [...changedRows(gateway, { after, last, made })]
  const header = { ...feedOf(flags, gateway), digest: digestOfDefinition, after, last }
  const body = await encodeBatch(header, SLOTS, rows)
  gateway.sent = Math.max(gateway.sent, last)
  const startMs = performance.now()
  const answer = await wire.exchange(gateway, {
    ...{ method: 'POST', path: `/api/v2/sync/tables/${header.table}/batches`, body },
    headers: {
      ...headersOf(flags, gateway),
      ...{ 'content-type': 'application/x-ndjson', 'content-encoding': 'zstd' },
      'content-length': body.byteLength,
    },
  })
  noteMs(stats[ackOf(world, gateway)], performance.now() - startMs)
  const taken = readTaken(world, gateway, answer)
  if (taken === undefined) return false
  if (taken.cursor !== last)
    world.fault(`${nameOf(gateway.index)}: found the cursor ${taken.cursor} in an answer, expected ${last}`)
  acknowledge(world, gateway, last)
  stats.counts.rows += rows.length
  stats.counts.bytes += body.byteLength
  stats.counts.batches++
  return last === made
}

/** Name of the histogram of an acknowledgement. */
function ackOf(world, { isSlow }) {
  if (world.isDraining()) return 'drainAck'
  if (isSlow) return 'slowAck'
  return isSettling(world.outages, world.now()) ? 'outageAck' : 'ack'
}

/** Reads the answer to a batch. @returns undefined when the feed goes on elsewhere. @throws fault */
function readTaken(world, gateway, answer) {
  try {
    return readResult(answer)
  } catch (error) {
    const { name, data } = error.fault
    if (name === 'CURSOR_MISMATCH' && Number.isSafeInteger(data.cursor)) {
      world.stats.counts.elsewhere++
      goOnFrom(world, gateway, data.cursor)
      return undefined
    }
    if (name !== 'UNKNOWN_FEED') throw error
    throw faultOf('UNKNOWN_FEED', 0)
  }
}

/** Notes in the ledger that the hub has all rows up to a change. */
function acknowledge(world, gateway, last) {
  gateway.acked = last
  gateway.promised = Math.max(gateway.promised, last)
  if (++gateway.batches % SAVED_EVERY === 0) {
    gateway.older = gateway.saved
    gateway.saved = last
  }
  noteBacklog(world, gateway)
}

/** Counts the backlog of a gateway, when the hub has all of it. */
function noteBacklog({ stats, now }, gateway) {
  if (gateway.backlog === 0 || gateway.acked < gateway.base) return
  stats.counts.backlogRows += gateway.backlog
  stats.backlogMs = Math.max(stats.backlogMs, now())
  gateway.backlog = 0
}

async function report(world, gateway) {
  const { flags, wire, stats } = world
  const { acked, applied, isTroubled } = gateway
  const waiting = madeBy(world, gateway) - acked
  const params = {
    report: {
      ...{
        version: '0.2.0-sim',
        uptime_s: Math.max(0, Math.floor(world.now() / 1000)),
        disk_free_bytes: 8e9,
      },
      ...{ clock_us: Date.now() * 1000, clock_trusted: true, ready: !isTroubled },
      parts: isTroubled ? ['mqtt: the broker is not reached'] : [],
      backlog: { rows: waiting, models: 0, bytes: waiting * 20, oldest_s: waiting > 0 ? 1 : null },
      doctor: isTroubled ? 'disk: 1.1 GB are free, expected 2 GB' : null,
      position: rowOf(gateway, acked).point,
    },
    profile: {
      applied,
      tried: applied,
      outcome: applied === null ? null : 'applied',
      reason: null,
      items: [],
    },
  }
  const { profile } = await wire.rpc(gateway, FLEET, 'fleet.report', params, headersOf(flags, gateway))
  gateway.applied = profile.digest
  stats.counts.reports++
}
