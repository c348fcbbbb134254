import t from 'tap'
import { CRS_URIS, findCrs } from '../../src/ogc/crs.js'
import { featurePieces, featureText } from '../../src/ogc/feature-text.js'
import type { FeatureColumn } from '../../src/storage/features.js'

const column = (name: string, udtName: FeatureColumn['udtName']): FeatureColumn => ({
  ...{ name, udtName, isNullable: true, isQueryable: true },
})

t.test('featurePieces: the text is that of featureText, whatever the row', async (t) => {
  const columns = [
    column('whole', 'int4'),
    column('part', 'float8'),
    column('exact', 'numeric'),
    column('long "name"', 'text'),
    column('ends', 'timestamptz'),
    column('doc', 'jsonb' as FeatureColumn['udtName']),
    column('absent', 'text'),
  ]
  const values = { whole: 12, part: 12, exact: '12', 'long "name"': '"€'.repeat(100_000), ends: 'infinity' }
  const line = {
    type: 'LineString' as const,
    coordinates: Array.from({ length: 5000 }, (_, i) => [i / 1e3, 1]),
  }
  const rows = [
    { rowId: 1, geometry: line, properties: { ...values, doc: { a: [1, { b: 'c' }] } } },
    { rowId: 2, geometry: null, properties: {} },
  ] as Parameters<typeof featureText>[0][]
  for (const uri of CRS_URIS) {
    const crs = findCrs(uri)
    if (crs === undefined) throw new Error(uri)
    for (const row of rows)
      for (const shown of [columns, []])
        t.equal([...featurePieces(row, shown, crs)].join(''), featureText(row, shown, crs), uri)
  }
})
