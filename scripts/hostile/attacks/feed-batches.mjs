import { createHash, randomUUID } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import { SYNC } from '../api.mjs'

const TEXT_BYTES = 4 * 2 ** 20
const COLUMN = { is_nullable: true, column_default: null, length: null, srid: null }
const DEFINITION = {
  data_name: 'sent',
  schema: 'public',
  columns: [
    { ...COLUMN, name: 'id', udt_name: 'int4', is_nullable: false },
    { ...COLUMN, name: 'note', udt_name: 'text' },
  ],
  unique_columns: ['id'],
}
const COLUMNS = ['start_datetime', 'end_datetime', 'location', 'id', 'note']
const ROWS = 2500
/** Feeds that send rows beside each other. */
const FEEDS = 10

/** The text of a batch, with its digest, so that nothing refuses it before its lines are read. */
function sealed(header, rest) {
  const head = JSON.stringify(header).slice(0, -1)
  const sha256 = createHash('sha256').update(`${head}}\n`).update(rest).digest('hex')
  return Buffer.from(`${head},"sha256":"${sha256}"}\n${rest}`)
}

/** Returns what definitions of tables are compared by between gateways. */
function digestOf({ columns, unique_columns }) {
  const parts = columns.map((c) => [c.name, JSON.stringify([c.udt_name, c.is_nullable, c.length, c.srid])])
  return createHash('sha256')
    .update(JSON.stringify(['fieldgate-table-1', parts, unique_columns]))
    .digest('hex')
}

/** Header of a batch of that table. */
const headerOf = (more) => ({
  ...{ fieldgate_batch: 1, epoch: 1, digest: digestOf(DEFINITION), after: 0, last: ROWS },
  ...more,
})

/** Lines of 2,500 rows whose notes differ. */
function linesOfRows(node) {
  const all = (make) => JSON.stringify(Array.from({ length: ROWS }, (_, i) => make(i)))
  const lines = [
    JSON.stringify([[node, ROWS]]),
    all(() => '2026-01-01 00:00:00+00'),
    all(() => '2026-01-01 01:00:00+00'),
    all((i) => `${139 + i / ROWS} 35`),
    all((i) => i),
    all((i) => `${i}`.repeat(200)),
  ]
  return `${lines.join('\n')}\n`
}

/** Bodies that nobody honest sends, each of some hundred bytes. */
function bombs(header, node) {
  const fill = (text) => text.repeat(TEXT_BYTES / text.length - 1000)
  const one = header({ rows: 1, columns: ['id'] })
  const origins = `[["${node}",1]]\n`
  const texts = [
    fill('['), // no header line at all
    `${fill('[')}\n`,
    sealed(one, `${fill('[')}\n[1]\n`), // origins
    sealed(one, `${origins}${fill('[')}\n`), // values
    sealed(one, `${origins}[${fill('0,')}0]\n`),
    sealed(one, `${origins}["${fill('\\"')}"]\n`),
    sealed(one, fill('\n')), // lines
    Buffer.alloc(64 * 2 ** 20, '['), // more text than is allowed
  ]
  const bodies = texts.map((text) => zstdCompressSync(text))
  // many frames behind each other
  const frame = zstdCompressSync(Buffer.alloc(TEXT_BYTES, '['))
  return [...bodies, Buffer.concat(Array(64).fill(frame))]
}

/** Batches of another gateway’s rows. */
export const FEED_BATCHES = [
  {
    name: 'feed-batches',
    does: '30 callers send batches: brackets, more text than is allowed, and 2,500 rows each',
    scopes: ['sync:write'],
    async run(client) {
      const node = randomUUID()
      const own = {
        ...client.headers,
        ...{ 'Content-Type': 'application/x-ndjson', 'Content-Encoding': 'zstd' },
      }
      const post = (table, body) => client.send({ path: `/api/v2/sync/tables/${table}/batches`, body, own })
      const table = randomUUID()
      const refused = bombs((more) => headerOf({ ...{ node, table, feed: randomUUID() }, ...more }), node)
      const lines = linesOfRows(node)
      const feeds = Array.from({ length: FEEDS }, () => ({
        feed: randomUUID(),
        table: randomUUID(),
        after: 0,
      }))
      for (const { feed, table } of feeds) {
        const offer = { node, feed, table, epoch: 1, start: 0, definition: DEFINITION }
        await client.call(SYNC, 'sync.offer_table', offer)
      }
      /** Sends the next rows of a feed, which are the same ones with another number. */
      const sendRows = async (one) => {
        const { feed, table, after } = one
        const place = { after, last: after + ROWS, rows: ROWS, columns: COLUMNS }
        const body = zstdCompressSync(sealed(headerOf({ ...{ node, table, feed }, ...place }), lines))
        const answer = await post(table, body)
        if (answer.status === 200) one.after += ROWS
        return answer
      }
      await client.loop(20 + FEEDS, (i) =>
        i < 20 ? post(table, refused[i % refused.length]) : sendRows(feeds[i - 20]),
      )
    },
  },
]
