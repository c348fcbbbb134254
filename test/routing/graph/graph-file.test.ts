import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { crc32 as zlibCrc32 } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { isAppError } from '../../../src/errors.js'
import { loadGraphFile } from '../../../src/files/graph-file-loader.js'
import { writeGraph, writeGraphFile } from '../../../src/mapbuild/graph/write-graph.js'
import { type Graph, type GraphInMemory, LINK_FLAG } from '../../../src/routing/graph/graph.js'
import {
  AT,
  ENTRY_BYTES,
  HEADER_BYTES,
  readGraph,
  SECTION_KIND,
} from '../../../src/routing/graph/graph-file.js'
import { verifyGraph } from '../../../src/routing/graph/graph-verify.js'
import { readNotes, readString } from '../../../src/routing/graph/strings.js'
import { graphOfOsm, sketch } from '../../support/osm-fixture.js'
import { throwsWith } from '../../support/throws.js'

const street = { highway: 'residential', name: '桜通り' }
const SKETCH = sketch(
  ['A B C', ' D E ', 'F G H'],
  [
    ['ABC', street],
    ['BDE', { ...street, maxheight: '3' }],
    ['BE', street],
    ['EF', { highway: 'primary', oneway: 'yes' }],
    ['EGH', { ...street, access: 'private' }],
    ['FGC', street],
  ],
  { restrictions: [{ kind: 'no_left_turn', from: 0, via: 'B', to: 1 }] },
)

const shared = (bytes: Uint8Array): SharedArrayBuffer => {
  const buffer = new SharedArrayBuffer(bytes.length)
  new Uint8Array(buffer).set(bytes)
  return buffer
}

/** The file of a small map, with functions that damage it. */
async function sample() {
  const graph = await graphOfOsm(SKETCH)
  const bytes = writeGraph(graph)
  const view = new DataView(bytes.buffer)
  const entryOf = (name: keyof typeof SECTION_KIND) => {
    for (let at = HEADER_BYTES; ; at += ENTRY_BYTES)
      if (view.getUint32(at, true) === SECTION_KIND[name]) return at
  }
  return {
    graph,
    bytes,
    view,
    entryOf,
    /** recomputes the checksums, as a faulty program would have written them */
    seal() {
      const count = view.getUint32(AT.sections, true)
      for (let at = HEADER_BYTES; at < HEADER_BYTES + count * ENTRY_BYTES; at += ENTRY_BYTES) {
        const offset = Number(view.getBigUint64(at + 8, true))
        const size = Number(view.getBigUint64(at + 16, true))
        view.setUint32(at + 4, zlibCrc32(bytes.subarray(offset, offset + size)), true)
      }
      view.setUint32(AT.crc, 0, true)
      view.setUint32(AT.crc, zlibCrc32(bytes.subarray(0, HEADER_BYTES + count * ENTRY_BYTES)), true)
      return shared(bytes)
    },
    /** a section as numbers, to overwrite */
    u32(name: keyof typeof SECTION_KIND) {
      const at = entryOf(name)
      const size = Number(view.getBigUint64(at + 16, true))
      return new Uint32Array(bytes.buffer, Number(view.getBigUint64(at + 8, true)), size / 4)
    },
    u8(name: keyof typeof SECTION_KIND) {
      const at = entryOf(name)
      return new Uint8Array(
        bytes.buffer,
        Number(view.getBigUint64(at + 8, true)),
        Number(view.getBigUint64(at + 16, true)),
      )
    },
  }
}

const refuses = (t: Test, buffer: SharedArrayBuffer, reason: string, message: RegExp) => {
  const { data, message: found } = throwsWith(t, () => readGraph(buffer, zlibCrc32), 'BAD_MAP_FILE')
  t.match(data, { reason }, found)
  t.match(found, message)
}

t.test('readGraph: returns the written graph, as views of the buffer', async (t) => {
  const { graph, bytes } = await sample()
  const buffer = shared(bytes)
  const read = readGraph(buffer, zlibCrc32)
  for (const [name, value] of Object.entries(graph)) {
    if (name === 'fileBytes') continue
    const found = read[name as keyof Graph]
    t.same(found, value, name)
    if (ArrayBuffer.isView(found)) {
      t.equal(found.buffer, buffer, `${name} is a view`)
      t.equal(found.byteOffset % 8, 0, `${name} is aligned`)
    }
  }
  t.same(verifyGraph(read), [])
  t.same(writeGraph(read), bytes, 'written again, the same bytes')
  t.equal(readString(read, read.segmentName[0] ?? 0), '桜通り')
  t.same(
    readNotes(
      read,
      [...read.linkNotes].findIndex(
        (offset, link) =>
          offset > 0 &&
          ((read.linkFlags[link] ?? 0) & ~(LINK_FLAG.MAIN | LINK_FLAG.NO_U_TURN | LINK_FLAG.AFTER_U_TURN)) ===
            0,
      ),
    ),
    ['height limit 3 m'],
  )
})

t.test('readGraph: prices of turns are read where the file has them', async (t) => {
  const { graph } = await sample()
  t.equal(graph.turnPrices, undefined)
  const arcTurn = Uint8Array.from(graph.arcLink, (link) => link % 2)
  const priced = { ...graph, turnPrices: Uint32Array.of(0, 2000), arcTurn }
  const read = readGraph(shared(writeGraph(priced)), zlibCrc32)
  t.same([read.turnPrices, read.arcTurn], [priced.turnPrices, arcTurn])
})

t.test('readGraph: wrong magic, newer version, short, damaged: each has its own message', async (t) => {
  const { bytes, view, seal } = await sample()
  refuses(t, shared(new Uint8Array(0)), 'short', /cut short: found 0 bytes, expected a header of 48 bytes/)
  refuses(t, shared(bytes.subarray(0, 20)), 'short', /cut short: found 20 bytes/)
  refuses(
    t,
    shared(bytes.subarray(0, 1000)),
    'short',
    new RegExp(`found 1000 bytes, expected ${bytes.length}`),
  )
  refuses(
    t,
    shared(Buffer.concat([bytes, Buffer.from([1])])),
    'damaged',
    new RegExp(`damaged: found ${bytes.length + 1} bytes, expected ${bytes.length}$`),
  )
  refuses(
    t,
    shared(Buffer.from('{"type": "FeatureCollection"}')),
    'magic',
    /not a map file: found first bytes 7b 22 74/,
  )
  refuses(t, shared(bytes.subarray(0, 48)), 'short', new RegExp(`found 48 bytes, expected ${bytes.length}`))
  view.setUint32(AT.version, 3, true)
  refuses(t, seal(), 'version', /written by a newer program: found version 3, expected 1 or 2/)
  view.setUint32(AT.version, 0, true)
  refuses(t, seal(), 'version', /has an unknown version: found version 0, expected 1 or 2/)
  view.setUint32(AT.version, 1, true)
  view.setUint32(AT.sections, 5000, true)
  refuses(t, shared(bytes), 'damaged', /header names 5000 sections/)
  // as many entries as fit the table's limit, but not the file
  view.setUint32(AT.sections, 1000, true)
  refuses(t, shared(bytes), 'damaged', /header names 1000 sections/)
  const long = Buffer.concat([bytes, Buffer.alloc(40_000)])
  long.writeBigUInt64LE(BigInt(long.length), AT.fileBytes)
  long.writeUInt32LE(1025, AT.sections)
  refuses(t, shared(long), 'damaged', /header names 1025 sections/)
  long.writeUInt32LE(1024, AT.sections)
  refuses(t, shared(long), 'damaged', /checksum of its header/)
})

t.test('readGraph: damage to the header, a section, its size or its place', async (t) => {
  const flip = async (at: (s: Awaited<ReturnType<typeof sample>>) => number, message: RegExp) => {
    const s = await sample()
    const position = at(s)
    s.bytes[position] = (s.bytes[position] ?? 0) ^ 1
    refuses(t, shared(s.bytes), 'damaged', message)
  }
  await flip(() => AT.nodes, /checksum of its header/)
  await flip(({ entryOf }) => entryOf('head') + 8, /checksum of its header/)
  await flip(({ u32 }) => u32('head').byteOffset, /checksum of section head/)
  await flip(({ u8 }) => u8('strings').byteOffset + 9, /checksum of section strings/)
  const wrong = async (change: (s: Awaited<ReturnType<typeof sample>>) => void, message: RegExp) => {
    const s = await sample()
    change(s)
    refuses(t, s.seal(), 'damaged', message)
  }
  await wrong((s) => s.view.setUint32(s.entryOf('head'), 999, true), /section head is missing/)
  await wrong(
    (s) => s.view.setUint32(AT.nodes, 3, true),
    /section firstOut has \d+ bytes at \d+, expected 16/,
  )
  await wrong((s) => s.view.setBigUint64(s.entryOf('head') + 8, BigInt(4), true), /section head has/)
  await wrong(
    (s) => s.view.setBigUint64(s.entryOf('head') + 8, BigInt(s.bytes.length - (s.bytes.length % 8)), true),
    /section head has \d+ bytes at \d+, expected \d+/,
  )
  await wrong(
    (s) => s.view.setBigUint64(s.entryOf('strings') + 16, BigInt(3), true),
    /string pool does not begin/,
  )
})

t.test('readGraph: numbers that point outside their arrays', async (t) => {
  type Sample = Awaited<ReturnType<typeof sample>>
  const rows: [(s: Sample) => void, RegExp][] = [
    [(s) => s.u32('head').fill(77, 1, 2), /head\[1\] is 77, expected less than/],
    [(s) => s.u32('arcLink').fill(7777, 0, 1), /arcLink\[0\] is 7777/],
    [(s) => s.u32('nodeJunction').fill(77, 0, 1), /nodeJunction\[0\]/],
    [(s) => s.u32('segmentTail').fill(77, 0, 1), /segmentTail\[0\]/],
    [(s) => s.u32('segmentHead').fill(77, 0, 1), /segmentHead\[0\]/],
    [(s) => s.u32('linkArcs').fill(7777, 0, 1), /linkArcs\[0\]/],
    [(s) => s.u32('firstOut').fill(1, 0, 1), /firstOut\[0\] is 1, expected 0/],
    [(s) => s.u32('firstOut').fill(99, 1, 2), /firstOut\[2\] is \d+, less than the one before/],
    [(s) => s.u32('linkFirstArc').fill(0), /linkFirstArc ends at 0, expected/],
    [(s) => s.u32('firstGeometry').fill(0), /firstGeometry ends at 0/],
    [(s) => s.u32('segmentName').fill(7777, 0, 1), /segmentName\[0\] is 7777, where no string/],
    [(s) => s.u32('linkNotes').fill(7777, 0, 1), /linkNotes\[0\]/],
    [(s) => s.u32('linkStartArc').fill(0), /linkStartArc\[\d+\] is 0, which is not an arc of link/],
    [(s) => s.u32('linkStartArc').fill(7777), /linkStartArc\[\d+\] is 7777/],
    [(s) => s.u8('segmentIndex').fill(0, 0, 1), /segmentIndex is not a flatbush/],
    [(s) => s.u8('segmentIndex').fill(0xff, -2), /segmentIndex: branch \d+ does not point/],
    [(s) => s.u8('junctionIndex').fill(0, 0, 1), /junctionIndex is not a kdbush/],
    [(s) => s.u8('junctionIndex').fill(0xff, 8, 10), /junctionIndex\[0\] is 65535/],
    [(s) => s.u8('meta').fill(32), /is not JSON/],
    [(s) => s.u8('meta').fill(32).set(Buffer.from('null')), /has no name, area or bounding box/],
    [(s) => s.u8('meta').fill(32).set(Buffer.from('{"name":"x"}')), /has no name, area or bounding box/],
  ]
  for (const [change, message] of rows) {
    const s = await sample()
    change(s)
    refuses(t, s.seal(), 'damaged', message)
  }
})

t.test('verifyGraph: faults that only give wrong answers', async (t) => {
  const faultsAfter = async (change: (graph: GraphInMemory) => void) => {
    const s = await sample()
    const graph = readGraph(shared(s.bytes), zlibCrc32)
    change(graph)
    return verifyGraph(graph).join('; ')
  }
  t.equal(await faultsAfter(() => undefined), '')
  t.match(await faultsAfter(({ head }) => head.reverse()), /arc \d+ does not end where link \d+ does/)
  t.match(await faultsAfter(({ nodeJunction }) => nodeJunction.reverse()), /does not begin where/)
  t.match(await faultsAfter(({ linkSpeed }) => linkSpeed.fill(0)), /drives link \d+, which is closed/)
  t.match(await faultsAfter(({ linkArcs }) => linkArcs.reverse()), /is listed for link/)
  t.match(
    await faultsAfter(({ linkFlags }) => linkFlags.fill(128)),
    /has flags 128: the price of a private road/,
  )
  t.match(await faultsAfter(({ linkFlags }) => linkFlags.fill(1)), /closed but belongs to the main network/)
  t.match(await faultsAfter(({ segmentLengthMm }) => segmentLengthMm.fill(7)), /mm long, expected 7 mm/)
  t.match(await faultsAfter(({ segmentLengthMm }) => segmentLengthMm.fill(0xffffffff)), /length out of range/)
  t.match(await faultsAfter(({ geometry }) => geometry.fill(0x80)), /geometry of segment \d+ does not decode/)
  t.match(await faultsAfter(({ geometry }) => geometry.fill(0)), /has (another box|other coordinates) for/)
  t.match(
    await faultsAfter(({ junctionLngE7 }) => junctionLngE7.fill(2e9)),
    /junction 0 lies outside the earth/,
  )
  t.match(await faultsAfter(({ junctionOsmId }) => junctionOsmId.fill(0.5)), /has no OSM id/)
  t.match(
    await faultsAfter(({ junctionIndex }) => junctionIndex.fill(0, 8, 12)),
    /junction index (has|lacks)/,
  )
  t.match(await faultsAfter(({ segmentIndex }) => segmentIndex.fill(0, 8, 60)), /segment index has/)
  t.match(await faultsAfter(({ strings }) => strings.fill(0xff, 8, 12)), /is not UTF-8/)
})

t.test('property: a map file with one bit changed, or cut short, is never read as a map', async () => {
  const { bytes } = await sample()
  const byte = fc.nat(bytes.length - 1)
  fc.assert(
    fc.property(byte, fc.nat(7), byte, (at, bit, cut) => {
      const damaged = bytes.slice()
      damaged[at] = (damaged[at] ?? 0) ^ (1 << bit)
      // only bytes between sections may change: they belong to nothing
      const isPadding = () => Buffer.compare(writeGraph(readGraph(shared(damaged), zlibCrc32)), bytes) === 0
      const isRefused = isBadMap(() => readGraph(shared(damaged), zlibCrc32))
      return (
        (isRefused || isPadding()) && isBadMap(() => readGraph(shared(bytes.subarray(0, cut)), zlibCrc32))
      )
    }),
    { numRuns: 300 },
  )
})

t.test('loadGraphFile: from disk, within a size', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-map-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = path.join(dir, 'x.graph')
  const { graph, bytes } = await sample()
  t.equal(writeGraphFile(file, graph), bytes.length)
  t.same(Buffer.from(writeGraph(loadGraphFile(file))), Buffer.from(bytes), 'written again, the same bytes')
  t.ok(loadGraphFile(file, bytes.length))
  const { message, data } = throwsWith(t, () => loadGraphFile(file, bytes.length - 1), 'BAD_MAP_FILE')
  t.match(message, `${bytes.length} bytes, routing.maxMapBytes allows ${bytes.length - 1}`)
  t.match(data, { reason: 'size', sizeBytes: bytes.length })
  t.throws(() => loadGraphFile(path.join(dir, 'none.graph')), { code: 'ENOENT' })
  writeFileSync(file, bytes.subarray(0, 100))
  throwsWith(t, () => loadGraphFile(file), 'BAD_MAP_FILE')
  t.throws(() => writeGraphFile(path.join(dir, 'no', 'folder'), graph), { code: 'ENOENT' })
})

/**
 * Returns true when a function throws BAD_MAP_FILE, false when it throws nothing; other errors are passed on.
 */
function isBadMap(read: () => unknown): boolean {
  try {
    read()
    return false
  } catch (error) {
    if (isAppError(error) && error.errorName === 'BAD_MAP_FILE') return true
    throw error
  }
}
