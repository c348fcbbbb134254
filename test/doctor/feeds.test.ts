import t from 'tap'
import { checkFeeds } from '../../src/doctor/feeds.js'
import type { StoredFeed } from '../../src/storage/maintenance.js'

const NOW_US = 1_795_000_000_000_000
const FEED: StoredFeed = {
  ...{ name: 'seen', upstream: 'base', isEnabled: true, stopped: null, lastError: null },
  ...{ behindSinceUs: null, setAside: 0 },
}

const check = (...feeds: StoredFeed[]) =>
  checkFeeds({
    ...{ layout: { root: '/data' }, nowUs: NOW_US },
    maintenance: { facts: { feeds: async () => feeds } },
  } as unknown as Parameters<typeof checkFeeds>[0]) // the parts of the context that the check reads

t.test('doctor: feeds that have stopped, that refuse rows, and that wait are told', async (t) => {
  t.match(await check(), [{ state: 'ok', message: 'no table has a feed' }])
  t.match(await check(FEED, FEED), [{ state: 'ok', message: '2 feeds go on' }])
  t.match(await check({ ...FEED, stopped: 'TABLE_DIFFERS: k' }), [
    { state: 'error', message: 'the feed of seen with base has stopped: TABLE_DIFFERS: k' },
  ])
  t.match(await check({ ...FEED, setAside: 3 }), [
    { state: 'warning', message: /3 rows of the feed of seen/ },
  ])
  const behindSinceUs = NOW_US - 25 * 3_600_000_000
  const late = { ...FEED, behindSinceUs, lastError: 'no route' }
  t.match(await check(late), [
    { state: 'warning', message: /have waited since 2026.*; last error: no route/ },
  ])
  t.match(await check({ ...late, isEnabled: false }), [{ state: 'ok' }])
  t.match(await check({ ...late, behindSinceUs: NOW_US - 1 }), [{ state: 'ok' }])
})
