import t from 'tap'
import { CRS84, findCrs } from '../../src/ogc/crs.js'
import { featureText } from '../../src/ogc/feature-text.js'

t.test('featureText: an infinite time is null; the same word in a text is the word', async (t) => {
  const crs = findCrs(CRS84)
  if (crs === undefined) throw new Error('no CRS84')
  const names = ['timestamptz', 'timestamp', 'date', 'text']
  const columns = names.map((udtName) => ({ name: udtName, udtName, isNullable: true, isQueryable: true }))
  for (const value of ['infinity', '-infinity']) {
    const properties = Object.fromEntries(names.map((name) => [name, value]))
    const { properties: shown } = JSON.parse(
      featureText({ rowId: 1, geometry: null, properties }, columns, crs),
    )
    t.same(shown, { timestamptz: null, timestamp: null, date: null, text: value })
  }
})
