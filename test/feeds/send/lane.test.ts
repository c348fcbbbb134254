import t from 'tap'
import { noteTurn } from '../../../src/feeds/send/lane.js'
import type { FeedState, SenderDeps } from '../../../src/feeds/send/sender-deps.js'
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
