import t from 'tap'
import { decodeWkb } from '../../../../src/geo/wkb.js'
import { readCells } from '../../../../src/storage/sqlite/tables/cells.js'
import { openTables } from '../../../support/tables.js'

t.test('readCells: every geometry whole, small and large, over several pages', async (t) => {
  const tables = openTables()
  const table = tables.register(
    'risk',
    [
      { name: 'k', udtName: 'int4' },
      { name: 'risk', udtName: 'int8' },
    ],
    ['k'],
  )
  // one in a hundred has more corners than are read together with others
  const ringOf = (k: number) => {
    const corners = k % 100 === 7 ? 200 : 4
    const around = Array.from({ length: corners }, (_, corner) => {
      const angle = (corner * 2 * Math.PI) / corners
      return [k / 100 + Math.cos(angle), (k % 60) + Math.sin(angle)]
    })
    return [...around, around[0]]
  }
  const count = 9000
  await tables.put(
    table,
    Array.from({ length: count }, (_, k) => ({
      type: 'Feature',
      geometry: { type: 'Polygon', coordinates: [ringOf(k)] },
      properties: { k, risk: k === 3 ? -9_007_199_254_740_991 : k, start_datetime: null, end_datetime: null },
    })),
  )
  const seen = new Set<number>()
  readCells(tables.data.reader, table, 'risk', 0n, (wkb, level) => {
    const k = level < 0 ? 3 : level
    if (level < 0) t.equal(level, -9_007_199_254_740_991)
    const geometry = decodeWkb(wkb)
    if (k % 50 === 7 || k === 3) t.same(geometry, { type: 'Polygon', coordinates: [ringOf(k)] })
    seen.add(k)
  })
  t.equal(seen.size, count)
})
