import fc from 'fast-check'
import { PbfWriter } from 'pbf'
import t, { type Test } from 'tap'
import { type OsmData, type WriteOptions, writeBlob, writeExtract } from '../../../src/demo/write-extract.js'
import { openExtract, unpackBlob } from '../../../src/mapbuild/extract/blobs.js'
import { createBlockReader, HOLDS } from '../../../src/mapbuild/extract/block.js'
import type { BlockVisitor } from '../../../src/mapbuild/extract/osm-objects.js'
import { graphOf, sketch, withFile } from '../../support/osm-fixture.js'
import { rejectsWith } from '../../support/rejects-with.js'

const street = { highway: 'residential' }

const SMALL = sketch(['A B'], [['AB', street]])

const tags = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), fc.string({ maxLength: 8 }), {
  maxKeys: 3,
})

const ids = fc.integer({ min: -(2 ** 40), max: 2 ** 40 })

const extracts: fc.Arbitrary<OsmData> = fc.record({
  nodes: fc.uniqueArray(
    fc.record({
      id: ids,
      lng: fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }).map((e7) => e7 / 1e7),
      lat: fc.integer({ min: -900_000_000, max: 900_000_000 }).map((e7) => e7 / 1e7),
      tags,
    }),
    { selector: ({ id }) => id, maxLength: 12 },
  ),
  ways: fc.array(fc.record({ id: ids, refs: fc.array(ids, { maxLength: 6 }), tags }), { maxLength: 5 }),
  relations: fc.array(
    fc.record({
      id: ids,
      tags,
      members: fc.array(
        fc.record({
          type: fc.constantFrom('node' as const, 'way' as const, 'relation' as const),
          id: ids,
          role: fc.string({ maxLength: 5 }),
        }),
        { maxLength: 4 },
      ),
    }),
    { maxLength: 3 },
  ),
})

const writeOptions: fc.Arbitrary<WriteOptions> = fc.record({
  plainNodes: fc.boolean(),
  raw: fc.boolean(),
  waysFirst: fc.boolean(),
  granularity: fc.constantFrom(100, 1, 50),
  lngOffset: fc.constantFrom(0, 10_000_000_000, -700),
  latOffset: fc.constantFrom(0, -5_000_000_000, 300),
})

/** Everything in an extract, as plain objects, by the reader. */
async function readAll(bytes: Uint8Array): Promise<OsmData> {
  return await withFile(bytes, async (file) => {
    const all: {
      nodes: OsmData['nodes'][number][]
      ways: OsmData['ways'][number][]
      relations: NonNullable<OsmData['relations']>[number][]
    } = { nodes: [], ways: [], relations: [] }
    const visitor: BlockVisitor = {
      nodeKeys: [],
      wayKeys: [],
      node: (id, lngE7, latE7) => all.nodes.push({ id, lng: lngE7 / 1e7, lat: latE7 / 1e7 }),
      way: (id, found, refs, count) =>
        all.ways.push({ id, refs: [...refs.subarray(0, count)], tags: Object.fromEntries(found) }),
      relation: (id, found, members) => all.relations.push({ id, members, tags: Object.fromEntries(found) }),
    }
    const readBlock = createBlockReader(visitor)
    const extract = openExtract(file)
    for (const blob of extract.blobsFrom(0))
      if (blob.type === 'OSMData') readBlock(unpackBlob(blob), blob.offset)
    extract.close()
    return all
  })
}

t.test('property: what is written is read, in every form of the format', async (t) => {
  await fc.assert(
    fc.asyncProperty(extracts, writeOptions, async (data, options) => {
      const read = await readAll(writeExtract(data, options))
      const untagged = data.nodes.map(({ id, lng, lat }) => ({ id, lng, lat }))
      t.same(read.nodes, untagged)
      t.same(read.ways, data.ways)
      t.same(read.relations, data.relations)
    }),
    { numRuns: 60 },
  )
})

t.test('createBlockReader: tags of nodes and ways only where a key is wanted', async (t) => {
  const data: OsmData = {
    nodes: [
      { id: 1, lng: 1, lat: 1, tags: { barrier: 'gate', name: 'x' } },
      { id: 2, lng: 1, lat: 1, tags: { name: 'barrier' } },
      { id: 3, lng: 1, lat: 1 },
    ],
    ways: [
      { id: 1, refs: [1, 2], tags: { highway: 'path' } },
      { id: 2, refs: [1, 2], tags: { building: 'highway' } },
    ],
  }
  for (const plainNodes of [false, true]) {
    const bytes = writeExtract(data, { plainNodes, raw: true })
    await withFile(bytes, async (file) => {
      const found: unknown[] = []
      const readBlock = createBlockReader({
        nodeKeys: ['barrier'],
        wayKeys: ['highway'],
        node: (id, _lng, _lat, tags) => found.push([id, tags?.get('barrier')]),
        way: (id) => found.push(id),
      })
      const holds: number[] = []
      const extract = openExtract(file)
      for (const blob of extract.blobsFrom(0)) {
        if (blob.type === 'OSMData')
          holds.push(readBlock(blob.bytes.subarray(rawStart(blob.bytes)), blob.offset))
      }
      extract.close()
      t.same(found, [[1, 'gate'], [2, undefined], [3, undefined], 1])
      t.same(holds, [HOLDS.nodes, HOLDS.ways])
    })
  }
})

/** Where the raw data of a blob begins: after its tag and length. */
function rawStart(bytes: Uint8Array): number {
  let at = 1
  while ((bytes[at++] ?? 0) > 0x7f);
  return at
}

function writeStrings(_: unknown, table: PbfWriter): void {
  for (const text of ['', 'highway', 'primary']) table.writeStringField(1, text)
}

/** What an extract with these bytes is refused with. */
async function refused(t: Test, bytes: Uint8Array, message: RegExp, offset?: number): Promise<void> {
  await rejectsWith(t, graphOf(bytes), 'BAD_EXTRACT', {
    message,
    ...(offset === undefined ? {} : { data: { offset } }),
  })
}

t.test('BAD_EXTRACT: blocks whose parts contradict each other', async (t) => {
  const header = writeExtract({ nodes: [], ways: [] })
  const block = (write: (pbf: PbfWriter) => void) => {
    const pbf = new PbfWriter()
    write(pbf)
    return Buffer.concat([header, writeBlob('OSMData', pbf.finish())])
  }
  const group = (field: number, write: (pbf: PbfWriter) => void) =>
    block((pbf) => {
      pbf.writeMessage(1, writeStrings, undefined)
      pbf.writeMessage(
        2,
        (_, groupPbf) => groupPbf.writeMessage(field, (_, inner) => write(inner), undefined),
        undefined,
      )
    })
  const at = header.length
  await refused(
    t,
    block((pbf) => pbf.writeVarintField(2, 5)),
    /found wire type 0, expected a message/,
    at,
  )
  await refused(
    t,
    block((pbf) => pbf.writeBytesField(1, Uint8Array.of(0x0a, 9))),
    /string ends behind its table/,
    at,
  )
  const way = (keys: number[], values: number[]) =>
    group(3, (pbf) => {
      pbf.writeVarintField(1, 5)
      pbf.writePackedVarint(2, keys)
      pbf.writePackedVarint(3, values)
      pbf.writePackedSVarint(8, [1, 1])
    })
  await refused(t, way([1], []), /found 1 keys with 0 values/, at)
  await refused(t, way([1], [77]), /string 77 is used, the table has 3/, at)
  const used = writeExtract({ nodes: [], ways: SMALL.ways })
  const dense = (write: (pbf: PbfWriter) => void) => {
    const pbf = new PbfWriter()
    pbf.writeMessage(
      2,
      (_, groupPbf) => groupPbf.writeMessage(2, (_, inner) => write(inner), undefined),
      undefined,
    )
    return Buffer.concat([used, writeBlob('OSMData', pbf.finish())])
  }
  await refused(
    t,
    dense((pbf) => pbf.writePackedSVarint(1, [65, 1])),
    /2 node ids with 0 latitudes/,
    used.length,
  )
  const place = (lat: number, lng: number) =>
    dense((pbf) => {
      pbf.writePackedSVarint(1, [65])
      pbf.writePackedSVarint(8, [lat])
      pbf.writePackedSVarint(9, [lng])
    })
  await refused(t, place(900_000_001, 0), /node 65 lies at 0, 90\.0000001 .* outside the earth/, used.length)
  await refused(t, place(0, -1_800_000_001), /outside the earth/, used.length)
  const odd = dense((pbf) => {
    pbf.writePackedSVarint(1, [65])
    pbf.writePackedSVarint(8, [1])
    pbf.writePackedSVarint(9, [1])
    pbf.writePackedVarint(10, [1])
  })
  await refused(t, odd, /a key without a value/, used.length)
  const relation = group(4, (pbf) => {
    pbf.writeVarintField(1, 5)
    pbf.writePackedVarint(8, [0])
    pbf.writePackedSVarint(9, [1, 1])
    pbf.writePackedVarint(10, [0, 0])
  })
  await refused(t, relation, /relation 5 has 2 members with 1 roles/, at)
})
