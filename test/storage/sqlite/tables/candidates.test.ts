import t from 'tap'
import { prepareArea } from '../../../../src/geo/prepared-area.js'
import {
  findCandidates,
  findCandidatesNow,
  findCandidatesOrNowhere,
} from '../../../../src/storage/sqlite/tables/candidates.js'
import { MAX_SEGMENT_ROWS, mergeSegments } from '../../../../src/storage/sqlite/tables/segment-index.js'
import { feature, openTables } from '../../../support/tables.js'

/** Rows 1 to `count`, a degree of longitude apart in turn, put in calls of `perCall`. */
async function filled(t: { teardown(work: () => unknown): unknown }, count: number, perCall: number) {
  const tables = openTables()
  t.teardown(() => tables.data.close())
  const table = tables.register('events', [{ name: 'k', udtName: 'int4' }], ['k'])
  for (let from = 0; from < count; from += perCall)
    await tables.put(
      table,
      Array.from({ length: Math.min(perCall, count - from) }, (_, at) =>
        feature([(from + at) % 180, 0], { k: from + at + 1 }),
      ),
      'error',
      { maxMergeRows: 0 },
    )
  return { tables, table, db: tables.data.writer }
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1)

t.test('candidates: a merge between two steps of a search loses no row and repeats none', async (t) => {
  const { tables, table, db } = await filled(t, 9900, 1100)
  // of another size, so that they stay when the others are merged
  for (const k of [9901, 9902, 9903])
    await tables.put(table, [feature([k - 9900, 0], { k })], 'error', { maxMergeRows: 0 })
  const steps = findCandidates(db, table, undefined, undefined)
  t.notOk(steps.next().done, 'the search pauses')
  t.ok(mergeSegments(db, table, MAX_SEGMENT_ROWS), 'runs that the search has not read become part of others')
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  t.same(Array.from(step.value), upTo(9903))
})

t.test('candidates: many ids come ascending and once each, also of rows with two entries', async (t) => {
  const { tables, table, db } = await filled(t, 33_000, 33_000)
  const moved = [1, 500, 32_999].map((k) => feature([-90, 45], { k }))
  await tables.put(table, moved, 'override', { maxMergeRows: 0 })
  t.same(Array.from(findCandidatesNow(db, table, undefined, undefined)), upTo(33_000))
  t.same(Array.from(findCandidatesNow(db, table, [-91, 44, -89, 46], undefined)), [1, 500, 32_999])
})

t.test('candidates: rows without a place are added to those of a box, each row once', async (t) => {
  const { tables, table, db } = await filled(t, 3, 3)
  const orNowhere = (box?: [number, number, number, number]) => {
    const steps = findCandidatesOrNowhere(db, table, box, undefined)
    for (;;) {
      const step = steps.next()
      if (step.done === true) return Array.from(step.value)
    }
  }
  t.same(orNowhere([0, 0, 1, 0]), [1, 2], 'every row has a place')
  await tables.put(table, [feature(null, { k: 1 }), feature(null, { k: 4 })], 'override', { maxMergeRows: 0 })
  const last = orNowhere([0, 0, 1, 0])
  t.same(last.slice(0, 2), [1, 2], 'a row that lost its place has entries of both kinds')
  t.equal(last.length, 3)
  t.same(orNowhere(), [1, 2, 3, last[2]])
})

t.test(
  'candidates: an area leaves out the rows of its box that lie outside of it, moved ones too',
  async (t) => {
    const { tables, table, db } = await filled(t, 180, 180)
    const triangle = prepareArea({
      type: 'Polygon',
      coordinates: [
        [
          [0, -1],
          [100, 1],
          [0, 1],
          [0, -1],
        ],
      ],
    })
    const inTriangle = () => {
      const steps = findCandidates(db, table, triangle.bbox, undefined, triangle)
      for (;;) {
        const step = steps.next()
        if (step.done === true) return Array.from(step.value)
      }
    }
    t.equal(findCandidatesNow(db, table, triangle.bbox, undefined).length, 101, 'rows of the box')
    t.same(inTriangle(), upTo(51))
    const moved = [feature([99, 0], { k: 7 }), feature([7, 0], { k: 120 })]
    await tables.put(table, moved, 'override', { maxMergeRows: 0 })
    t.same(inTriangle(), [...upTo(51), 120], 'a row that has moved away keeps its former entry')
  },
)
