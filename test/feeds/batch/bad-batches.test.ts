import { createHash } from 'node:crypto'
import { constants, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { definitionDigest } from '../../../src/feeds/batch/definition.js'
import { RESERVED_COLUMNS } from '../../../src/storage/tables.js'
import { rowsOf, SYNC, startNode } from '../../support/feeds.js'
import { pairHeaders } from '../../support/start-gateway.js'

const VAN = '22222222-2222-4222-8222-222222222222'
const FEED = '33333333-3333-4333-8333-333333333333'
const TABLE = '44444444-4444-4444-8444-444444444444'
const OTHER = '55555555-5555-4555-8555-555555555555'
const column = { is_nullable: false, column_default: null, length: null, srid: null }
const definition = {
  ...{ data_name: 'seen', schema: 'event', unique_columns: ['k'] },
  columns: [{ ...column, name: 'k', udt_name: 'int4' as const }],
}
const ZSTD = { params: { [constants.ZSTD_c_checksumFlag]: 1 } }

const HEADER = {
  ...{ fieldgate_batch: 1, node: VAN, feed: FEED, table: TABLE, epoch: 1 },
  ...{ digest: definitionDigest(definition), after: 0, last: 2, rows: 2 },
}

const RESERVED = RESERVED_COLUMNS.map(({ name }) => name)
/** Lines of the reserved columns. */
const NULLS = RESERVED.map(() => '[null,null]')
const COLUMNS = [...RESERVED, 'k']
/** Returns the lines behind the header: the origin of two rows, and their values. */
const linesOf = (origin: string, values: string) => [JSON.stringify([[origin, 2]]), ...NULLS, values]

/** Returns the text of a batch of two rows, with some members of its header, or its lines, changed. */
function textOf(columns: readonly string[], change: object = {}, lines = linesOf(VAN, '[1,2]')): string {
  return sealed(JSON.stringify({ ...HEADER, columns, ...change }), `${lines.join('\n')}\n`)
}

/** Puts the digest of all into a header line. */
function sealed(head: string, rest: string): string {
  const sha256 = createHash('sha256').update(`${head}\n${rest}`).digest('hex')
  return `${head.slice(0, -1)},"sha256":"${sha256}"}\n${rest}`
}

const pack = (text: string) => zstdCompressSync(text, ZSTD)

t.test(
  'bad batches: each is refused by its own reason, and changes nothing; the right one follows',
  async (t) => {
    const node = await startNode(t, t.testdir())
    const key = await node.makeKey(['sync:write'])
    const offer = { node: VAN, feed: FEED, table: TABLE, epoch: 1, start: 0, definition }
    await node.call(SYNC, 'sync.offer_table', offer, pairHeaders(key))
    const rowIn = await rowsOf(node, 'seen', ['k'])
    const send = async (body: Uint8Array) => {
      const headers = {
        ...pairHeaders(key),
        'Content-Type': 'application/x-ndjson',
        'Content-Encoding': 'zstd',
      }
      const url = `${node.url}/api/v2/sync/tables/${TABLE}/batches`
      const answer = await fetch(url, { method: 'POST', headers, body: Buffer.from(body) })
      const text = await answer.text()
      return { status: answer.status, text, json: JSON.parse(text) }
    }
    const fine = textOf(COLUMNS)
    const cases: [what: string, body: Uint8Array, name: string, message: RegExp][] = [
      ['cut zstd', pack(fine).subarray(0, -9), 'BAD_BATCH', /no whole zstd frame/],
      ['no zstd', Buffer.from(fine), 'BAD_BATCH', /no whole zstd frame/],
      ['bytes behind', Buffer.concat([pack(fine), Buffer.of(1)]), 'BAD_BATCH', /no whole zstd frame/],
      ['a bomb', pack('0'.repeat(64 * 1024 * 1024)), 'BAD_BATCH', /more than \d+ bytes of text/],
      ['no line end', pack(fine.slice(0, -1)), 'BAD_BATCH', /last line without its end/],
      [
        'a wrong digest',
        pack(fine.replace('[1,2]', '[1,3]')),
        'BAD_BATCH',
        /found the SHA-256 [0-9a-f]+, expected/,
      ],
      ['no JSON', pack(sealed('{x}', '[]\n')), 'BAD_BATCH', /line 1: found no JSON/],
      ['no header', pack('[]\n'), 'BAD_BATCH', /no header line/],
      [
        'a huge header',
        pack(textOf(COLUMNS, { pad: 'x'.repeat(1024 * 1024) })),
        'BAD_BATCH',
        /header line of \d+ char/,
      ],
      [
        'fewer rows',
        pack(textOf(COLUMNS, { rows: 3 })),
        'BAD_BATCH',
        /found 2 values in the column start_datetime, expected 3/,
      ],
      [
        'more values',
        pack(textOf(COLUMNS, {}, linesOf(VAN, '[1,2,3]'))),
        'BAD_BATCH',
        /3 values in the column k/,
      ],
      [
        'numbers backwards',
        pack(textOf(COLUMNS, { after: 9 })),
        'BAD_BATCH',
        /last: found 2, expected 9 or more/,
      ],
      [
        'a version back',
        pack(
          textOf(COLUMNS, {
            versions: [
              [3, 1],
              [-9, 1],
            ],
          }),
        ),
        'BAD_BATCH',
        /versions: found/,
      ],
      [
        'no column',
        pack(textOf([], {}, [JSON.stringify([[VAN, 2]])])),
        'BAD_BATCH',
        /columns: found none, expected start_datetime/,
      ],
      [
        'another column',
        pack(textOf([...COLUMNS, 'z'], {}, [...linesOf(VAN, '[1,2]'), '[1,2]'])),
        'BAD_BATCH',
        /columns: found z, expected a column/,
      ],
      ['another table', pack(textOf(COLUMNS, { table: OTHER })), 'BAD_BATCH', /table: found 5555/],
      ['a foreign origin', pack(textOf(COLUMNS, {}, linesOf(OTHER, '[1,2]'))), 'FORBIDDEN', /sync:relay/],
      ['another epoch', pack(textOf(COLUMNS, { epoch: 2 })), 'UNKNOWN_FEED', /not offered/],
      [
        'another definition',
        pack(textOf(COLUMNS, { digest: 'a'.repeat(64) })),
        'UNKNOWN_FEED',
        /not offered/,
      ],
      ['a gap', pack(textOf(COLUMNS, { after: 1 })), 'CURSOR_MISMATCH', /after change 1, expected 0/],
      ['a bad value', pack(textOf(COLUMNS, {}, linesOf(VAN, '[1,"x"]'))), 'BAD_RECORD', /row 1, k/],
    ]
    for (const [what, body, name, message] of cases) {
      const { status, text, json } = await send(body)
      t.ok(status >= 400 && status < 500, `${what}: ${status}`)
      t.equal(json.error?.data?.name, name, `${what}: ${text}`)
      t.match(json.error?.message, message, what)
      t.same(await rowsOf(node, 'seen', ['k']), rowIn, `${what}: no row`)
    }
    t.match((await send(pack(fine))).json, { cursor: 2, written: 2 }, 'the cursor stayed')
    t.equal((await rowsOf(node, 'seen', ['k'])).length, 2)
  },
)
