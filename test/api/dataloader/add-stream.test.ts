import { deepStrictEqual } from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { addStream } from '../../../src/api/dataloader/add-stream.js'
import { AppError, type ErrorName } from '../../../src/errors.js'
import { createLineSplitter } from '../../../src/tables/ingest/split-lines.js'
import type { StreamRequest } from '../../../src/tables/receive-stream.js'
import { openTestLoader, type TestLoader } from '../../support/loader.js'
import { rejectsWith } from '../../support/rejects-with.js'
import { feature } from '../../support/tables.js'

const LIMITS = { batchLines: 10, lineBytes: 1000, gzipRatio: 200 }

async function openSample(t: Parameters<typeof openTestLoader>[0]): Promise<TestLoader> {
  const opened = openTestLoader(t)
  const record_def = { k: { udt_name: 'int4' }, name: { udt_name: 'text', is_nullable: true } }
  await opened.call('loaderwebapi.register_loader', { data_name: 'x', record_def, unique_columns: ['k'] })
  return opened
}

/** Sends bytes in pieces of a size. */
async function* pieces(bytes: Uint8Array | string, size = 97): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.from(bytes)
  for (let at = 0; at < buffer.length; at += size) yield buffer.subarray(at, at + size)
}

function send(
  { loader }: TestLoader,
  chunks: AsyncIterable<Uint8Array>,
  more: Partial<StreamRequest> = {},
  limits = LIMITS,
) {
  const request = {
    dataName: 'x',
    ifExists: undefined,
    isGzip: false,
    signal: new AbortController().signal,
    owner: 'k',
    hold: async () => undefined,
    ...more,
  }
  return addStream(loader, { ...request, chunks }, limits)
}

const line = (k: number, more: object = {}) => JSON.stringify(feature([139 + k / 1000, 35], { k, ...more }))
const lines = (from: number, count: number, separator = '\n') =>
  Array.from({ length: count }, (_, n) => line(from + n)).join(separator)
const count = ({ data }: TestLoader) => data.reader.prepare('SELECT count(*) FROM x_tbl_0').pluck().get()

t.test('stream: newline-delimited features in any pieces, with and without a last newline', async (t) => {
  const opened = await openSample(t)
  t.same(await send(opened, pieces(`${lines(0, 25)}\n`)), {
    count_upload: 25,
    count_duplicate: 0,
    count_insert: 25,
    count_update: 0,
    count: 25,
    message: 'Of the 25 records uploaded, 0 were overwritten and 25 were inserted.',
    last_line: 25,
  })
  t.match(await send(opened, pieces(lines(20, 25), 1), { ifExists: 'override' }), {
    count_upload: 25,
    count_duplicate: 5,
    count_update: 5,
    count_insert: 20,
    last_line: 25,
  })
  t.match(
    await send(opened, pieces(`\ufeff\r\n\n${lines(40, 10, '\r\n\r\n')}`)),
    { count_upload: 10, count_duplicate: 5, last_line: 21 },
    'byte order mark and blank lines',
  )
  t.equal(count(opened), 50)
  t.match(await send(opened, pieces('')), { count_upload: 0, last_line: 0 })
  t.match(await send(opened, pieces('\n \n')), { count_upload: 0, last_line: 2 })
})

t.test('stream: RFC 8142 sequences, records over several lines', async (t) => {
  const opened = await openSample(t)
  const sequence = Array.from(
    { length: 25 },
    (_, k) => `\u001e${JSON.stringify(JSON.parse(line(k)), null, 2)}\n`,
  ).join('')
  t.match(await send(opened, pieces(sequence)), { count_insert: 25, last_line: 25 })
  t.match(await send(opened, pieces(`\u001e${lines(25, 5, '\n\u001e')}`, 1)), {
    count_insert: 5,
    last_line: 5,
  })
  const bad = `\u001e${line(90)}\n\u001e${line(91)}\n\u001e{"type":\n\u001e${line(92)}`
  await rejectsWith(t, send(opened, pieces(bad)), 'BAD_RECORD', { data: { line: 3, last_committed_line: 0 } })
})

t.test('stream: gzip, declared or not, in several members; damaged gzip reports the position', async (t) => {
  const opened = await openSample(t)
  t.match(await send(opened, pieces(gzipSync(lines(0, 25))), { isGzip: true }), { count_insert: 25 })
  t.match(await send(opened, pieces(gzipSync(lines(25, 25)))), { count_insert: 25 }, 'told by its first byte')
  const members = Buffer.concat([gzipSync(`${lines(50, 5)}\n`), gzipSync(lines(55, 5))])
  t.match(await send(opened, pieces(members), { isGzip: true }), { count_insert: 10 })
  await rejectsWith(t, send(opened, pieces(lines(70, 5)), { isGzip: true }), 'BAD_RECORD', {
    message: /damaged gzip data/,
  })
  const whole = gzipSync(lines(100, 2000), { level: 0 })
  await rejectsWith(t, send(opened, pieces(whole.subarray(0, whole.length - 100))), 'BAD_RECORD', {
    message: /damaged gzip data/,
  })
  t.equal(count(opened), 60 + 1990, 'batches before the damage are stored')
})

t.test(
  'stream: a bad line is named; what was committed before its batch stays, so a caller can resume',
  async (t) => {
    const opened = await openSample(t)
    const text = `${lines(0, 13)}\n${line(13, { name: 5 })}\n${lines(14, 30)}`
    await rejectsWith(t, send(opened, pieces(text)), 'BAD_RECORD', {
      data: {
        line: 14,
        column: 'name',
        last_committed_line: 10,
        count_upload: 10,
        count_insert: 10,
        count: 10,
      },
      message: /^line 14: name: found 5, expected a string; lines up to 10 are stored$/,
    })
    t.equal(count(opened), 10)
    const rest = text
      .split('\n')
      .slice(10)
      .filter((_, at) => at !== 3)
      .join('\n')
    t.match(await send(opened, pieces(rest)), { count_insert: 33 })
    t.equal(count(opened), 43)
  },
)

/** Errors of the disk that are no AppError, and what a caller receives. */
const DISK_ERRORS: [string, string, RegExp][] = [
  ['EIO', 'STORAGE_FAILED', /^The disk cannot be read or written; lines up to 10 are stored$/],
  ['SQLITE_IOERR_FSYNC', 'STORAGE_FAILED', /lines up to 10 are stored$/],
  ['SQLITE_CORRUPT', 'STORAGE_DAMAGED', /^The stored data is damaged on disk; lines up to 10 are stored$/],
  ['ENOSUCHTHING', 'INTERNAL', /; lines up to 10 are stored$/],
]
for (const [code, name, message] of DISK_ERRORS) {
  t.test(`stream: what is stored is told after ${code}, as after a full disk`, async (t) => {
    const opened = await openSample(t)
    let batches = 0
    const loader: TestLoader['loader'] = {
      ...opened.loader,
      async addLines(...args) {
        if (++batches > 1) throw Object.assign(new Error(`${code} at /data/data.db`), { code })
        return await opened.loader.addLines(...args)
      },
    }
    const counts = { last_committed_line: 10, count_upload: 10, count_insert: 10, count: 10 }
    await rejectsWith(t, send({ ...opened, loader }, pieces(lines(0, 25))), name as ErrorName, {
      data: counts,
      message,
    })
    t.equal(count(opened), 10)
  })
}

/** What is wrong in the line behind three good ones. */
const BAD_LINES: [string, Uint8Array | string, Record<string, unknown>, RegExp][] = [
  ['no JSON', '{"type":"Feature"', { column: null }, /found text that is not JSON/],
  ['no Feature', '{"type":"FeatureCollection","features":[]}', { column: null }, /expected "Feature"/],
  ['a number', '5', { column: null }, /found 5/],
  ['unknown property', line(9, { zzz: 1 }), { column: 'zzz' }, /unknown property/],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), { column: null }, /not UTF-8/],
  ['cut UTF-8', Buffer.from([0x22, 0xe6, 0x97]), { column: null }, /not UTF-8/],
  [
    'lone surrogate',
    line(9).replace('"k":9', '"k":9,"name":"\\ud800"'),
    { column: null },
    /found a lone surrogate at \$\.properties\.name, expected well-formed Unicode/,
  ],
  ['too long', line(9, { name: 'x'.repeat(1000) }), { column: null }, /more than 1000 bytes/],
]

t.test('stream: each kind of bad line, with proof that nothing of its batch stays', async (t) => {
  const opened = await openSample(t)
  const before = opened.dump()
  for (const [what, bad, data, message] of BAD_LINES) {
    const bytes = Buffer.concat([
      Buffer.from(`${lines(0, 2)}\n\n`),
      Buffer.from(bad as string),
      Buffer.from(`\n${line(9)}`),
    ])
    await rejectsWith(t, send(opened, pieces(bytes)), 'BAD_RECORD', {
      data: { line: 4, last_committed_line: 0, ...data },
      message,
    })
    t.same(opened.dump(), before, what)
  }
})

t.test(
  'stream: if_exists error stops at the key; other words are refused before anything is read',
  async (t) => {
    const opened = await openSample(t)
    await send(opened, pieces(lines(5, 1)))
    await rejectsWith(t, send(opened, pieces(lines(0, 20)), { ifExists: 'error' }), 'RECORD_EXISTS', {
      data: { line: 6 },
      message: /^line 6: a record with k 5 already exists; nothing is stored$/,
    })
    await rejectsWith(t, send(opened, pieces(lines(0, 20)), { ifExists: 'replace' }), 'INVALID_PARAMS', {
      message: /found "replace"/,
    })
    await rejectsWith(t, send(opened, pieces(lines(0, 20)), { dataName: 'y' }), 'UNKNOWN_TABLE')
    t.equal(count(opened), 1)
  },
)

t.test('stream: a source that fails ends it with what was committed', async (t) => {
  const opened = await openSample(t)
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${lines(0, 25)}\n`)
    throw new AppError('BODY_TIMEOUT', { idleMs: 5 })
  }
  await rejectsWith(t, send(opened, broken()), 'BODY_TIMEOUT', {
    data: { idleMs: 5, last_committed_line: 20, count_insert: 20 },
  })
  t.equal(count(opened), 20)
})

t.test('stream: a feed that pauses has its lines stored before it goes on', async (t) => {
  const opened = await openSample(t)
  let seen: unknown
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${lines(0, 3)}\n${line(3).slice(0, 20)}`)
    for (let turn = 0; turn < 200 && count(opened) === 0; turn++)
      await new Promise((resolve) => setTimeout(resolve, 25))
    seen = count(opened)
    yield Buffer.from(line(3).slice(20))
  }
  t.match(await send(opened, slow()), { count_insert: 4, last_line: 4 })
  t.equal(seen, 3)
})

t.test('stream: a caller that is gone ends it', async (t) => {
  const opened = await openSample(t)
  const gone = new AbortController()
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let batch = 0; ; batch++) {
      if (batch === 3) gone.abort()
      yield Buffer.from(`${lines(batch * 10, 10)}\n`)
    }
  }
  await rejectsWith(t, send(opened, source(), { signal: gone.signal }), 'CANCELLED')
})

t.test('property: batches hold every line once, in order, however the bytes come', async () => {
  const anyLine = fc
    .string({ unit: 'grapheme', maxLength: 12 })
    .map((text) => text.replaceAll('\n', '.').replaceAll('\u001e', '.').replaceAll('\ufeff', '.'))
  fc.assert(
    fc.property(
      fc.array(anyLine, { maxLength: 20 }),
      fc.constantFrom('\n', '\u001e'),
      fc.array(fc.nat({ max: 9 })),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      (texts, separator, cuts, batchLines, isFlushed) => {
        const head = separator === '\n' ? 'x\n' : '\u001e'
        const bytes = Buffer.from(head + texts.join(separator))
        const splitter = createLineSplitter({ batchLines, batchBytes: 1e6, lineBytes: 1e6 })
        const batches = []
        let at = 0
        for (const cut of [...cuts, bytes.length]) {
          batches.push(...splitter.push(bytes.subarray(at, at + cut)))
          at += cut
          const flushed = isFlushed ? splitter.flush() : undefined
          if (flushed !== undefined) batches.push(flushed)
        }
        const last = splitter.end()
        if (last !== undefined) batches.push(last)
        deepStrictEqual(Buffer.concat(batches.map((batch) => batch.bytes)).toString(), bytes.toString())
        let next = separator === '\n' ? 1 : 0
        for (const { firstLine, lastLine, bytes: part, separator: found } of batches) {
          deepStrictEqual([firstLine, found], [next, separator])
          const ends = part.filter((byte) => byte === separator.charCodeAt(0)).length
          deepStrictEqual(
            lastLine - firstLine + 1,
            Math.max(ends, part.at(-1) === separator.charCodeAt(0) ? ends : ends + 1),
          )
          next = lastLine + 1
        }
      },
    ),
    { numRuns: 300 },
  )
})

t.test('stream: a large line is held only as far as the transport allows', async (t) => {
  const opened = await openSample(t)
  const large = `${line(1)}\n${' '.repeat(3_000_000)}${line(2)}\n${line(3)}`
  const asked: number[] = []
  const hold = async (bytes: number) => void asked.push(bytes)
  t.match(await send(opened, pieces(large, 65_536), { hold }, { ...LIMITS, lineBytes: 4_000_000 }), {
    count: 3,
  })
  t.ok(Math.max(...asked) > 2_900_000, 'the line counts as it grows')
  const busy = new AppError('BUSY')
  const refuse = async (bytes: number) => {
    if (bytes > 1_000_000) throw busy
  }
  const refused = send(opened, pieces(large, 65_536), { hold: refuse }, { ...LIMITS, lineBytes: 4_000_000 })
  await rejectsWith(t, refused, 'BUSY', { data: { last_committed_line: 0 } })
})
