import t from 'tap'
import { type SentDeps, sentRowsOf } from '../../src/retention/sent-rows.js'
import type { LoaderTable } from '../../src/storage/tables.js'

const TABLE = { tableId: 1, dataName: 'x' } as LoaderTable
const UUID = 'table'
const EPOCH = 3

interface World {
  feeds?: object[]
  asked?: object[]
  aside?: Record<string, number[]>
  again?: string[]
}

function sentOf({ feeds = [], asked = [], aside = {}, again = [] }: World) {
  const deps = {
    feeds: { list: async () => feeds, changesSetAside: async (id: string) => aside[id] ?? [] },
    asked: { ofTable: async () => asked },
    resends: { find: async (id: string) => (again.includes(id) ? {} : undefined) },
    identity: { tableUuid: async () => UUID, epoch: async () => EPOCH },
  } as unknown as SentDeps
  return sentRowsOf(deps, TABLE)
}

const feed = (feedId: string, scanned: number, more: object = {}) => ({
  ...{ feedId, dataName: 'x', direction: 'up', upstream: `to ${feedId}` },
  start: { tableUuid: UUID, afterChange: 2 },
  progress: { tableUuid: UUID, epoch: EPOCH, cursor: scanned - 1, scanned },
  ...more,
})

t.test('sent rows: without a feed every row may go', async (t) => {
  t.same(await sentOf({}), { until: Infinity, except: new Set(), slowest: null })
  const others = [
    feed('a', 5, { dataName: 'y' }),
    feed('b', 5, { direction: 'down' }),
    feed('c', 5, { start: { tableUuid: UUID, afterChange: 0, citation: 'c_1' } }),
  ]
  t.match(await sentOf({ feeds: others }), { until: Infinity, slowest: null })
})

t.test('sent rows: the slowest feed counts, and rows that a receiver refused stay', async (t) => {
  const found = await sentOf({ feeds: [feed('a', 50), feed('b', 40)], aside: { a: [7], b: [9] } })
  t.same(found, { until: 40, except: new Set([7, 9]), slowest: { feed: 'b', to: 'to b' } })
})

t.test('sent rows: what is noted of another table or epoch is no progress', async (t) => {
  const progress = { tableUuid: UUID, epoch: EPOCH, cursor: 50, scanned: 50 }
  const of = async (more: object) => (await sentOf({ feeds: [feed('a', 50, more)] })).until
  t.equal(await of({ progress: { ...progress, epoch: EPOCH - 1 } }), 2)
  t.equal(await of({ progress: { ...progress, tableUuid: 'dropped' } }), 2)
  t.equal(await of({ progress, start: { tableUuid: 'dropped', afterChange: 2 } }), 50)
  t.equal(
    await of({ progress: { ...progress, epoch: 1 }, start: { tableUuid: 'dropped', afterChange: 2 } }),
    0,
  )
})

t.test('sent rows: rows stay while some go once more', async (t) => {
  t.equal((await sentOf({ feeds: [feed('a', 50)], again: ['a'] })).until, 0)
})

t.test('sent rows: what other nodes ask for counts as they have told', async (t) => {
  const asked = (told: object | null) => ({
    feed: { feedId: 'd', node: 'van', start: { tableUuid: UUID, afterChange: 4 } },
    told,
  })
  const of = async (told: object | null) => await sentOf({ feeds: [feed('a', 50)], asked: [asked(told)] })
  t.match(await of({ table: UUID, epoch: EPOCH, cursor: 30 }), { until: 30, slowest: { to: 'van' } })
  t.match(await of({ table: UUID, epoch: EPOCH, cursor: 60 }), { until: 50, slowest: { feed: 'a' } })
  t.match(await of({ table: UUID, epoch: 1, cursor: 60 }), { until: 4 })
  t.match(await of(null), { until: 4 })
})
