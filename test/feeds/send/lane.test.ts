import t from 'tap'
import { AppError } from '../../../src/errors.js'
import { noteFault, noteTurn } from '../../../src/feeds/send/lane.js'
import type { FeedState, Lane, SenderDeps } from '../../../src/feeds/send/sender-deps.js'
import type { FeedProgress } from '../../../src/storage/exchange/feeds.js'

t.test('lane: what was sent before the feed counted as behind is noted, once', async (t) => {
  const noted: FeedProgress[] = []
  const deps = {
    nowMs: () => 0,
    feeds: { noteProgress: async (_id: string, progress: FeedProgress) => void noted.push(progress) },
  } as unknown as SenderDeps // the parts that a note uses
  const session = { tableUuid: 'u', cursor: 1, scanned: 1 }
  const state = {
    ...{ session, notedScanned: 0, notedAtMs: 0, behindSinceUs: null, lastError: null, stopped: null },
    ...{ rowsSent: 1, bytesSent: 100, rate: { bytes: 0, ms: 0 }, upstreamLast: 0, failures: 1 },
    record: { feedId: 'f', direction: 'up', progress: { bytesPerSecond: 0 } },
  } as unknown as FeedState // the parts that a note reads
  await noteTurn(deps, state, true)
  t.match(noted, [{ cursor: 1, scanned: 1, rowsSent: 1 }])
  await noteTurn(deps, state, true)
  t.equal(noted.length, 1, 'an idle feed writes nothing')
  session.scanned = 2
  await noteTurn(deps, state, false)
  t.equal(noted.length, 1, 'while rows are left, notes are ten seconds apart')
  await noteTurn(deps, state, true)
  t.equal(noted.length, 2)
})

t.test('lane: a receiver that is busy is asked again on the same link, without another offer', async (t) => {
  const deps = {
    ...{ nowMs: () => 1000, nowUs: () => 0, random: () => 0.5, waits: { baseMs: 10, capMs: 20 } },
    feeds: { noteProgress: async () => undefined },
    log: { info: () => undefined, warn: () => undefined },
  } as unknown as SenderDeps // the parts that a fault uses
  const refusal = (status: number) => new AppError('UPSTREAM_REFUSED', { status, retryAfterS: 8 })
  const after = async (error: AppError, direction = 'up') => {
    let closed = 0
    const session = { tableUuid: 'u', cursor: 1, scanned: 1 }
    const state = {
      ...{ session, failures: 0, detours: 1, lastError: null, stopped: null, behindSinceUs: null },
      ...{ rowsSent: 1, bytesSent: 100, rate: { bytes: 0, ms: 0 }, upstreamLast: 0, waitUntilMs: 0 },
      record: { feedId: 'f', direction, progress: { bytesPerSecond: 0 } },
    } as unknown as FeedState // the parts that a fault reads
    const link = { close: async () => void closed++ } as unknown as NonNullable<Lane['link']>
    const lane = { upstream: 'up', link, failures: 0, waitUntilMs: 0 } as unknown as Lane
    await noteFault(deps, lane, state, error)
    const isKept = state.session !== undefined && lane.link === link && closed === 0
    return { isKept, waitMs: lane.waitUntilMs - 1000 }
  }
  t.same(await after(refusal(503)), { isKept: true, waitMs: 10_000 })
  t.same(await after(refusal(429)), { isKept: true, waitMs: 10_000 })
  t.match(await after(refusal(401)), { isKept: false }, 'the credentials are read again')
  t.match(await after(refusal(503), 'down'), { isKept: false })
  t.match(await after(new AppError('UPSTREAM_UNREACHABLE')), { isKept: false })
})
