import { PbfWriter } from 'pbf'
import t from 'tap'
import { writeBlob, writeExtract } from '../../../src/demo/write-extract.js'
import { graphOf, graphOfOsm, linksOf, sketch } from '../../support/osm-fixture.js'

const street = { highway: 'residential' }

t.test('readRoads: objects in any order, plain nodes, raw blobs, other units', async (t) => {
  const data = sketch(
    ['A B C', '  D  '],
    [
      ['ABC', street],
      ['BD', street],
    ],
    {
      restrictions: [{ kind: 'no_left_turn', from: 0, via: 'B', to: 1 }],
      nodeTags: { D: { barrier: 'gate' } },
    },
  )
  const expected = linksOf(await graphOfOsm(data))
  for (const options of [
    { waysFirst: true },
    { plainNodes: true },
    { raw: true },
    { granularity: 1000 },
    { lngOffset: 10_000_000_000, latOffset: 45_000_000_000, granularity: 10 },
  ]) {
    t.same(linksOf(await graphOfOsm(data, {}, options)), expected, JSON.stringify(options))
  }
})

t.test('readRoads: the newest change of an object when the header has no time', async (t) => {
  const block = new PbfWriter()
  block.writeMessage(1, writeStrings, undefined)
  block.writeMessage(
    2,
    (_, group) => {
      group.writeMessage(
        3,
        (_way, way) => {
          way.writeVarintField(1, 7)
          way.writePackedVarint(2, [1])
          way.writePackedVarint(3, [2])
          way.writeMessage(4, (_info, info) => info.writeVarintField(2, 1_500_000_000), undefined)
          way.writePackedSVarint(8, [1, 1])
        },
        undefined,
      )
      group.writeMessage(
        2,
        (_nodes, dense) => {
          dense.writePackedSVarint(1, [1, 1])
          dense.writeMessage(
            5,
            (_info, info) => info.writePackedSVarint(2, [1_400_000_000, 200_000_000]),
            undefined,
          )
          dense.writePackedSVarint(8, [450_000_000, 10_000])
          dense.writePackedSVarint(9, [100_000_000, 10_000])
        },
        undefined,
      )
    },
    undefined,
  )
  // a later block with an older node does not count
  const older = new PbfWriter()
  older.writeMessage(1, writeStrings, undefined)
  older.writeMessage(
    2,
    (_, group) =>
      group.writeMessage(
        2,
        (_nodes, dense) => {
          dense.writePackedSVarint(1, [3])
          dense.writeMessage(5, (_info, info) => info.writePackedSVarint(2, [1_300_000_000]), undefined)
          dense.writePackedSVarint(8, [450_000_000])
          dense.writePackedSVarint(9, [100_000_000])
        },
        undefined,
      ),
    undefined,
  )
  const bytes = Buffer.concat([
    writeExtract({ nodes: [], ways: [] }),
    writeBlob('OSMData', block.finish()),
    writeBlob('OSMData', older.finish()),
  ])
  const graph = await graphOf(bytes)
  t.equal(graph.meta.builtFrom.osmTimestamp, '2020-09-13T12:26:40Z')
})

function writeStrings(_: unknown, table: PbfWriter): void {
  for (const text of ['', 'highway', 'primary']) table.writeStringField(1, text)
}
