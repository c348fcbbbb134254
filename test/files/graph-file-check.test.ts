import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { checkGraphFile } from '../../src/files/graph-file-check.js'
import { writeGraph } from '../../src/mapbuild/graph/write-graph.js'
import { AT, CONDITIONAL_VERSION, GRAPH_VERSION } from '../../src/routing/graph/graph-file.js'
import { graphOfOsm } from '../support/osm-fixture.js'

/** Bytes of the map of two streets, the second of which may be open at night alone. */
async function mapBytes(tags: Record<string, string> = {}): Promise<Buffer> {
  const nodes = [0, 1, 2].map((n) => ({ id: n + 1, lng: 10 + n * 0.002, lat: 45 }))
  const ways = [
    { id: 1, refs: [1, 2], tags: { highway: 'residential' } },
    { id: 2, refs: [2, 3], tags: { highway: 'residential', ...tags } },
  ]
  return Buffer.from(writeGraph(await graphOfOsm({ nodes, ways })))
}

t.test('checkGraphFile: maps of both versions are sound, others are refused with their fault', async (t) => {
  const file = path.join(t.testdir(), 'town.graph')
  const faultOf = (bytes: Uint8Array) => {
    writeFileSync(file, bytes)
    return checkGraphFile(file)
  }
  const plain = await mapBytes()
  const atNight = await mapBytes({ access: 'no', 'access:conditional': 'yes @ (22:00-06:00)' })
  t.same(
    [plain, atNight].map((bytes) => bytes.readUInt32LE(AT.version)),
    [GRAPH_VERSION, CONDITIONAL_VERSION],
  )
  t.same([faultOf(plain), faultOf(atNight)], [null, null])
  const newer = Buffer.from(plain)
  newer.writeUInt32LE(CONDITIONAL_VERSION + 1, AT.version)
  t.equal(faultOf(newer), 'has the version 3, this program reads 1 and 2: build the map again')
  t.match(faultOf(atNight.subarray(0, -1)), /^has \d+ bytes, its header says \d+$/)
  const damaged = Buffer.from(atNight)
  damaged.writeUInt8(damaged.readUInt8(damaged.length - 9) ^ 1, damaged.length - 9)
  t.match(faultOf(damaged), /^is damaged: section \d+ has a wrong checksum$/)
})
