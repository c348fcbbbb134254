import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { ErrorName } from '../../src/errors.js'
import { answerSpooled, answerSpooledParams } from '../../src/gateway/spooled-calls.js'
import { dispatch } from '../../src/rpc/dispatch.js'
import { createWriteLock } from '../../src/storage/work/write-lock.js'
import { openTestLoader, type TestLoader } from '../support/loader.js'
import { rejectsWith } from '../support/rejects-with.js'
import { feature } from '../support/tables.js'

async function openSample(t: Parameters<typeof openTestLoader>[0]) {
  const opened = openTestLoader(t)
  const record_def = { k: { udt_name: 'int4' }, name: { udt_name: 'text', is_nullable: true } }
  await opened.call('loaderwebapi.register_loader', { data_name: 'x', record_def, unique_columns: ['k'] })
  const file = path.join(opened.tempDir, 'body')
  const answer = async (body: unknown, maxEnvelopeBytes = 1000) => {
    writeFileSync(file, typeof body === 'string' ? body : JSON.stringify(body))
    const { status, body: piece } = await answerSpooled(file, opened.dispatch(), {
      jobs: opened.jobs,
      loadTurns: createWriteLock(),
      maxEnvelopeBytes,
    })
    if (piece === null) return { status, body: null }
    let text = ''
    if (typeof piece === 'string') text = piece
    else for await (const part of piece) text += part
    return { status, body: JSON.parse(text) }
  }
  return { opened, answer }
}

const request = (id: unknown, from: number, count: number, more: object = {}) => ({
  params: {
    record_set: Array.from({ length: count }, (_, n) => feature([139, 35], { k: from + n })),
    data_name: 'x',
    ...more,
  },
  ...(id === undefined ? {} : { id }),
  method: 'loaderwebapi.add_record',
  jsonrpc: '2.0',
})
const count = ({ data }: TestLoader) => data.reader.prepare('SELECT count(*) FROM x_tbl_0').pluck().get()

t.test('spooled body: one large call, keys in any order', async (t) => {
  const { opened, answer } = await openSample(t)
  t.same(await answer(request('a', 0, 5000)), {
    status: 200,
    body: {
      jsonrpc: '2.0',
      result: {
        count_upload: 5000,
        count_duplicate: 0,
        count_insert: 5000,
        count_update: 0,
        count: 5000,
        message: 'Of the 5000 records uploaded, 0 were overwritten and 5000 were inserted.',
      },
      id: 'a',
    },
  })
  t.match(await answer(request(2, 4000, 2000, { options: { if_exists: 'override' } })), {
    body: { result: { count_update: 1000, count_insert: 1000 }, id: 2 },
  })
  t.equal(count(opened), 6000)
  t.ok(opened.jobNames.includes('loader.store'))
})

t.test('spooled body: a notification stores and says nothing', async (t) => {
  const { opened, answer } = await openSample(t)
  t.same(await answer(request(undefined, 0, 100)), { status: 204, body: null })
  t.equal(count(opened), 100)
})

t.test('spooled body: a batch of large and small calls', async (t) => {
  const { opened, answer } = await openSample(t)
  const list = { jsonrpc: '2.0', id: 'l', method: 'loaderwebapi.get_loader_list' }
  const { status, body } = await answer([
    request(1, 0, 1000),
    list,
    5,
    request(undefined, 1000, 10),
    request(2, 500, 1000),
  ])
  t.equal(status, 200)
  t.match(body, [
    { id: 1, result: { count_insert: 1000 } },
    { id: 'l', result: { data_num: 1 } },
    { id: null, error: { code: -32600 } },
    { id: 2, result: { count_insert: 490, count_duplicate: 510 } },
  ])
  t.equal(count(opened), 1500)
  t.match(await answer(`${' '.repeat(100)}[]`), { body: { error: { code: -32600, message: /batch of 0/ } } })
  t.match(await answer(Array.from({ length: 101 }, () => list)), {
    body: { error: { code: -32600, message: /batch of 101/ } },
  })
  t.same(await answer([request(undefined, 0, 1)]), { status: 204, body: null })
})

/** Bodies that are refused: status, code, id, and what the message says. */
const BAD: [string, unknown, number, number, unknown, RegExp][] = [
  ['not JSON at all', 'x', 400, -32700, null, /not valid JSON/],
  ['cut', '{"params":{"record_set":[{}', 400, -32700, null, /not valid JSON/],
  [
    'an element that is no JSON',
    JSON.stringify(request(1, 0, 3)).replace('"k":1', '"k":1x'),
    400,
    -32700,
    null,
    /element 1 of the list/,
  ],
  [
    'too deep',
    `{"params":{"record_set":[${'['.repeat(70)}${']'.repeat(70)}]},"id":1}`,
    200,
    -32600,
    null,
    /expected at most 64/,
  ],
  ['no method', { ...request(1, 0, 3), method: undefined }, 200, -32600, 1, /method/],
  ['unknown method', { ...request(1, 0, 3), method: 'loaderwebapi.nope' }, 200, -32601, 1, /nope/],
  [
    'another method',
    { ...request(1, 0, 3), method: 'loaderwebapi.get_loader_list' },
    200,
    -32602,
    1,
    /record_set|data_name/,
  ],
  ['unknown table', request(1, 0, 3, { data_name: 'y' }), 200, 4002, 1, /No table/],
  ['bad option', request(1, 0, 3, { options: { if_exists: 'x' } }), 200, -32602, 1, /if_exists/],
  [
    'bad record',
    {
      ...request('id', 0, 3),
      params: { data_name: 'x', record_set: [feature(null, { k: 1 }), feature(null, { k: 'z' })] },
    },
    200,
    4003,
    'id',
    /record_set\[1\]: k/,
  ],
  ['record_set is no array', request(1, 0, 0, { record_set: 5 }), 200, -32602, 1, /record_set/],
  [
    'envelope too large',
    request(1, 0, 1, { data_name: 'n'.repeat(2000) }),
    200,
    1006,
    null,
    /more than 1000 bytes without/,
  ],
]

t.test('spooled body: what is refused, and that nothing changed', async (t) => {
  const { opened, answer } = await openSample(t)
  const before = opened.dump()
  for (const [what, body, status, code, id, message] of BAD) {
    const found = await answer(body)
    t.equal(found.body?.error?.code, code, `${what}: ${JSON.stringify(found)}`)
    t.same([found.status, found.body.id], [status, id], what)
    t.match(found.body.error.message, message, what)
    t.same(opened.dump(), before, what)
  }
})

t.test(
  'spooled params of the REST form: what is stored, what is refused, and that nothing changed',
  async (t) => {
    const { opened } = await openSample(t)
    const file = path.join(opened.tempDir, 'params')
    const answer = async (body: unknown, method = 'loaderwebapi.add_record') => {
      writeFileSync(file, typeof body === 'string' ? body : JSON.stringify(body))
      const piece = await answerSpooledParams(file, method, opened.dispatch(), {
        jobs: opened.jobs,
        loadTurns: createWriteLock(),
        maxEnvelopeBytes: 1000,
      })
      return JSON.parse(piece as string)
    }
    const { params } = request(1, 0, 2000)
    t.match(await answer(params), { count_insert: 2000 })
    t.match(await answer(`\ufeff ${JSON.stringify(params)} \n`), { count_duplicate: 2000 })
    t.ok(opened.jobNames.includes('loader.store'), 'the elements came from the file')
    const before = opened.dump()
    const text = JSON.stringify(params)
    const table: [body: unknown, name: ErrorName, message: RegExp, method?: string][] = [
      ['x', 'PARSE_ERROR', /not valid JSON/],
      [text.slice(0, -5), 'PARSE_ERROR', /not valid JSON/],
      [`${text}{}`, 'PARSE_ERROR', /end of the body/],
      [text.replace('"k":7', '"k":7x'), 'PARSE_ERROR', /element 7 of the list/],
      [`{"record_set":[${'['.repeat(70)}${']'.repeat(70)}]}`, 'INVALID_REQUEST', /expected at most 64/],
      [[params], 'BODY_TOO_LARGE', /without the elements/],
      [[1], 'INVALID_PARAMS', /expected an object/],
      [{ ...params, more: 1 }, 'INVALID_PARAMS', /more/],
      [{ ...params, data_name: 'y' }, 'UNKNOWN_TABLE', /No table/],
      [{ ...params, data_name: 'n'.repeat(2000) }, 'BODY_TOO_LARGE', /without the elements/],
      [{ ...params, record_set: [...params.record_set, 5] }, 'BAD_RECORD', /record_set\[2000\]/],
      [params, 'INVALID_PARAMS', /record_set/, 'loaderwebapi.drop_loader'],
      [params, 'METHOD_NOT_FOUND', /nope/, 'nope'],
    ]
    for (const [body, name, message, method] of table) {
      await rejectsWith(t, answer(body, method), name, { message })
      t.same(opened.dump(), before, `${name} ${message}`)
    }
  },
)

t.test('spooled body: a lone surrogate is refused as in a small body, and nothing is stored', async (t) => {
  const { opened, answer } = await openSample(t)
  const bodies = [
    JSON.stringify(request('a', 0, 3)).replace('"k":1}', '"k":1,"name":"\\ud800"}'),
    JSON.stringify(request('a', 0, 3)).replace('"k":1}', '"k":1,"\\udc00":null}'),
    JSON.stringify(request('a', 0, 3)).replace('"x"', '"\\ud800"'),
    JSON.stringify([request(1, 0, 3), request('\ud800', 3, 3)]),
    JSON.stringify([request(1, 0, 3), request(2, 3, 3)]).replace('"k":4}', '"k":4,"name":"\\ud800"}'),
  ]
  for (const body of bodies) {
    const spooled = await answer(body)
    const small = await dispatch(Buffer.from(body), opened.dispatch())
    const expected = { status: small.status, body: JSON.parse(String(small.body)) }
    expected.body.error.data.requestId = spooled.body.error.data.requestId // each call has its own
    t.same(spooled, expected, body.slice(0, 60))
    t.match(spooled.body, { id: null, error: { data: { name: 'INVALID_REQUEST' } } })
  }
  t.equal(count(opened), 0)
})
