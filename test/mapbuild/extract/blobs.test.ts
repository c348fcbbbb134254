import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { deflateSync } from 'node:zlib'
import { PbfWriter } from 'pbf'
import t, { type Test } from 'tap'
import { createRandom } from '../../../src/demo/town-builder.js'
import { writeBlob, writeExtract } from '../../../src/demo/write-extract.js'
import { buildMap } from '../../../src/mapbuild/build-map.js'
import { openExtract } from '../../../src/mapbuild/extract/blobs.js'
import { findProfile } from '../../../src/mapbuild/profile/profiles.js'
import { createTally } from '../../../src/mapbuild/roads/left-out.js'
import { readRoads } from '../../../src/mapbuild/roads/read-roads.js'
import { BUILD, EXTRACTS, graphOf, missingExtracts, sketch, withFile } from '../../support/osm-fixture.js'
import { rejectsWith } from '../../support/rejects-with.js'

const street = { highway: 'residential' }

const SMALL = sketch(['A B'], [['AB', street]])

/** What an extract with these bytes is refused with. */
async function refused(t: Test, bytes: Uint8Array, message: RegExp, offset?: number): Promise<void> {
  await rejectsWith(t, graphOf(bytes), 'BAD_EXTRACT', {
    message,
    ...(offset === undefined ? {} : { data: { offset } }),
  })
}

t.test('BAD_EXTRACT: files that are no extract, or an unsupported one', async (t) => {
  const good = writeExtract(SMALL)
  await refused(t, new Uint8Array(0), /byte 0 .*the file is empty/, 0)
  await refused(t, Buffer.from('<?xml version="1.0"?><osm/>'), /no \.osm\.pbf file.*XML/, 0)
  await refused(t, Buffer.from('PK\u0003\u0004 something'), /no \.osm\.pbf file/, 0)
  await refused(t, Buffer.from([0, 0, 0, 0, 1, 2]), /no \.osm\.pbf file/, 0)
  await refused(t, writeBlob('OSMData', new Uint8Array(0)), /does not begin with an OSMHeader/, 0)
  const needs = (feature: string) => writeExtract(SMALL, { requiredFeatures: ['OsmSchema-V0.6', feature] })
  await refused(t, needs('HistoricalInformation'), /history file/, 0)
  await refused(
    t,
    needs('Teleporters'),
    /needs the feature "Teleporters"; this reader has OsmSchema-V0\.6/,
    0,
  )
  await refused(
    t,
    Buffer.concat([good, Buffer.from([0x7f, 0, 0, 0])]),
    /blob header of \d+ bytes/,
    good.length,
  )
  await refused(t, good.subarray(0, good.length - 1), /cut short/)
  const missing = path.join(t.testdirName, 'none')
  await t.rejects(
    buildMap({ ...BUILD, input: missing }),
    { code: 'ENOENT' },
    'a missing file is told by the system',
  )
})

t.test('BAD_EXTRACT: packings that are not zlib are named', async (t) => {
  const header = writeExtract({ nodes: [], ways: [] })
  for (const [field, packing] of [
    [4, 'lzma'],
    [5, 'bzip2'],
    [6, 'lz4'],
    [7, 'zstd'],
  ] as const) {
    const blob = new PbfWriter()
    blob.writeVarintField(2, 10)
    blob.writeBytesField(field, Uint8Array.of(1, 2, 3))
    await refused(
      t,
      Buffer.concat([header, frame('OSMData', blob.finish())]),
      new RegExp(`packed with ${packing};`),
      header.length,
    )
  }
})

/** A blob whose body is given as it is. */
function frame(type: string, body: Uint8Array, dataBytes = body.length): Uint8Array {
  const header = new PbfWriter()
  header.writeStringField(1, type)
  header.writeVarintField(3, dataBytes)
  const head = header.finish()
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  return Buffer.concat([length, head, body])
}

t.test('BAD_EXTRACT: blobs with a false size', async (t) => {
  const header = writeExtract({ nodes: [], ways: [] })
  const packed = (rawSize: number, zlib: Uint8Array) => {
    const blob = new PbfWriter()
    blob.writeVarintField(2, rawSize)
    blob.writeBytesField(3, zlib)
    return Buffer.concat([header, frame('OSMData', blob.finish())])
  }
  const zeros = deflateSync(new Uint8Array(5_000_000))
  await refused(t, packed(5_000_000, zeros), /more than 200 times/, header.length)
  await refused(t, packed(40_000_000, zeros), /unpacked size of 40000000/, header.length)
  await refused(t, packed(100, deflateSync(new Uint8Array(101))), /does not unpack/, header.length)
  await refused(
    t,
    packed(100, deflateSync(new Uint8Array(99))),
    /unpacks to 99 bytes, expected 100/,
    header.length,
  )
  await refused(t, packed(100, Uint8Array.of(1, 2, 3)), /does not unpack/, header.length)
  await refused(
    t,
    Buffer.concat([header, frame('OSMData', new Uint8Array(0), 33 * 1024 * 1024)]),
    /blob of \d+ bytes/,
    header.length,
  )
  await refused(
    t,
    Buffer.concat([header, frame('OSMData', Uint8Array.of(0x1a, 0xff, 0x7f))]),
    /a field ends behind its end/,
    header.length,
  )
  await refused(
    t,
    Buffer.concat([header, frame('OSMData', new Uint8Array(0))]),
    /holds no data/,
    header.length,
  )
})

t.test('the file changes under the reader', async (t) => {
  await withFile(writeExtract(SMALL), async (file) => {
    const extract = openExtract(file)
    writeFileSync(file, '')
    await rejectsWith(
      t,
      readRoads(extract, findProfile('car'), null, createTally(), () => undefined),
      'BAD_EXTRACT',
      { message: /shorter while/ },
    )
    t.throws(() => extract.sha256(), /shorter while/)
    extract.close()
  })
})

const SMALLEST = 'monaco-2020.osm.pbf'

/** An error of ours, or a map: anything else is a fault. */
async function survives(t: Test, bytes: Uint8Array, what: string): Promise<'map' | 'refused'> {
  try {
    await graphOf(bytes)
    return 'map'
  } catch (error) {
    if ((error as { errorName?: string }).errorName !== 'BAD_EXTRACT') t.fail(`${what}: ${String(error)}`)
    return 'refused'
  }
}

t.test(
  `${SMALLEST}: cut anywhere or with a wrong byte, it is refused or gives a sound map`,
  { skip: missingExtracts() },
  async (t) => {
    const bytes = readFileSync(path.join(EXTRACTS, SMALLEST))
    const random = createRandom(1)
    let maps = 0
    for (let i = 0; i < 40; i++) {
      const length = Math.floor(random() * bytes.length)
      if ((await survives(t, bytes.subarray(0, length), `cut to ${length}`)) === 'map') maps++
    }
    t.ok(maps <= 2, `${maps} of 40 cuts gave a map: those between two blobs`)
    for (let i = 0; i < 200; i++) {
      const at = Math.floor(random() * bytes.length)
      const damaged = Buffer.from(bytes)
      damaged[at] = (damaged[at] ?? 0) ^ (1 << Math.floor(random() * 8))
      await survives(t, damaged, `bit flipped at ${at}`)
    }
  },
)
