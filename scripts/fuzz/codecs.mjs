// The part of the fuzz that calls the program's own functions: a worker thread, so that one that never comes
// back is noticed.

import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import {
  anyValue,
  createChoices,
  datetime,
  geometry,
  jsonText,
  mutateBytes,
  mutateText,
  wkt,
} from './grammar.mjs'

const { libFile, graphFile, dir, seed, endAtMs, only } = workerData
const lib = createRequire(libFile)(libFile)
const graphBytes = readFileSync(graphFile)
/** one input of any target takes far less */
const SLOW_MS = 2000

/** target → what it does with one seed; throws what it finds */
const TARGETS = {
  json(c, note) {
    const text = note(jsonText(c, anyValue(c)))
    const bytes = c.chance(0.1) ? mutateBytes(c, Buffer.from(text)) : Buffer.from(text)
    expectAppError(() => lib.readJson(bytes, 64), ['PARSE_ERROR', 'INVALID_REQUEST'])
  },
  datetime(c, note) {
    const text = note(datetime(c))
    const us = lib.parseDatetime(text, 540)
    if (typeof us !== 'bigint')
      return void expectText(us.expected ?? us.message ?? us.reason ?? JSON.stringify(us))
    const again = lib.parseDatetime(lib.formatDatetime(us, 540), 0)
    if (again !== us) throw new Error(`${us} comes back as ${String(again)}`)
  },
  geojson(c, note) {
    const parsed = lib.parseGeometry(note(c.chance(0.9) ? geometry(c) : anyValue(c)), '$')
    if (!lib.isFault(parsed)) roundTrips(parsed)
  },
  wkt(c, note) {
    const parsed = lib.decodeWkt(note(wkt(c)))
    if (!lib.isFault(parsed)) roundTrips(parsed)
  },
  wkb(c, note) {
    const parsed = lib.parseGeometry(geometry(c), '$')
    if (lib.isFault(parsed)) return
    const bytes = mutateBytes(c, Buffer.from(lib.encodeHexWkb(parsed), 'hex'))
    const hex = note(c.chance(0.1) ? mutateText(c, bytes.toString('hex')) : bytes.toString('hex'))
    lib.decodeHexWkb(hex)
  },
  config(c, note) {
    const file = path.join(dir, 'edge.config.json')
    const text = note(c.chance(0.5) ? jsonText(c, anySettings(c)) : mutateText(c, lib.sampleConfig))
    writeFileSync(file, text)
    const env = c.chance(0.3)
      ? {
          [`FIELDGATE_${c.pick(['SERVER__PORT', 'LIMITS__BATCH', 'X', '__', 'A__B__C'])}`]: c.pick([
            '1',
            'x',
            '',
            '[]',
            '{}',
          ]),
        }
      : {}
    const loaded = lib.loadConfig(file, env)
    if ('config' in loaded) return
    if (loaded.faults.length === 0) throw new Error('refused without a fault')
    for (const fault of loaded.faults) expectText(fault.message)
  },
  map(c, note) {
    const bytes = mutateBytes(c, graphBytes)
    note(`${bytes.length} bytes of a map, changed`)
    const shared = new SharedArrayBuffer(bytes.length)
    new Uint8Array(shared).set(bytes)
    const graph = expectAppError(() => lib.readGraph(shared, lib.crc32), ['BAD_MAP_FILE'])
    if (graph !== undefined) lib.verifyMap(graph)
  },
  async multipart(c, note) {
    const body = mutateBytes(c, multipart(c))
    note(body.toString('latin1'))
    const type = c.pick([
      'multipart/form-data; boundary=b',
      'multipart/form-data; boundary=b',
      'multipart/form-data',
      'multipart/form-data; boundary=""',
    ])
    const takers = {
      takeData: (bytes) => lib.readJson(bytes, 64),
      async takeFile(source) {
        let total = 0
        for await (const chunk of source) total += chunk.length
        return total
      },
    }
    const limits = { maxFileBytes: 500, maxDataBytes: 200, maxSignatureBytes: 100, maxParts: 6 }
    const parts = lib.readParts(pieces(c, body), type, limits, takers, async () => undefined)
    const names = ['BAD_UPLOAD', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'PARSE_ERROR', 'INVALID_REQUEST']
    await within(parts.catch((error) => checkAppError(error, names)))
  },
}

run().catch((error) =>
  parentPort.postMessage({ kind: 'failed', target: '-', seed, input: '', error: error.stack }),
)

async function run() {
  const names = Object.keys(TARGETS).filter((name) => only.length === 0 || only.includes(name))
  let counter = 0
  for (let turn = 0; performance.timeOrigin + performance.now() < endAtMs && names.length > 0; turn++) {
    const target = names[turn % names.length]
    const times = target === 'map' || target === 'multipart' || target === 'config' ? 20 : 500
    for (let i = 0; i < times; i++) await one(target, seed + counter++)
    parentPort.postMessage({ kind: 'done', target, times })
  }
  parentPort.postMessage({ kind: 'end' })
}

/** One input, made from nothing but its own seed. */
async function one(target, ownSeed) {
  parentPort.postMessage({ kind: 'begin', target, seed: ownSeed })
  let input
  const before = process.threadCpuUsage()
  const note = (value) => {
    input = value
    return value
  }
  try {
    await TARGETS[target](createChoices(ownSeed), note)
    // of processor: other work on the machine is no fault of an input
    const { user, system } = process.threadCpuUsage(before)
    const tookMs = (user + system) / 1000
    if (tookMs > SLOW_MS) throw new Error(`took ${Math.round(tookMs)} ms of processor`)
  } catch (error) {
    const shown = typeof input === 'string' ? input : JSON.stringify(input)
    parentPort.postMessage({
      kind: 'failed',
      target,
      seed: ownSeed,
      input: shown,
      error: error?.stack ?? String(error),
    })
  }
}

/** A decoded value can be encoded, and decodes to the same value. */
function roundTrips(parsed) {
  const text = lib.encodeWkt(parsed)
  const again = lib.decodeWkt(text)
  if (lib.isFault(again) || lib.encodeWkt(again) !== text)
    throw new Error(`WKT ${text} comes back as ${JSON.stringify(again)}`)
  const hex = lib.encodeHexWkb(parsed)
  const bytes = lib.decodeHexWkb(hex)
  if (lib.isFault(bytes) || !isDeepStrictEqual(lib.encodeHexWkb(bytes), hex))
    throw new Error(`WKB ${hex} comes back as ${JSON.stringify(bytes)}`)
}

function anySettings(c) {
  const sections = ['server', 'limits', 'routing', 'sync', 'service', 'log', 'dataDir', 'riskmap', 'nothing']
  return Object.fromEntries(
    c.list(4, () => [
      c.pick(sections),
      c.chance(0.5)
        ? { [c.pick(['port', 'batch', 'maxVia', 'windows', 'themes', 'level', 'timeZone'])]: anyValue(c, 2) }
        : anyValue(c, 2),
    ]),
  )
}

function multipart(c) {
  const part = (name) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${c.pick(['', '; filename="f"', '; filename=""', "; filename*=utf-8''%41"])}\r\n${c.pick(['', 'Content-Type: application/json\r\n', 'Content-Transfer-Encoding: base64\r\n'])}\r\n${c.pick(['{}', jsonText(c, anyValue(c)), 'x'.repeat(c.int(700))])}\r\n`
  return Buffer.from(
    `${c.list(4, () => part(c.pick(['data', 'file', 'signature', 'x', '']))).join('')}--b--\r\n`,
  )
}

async function* pieces(c, bytes) {
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + c.int(c.chance(0.5) ? 8 : 300)
    yield bytes.subarray(at, at + length)
    at += length
  }
}

async function within(promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('hangs')), 10_000)
  })
  await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function expectAppError(work, names) {
  try {
    return work()
  } catch (error) {
    checkAppError(error, names)
    return undefined
  }
}

function checkAppError(error, names) {
  if (!names.includes(error?.errorName)) throw error
  expectText(error.message)
}

function expectText(text) {
  if (typeof text !== 'string' || text === '' || text.length > 2000)
    throw new Error(`a fault without words, or with too many: ${String(text).slice(0, 200)}`)
}
