import { execFile, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { DATA, MODELS, modelsOf, putModel, until } from '../../support/models.js'
import { pairHeaders, type RpcAnswer, startGateway, type TestGateway } from '../../support/start-gateway.js'

const PUT = `${MODELS}/upload/model_store.model.put`

/** Blob files and temp files of a gateway. */
function filesOf({ dataDir }: TestGateway): string[] {
  return ['models', 'tmp', 'parts'].flatMap((name) =>
    readdirSync(path.join(dataDir, name), { recursive: true, encoding: 'utf8' }).filter(
      (file) => !/^[0-9a-f]{2}$/.test(file),
    ),
  )
}

/** A multipart body written out by hand. */
function body(parts: string[], boundary = 'XX', isClosed = true): Buffer {
  const text = parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')
  return Buffer.from(`${text}${isClosed ? `--${boundary}--\r\n` : ''}`, 'latin1')
}

const dataPart = (json: unknown = DATA) =>
  `Content-Disposition: form-data; name="data"\r\n\r\n${typeof json === 'string' ? json : JSON.stringify(json)}`
const filePart = (text = 'bytes', name = 'file') =>
  `Content-Disposition: form-data; name="${name}"; filename="m.dat"\r\nContent-Type: application/octet-stream\r\n\r\n${text}`

async function send(gateway: TestGateway, bytes: Buffer, headers: Record<string, string> = {}, url = PUT) {
  const response = await fetch(`${gateway.url}${url}`, {
    method: 'POST',
    headers: {
      ...pairHeaders(gateway.admin),
      'content-type': 'multipart/form-data; boundary=XX',
      ...headers,
    },
    body: new Uint8Array(bytes),
  })
  return { status: response.status, body: (await response.json()) as RpcAnswer['body'] }
}

t.test('upload: model_info exactly, for put, put_aggregated and put_feedback', async (t) => {
  const gateway = await startGateway(t, { settings: { modelStore: { location: [139.5, 35.25] } } })
  const bytes = randomBytes(100_000)
  const { status, body: info } = await putModel(gateway, bytes, { data: { model_store_ddc: 'ddc:rain' } })
  t.equal(status, 200)
  t.same(Object.keys(info).sort(), [
    'end_datetime',
    'hop_count',
    'location',
    'model_description',
    'model_hash',
    'model_id',
    'model_kind',
    'model_meta',
    'model_sha256',
    'model_size',
    'model_state',
    'model_store_ddc',
    'round',
    'signature',
    'start_datetime',
    'tenant_id',
  ])
  t.match(info, {
    ...DATA,
    model_state: 10,
    hop_count: 0,
    round: 0,
    tenant_id: 'admin',
    location: [139.5, 35.25],
  })
  t.equal(info.model_hash, createHash('md5').update(bytes).digest('hex'))
  t.equal(info.model_sha256, createHash('sha256').update(bytes).digest('hex'))
  t.equal(info.model_size, 100_000)
  t.match(info.start_datetime, { _type: 'datetime', val: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+09:00$/ })
  const aggregated = await putModel(gateway, bytes, {
    method: 'model_store.model.put_aggregated',
    data: { round: 3 },
  })
  t.match(aggregated.body, { model_state: 30, round: 3, model_store_ddc: /^rain_\d+/ })
  const origin = { node: 'n', model_id: 'm', hop_count: 1, chain: ['n'] }
  const feedback = await putModel(gateway, bytes, {
    method: 'model_store.model.put_feedback',
    data: { origin },
  })
  t.match(feedback.body, { model_state: 20, hop_count: 2 })
  const again = await putModel(gateway, bytes, { method: 'model_store.model.put_feedback', data: { origin } })
  t.equal(again.body.model_id, feedback.body.model_id, 'the same origin is taken once')
  t.equal(filesOf(gateway).length, 1, 'the same bytes are stored once')
  const listed = await modelsOf(gateway)
  t.equal(listed.length, 3)
  t.notOk('model_store_ddc' in listed[0])
  t.equal(listed[0].location, '010100000000000000007061400000000000A04140')
})

t.test('upload: parts in either order, data as a file, an empty file, chunked encoding', async (t) => {
  const gateway = await startGateway(t)
  for (const parts of [
    [dataPart(), filePart()],
    [filePart(), dataPart()],
    [filePart(''), dataPart()],
    [filePart(JSON.stringify(DATA), 'data'), filePart()],
  ]) {
    const { status, body: info } = await send(gateway, body(parts))
    t.equal(status, 200, JSON.stringify(info))
  }
  const form = body([dataPart(), filePart('x'.repeat(300_000))])
  const response = await fetch(`${gateway.url}${PUT}`, {
    method: 'POST',
    headers: { ...pairHeaders(gateway.admin), 'content-type': 'multipart/form-data; boundary=XX' },
    body: new ReadableStream({
      start(controller) {
        for (let at = 0; at < form.length; at += 7001)
          controller.enqueue(new Uint8Array(form.subarray(at, at + 7001)))
        controller.close()
      },
    }),
    duplex: 'half',
  } as RequestInit)
  t.equal(response.status, 200)
  t.match(await response.json(), { model_size: 300_000 })
})

t.test('upload: every refusal, and nothing is left of it', async (t) => {
  const gateway = await startGateway(t, {
    settings: { limits: { modelBytes: 10_000, modelDataBytes: 2000 }, modelStore: { autoCreate: false } },
  })
  await gateway.call(MODELS, 'model_store.create', { model_store_ddc: 'rain' })
  const { nodeId } = { nodeId: (await gateway.call(MODELS, 'rpc.discover')).body.result['x-node-id'] }
  const cases: [string, number, string, Buffer, Record<string, string>?, string?][] = [
    ['no file', 400, 'BAD_UPLOAD', body([dataPart()])],
    ['no data', 400, 'BAD_UPLOAD', body([filePart()])],
    ['neither', 400, 'BAD_UPLOAD', body([])],
    ['two files', 400, 'BAD_UPLOAD', body([dataPart(), filePart(), filePart()])],
    ['two data', 400, 'BAD_UPLOAD', body([dataPart(), dataPart(), filePart()])],
    [
      'a stranger',
      400,
      'BAD_UPLOAD',
      body([dataPart(), filePart(), 'Content-Disposition: form-data; name="x"\r\n\r\n1']),
    ],
    ['a strange file', 400, 'BAD_UPLOAD', body([dataPart(), filePart('', 'x'), filePart()])],
    [
      'a file without name',
      400,
      'BAD_UPLOAD',
      body([dataPart(), 'Content-Disposition: form-data; name="file"\r\n\r\n1']),
    ],
    ['many fields', 400, 'BAD_UPLOAD', body([...Array(8).fill(dataPart()), filePart()])],
    ['cut off', 400, 'BAD_UPLOAD', body([dataPart(), filePart()], 'XX', false).subarray(0, -3)],
    ['cut off in a header', 400, 'BAD_UPLOAD', body([dataPart()]).subarray(0, 30)],
    ['empty', 400, 'BAD_UPLOAD', Buffer.alloc(0)],
    ['no boundary', 400, 'BAD_UPLOAD', body([]), { 'content-type': 'multipart/form-data' }],
    ['JSON', 415, 'UNSUPPORTED_MEDIA_TYPE', Buffer.from('{}'), { 'content-type': 'application/json' }],
    ['mixed', 415, 'UNSUPPORTED_MEDIA_TYPE', body([]), { 'content-type': 'multipart/mixed; boundary=XX' }],
    ['broken JSON', 400, 'PARSE_ERROR', body([filePart(), dataPart('{"a":')])],
    ['wrong JSON', 400, 'INVALID_PARAMS', body([dataPart({ ...DATA, model_kind: 7, extra: 1 }), filePart()])],
    ['meta is no object', 400, 'INVALID_PARAMS', body([dataPart({ ...DATA, model_meta: [] }), filePart()])],
    ...['1.0', '1e999', '9007199254740993'].map((number): (typeof cases)[number] => [
      `meta is ${number}`,
      400,
      'INVALID_PARAMS',
      body([
        dataPart(
          JSON.stringify({ ...DATA, model_meta: 0 }).replace('"model_meta":0', `"model_meta":${number}`),
        ),
        filePart(),
      ]),
    ]),
    [
      'no origin',
      400,
      'INVALID_PARAMS',
      body([dataPart(), filePart()]),
      {},
      'model_store.model.put_feedback',
    ],
    [
      'a loop',
      422,
      'LOOP',
      body([dataPart({ ...DATA, origin: { node: 'a', model_id: 'b', chain: ['a', nodeId] } }), filePart()]),
      {},
      'model_store.model.put_feedback',
    ],
    [
      'unknown store',
      404,
      'UNKNOWN_STORE',
      body([dataPart({ ...DATA, model_store_ddc: 'snow' }), filePart()]),
    ],
    ['large file', 413, 'BODY_TOO_LARGE', body([dataPart(), filePart('x'.repeat(10_001))])],
    [
      'large data',
      413,
      'BODY_TOO_LARGE',
      body([dataPart({ ...DATA, model_description: 'x'.repeat(2000) }), filePart()]),
    ],
    ['large data as a file', 413, 'BODY_TOO_LARGE', body([filePart('x'.repeat(2001), 'data'), filePart()])],
    ['large by header', 413, 'BODY_TOO_LARGE', body([dataPart(), filePart('x'.repeat(200_000))])],
    ['bad key', 401, 'UNAUTHENTICATED', body([dataPart(), filePart()]), { Secret: 'no' }],
  ]
  for (const [what, status, name, bytes, headers, method] of cases) {
    const found = await send(gateway, bytes, headers, `${MODELS}/upload/${method ?? 'model_store.model.put'}`)
    t.same(
      [found.status, found.body.error?.data?.name],
      [status, name],
      `${what}: ${found.body.error?.message}`,
    )
    t.same([found.body.jsonrpc, found.body.id], ['2.0', null])
  }
  const reader = await gateway.makeKey(['model:read'])
  t.equal((await putModel(gateway, randomBytes(1), { key: reader })).status, 403)
  t.equal((await send(gateway, body([]), {}, `${MODELS}/upload/model_store.model.nothing`)).status, 404)
  const exact = await send(gateway, body([dataPart(), filePart('x'.repeat(10_000))]))
  t.equal(exact.status, 200, 'a file of exactly the limit is taken')
  await until('temp files go', () => filesOf(gateway).length === 1)
  t.equal((await modelsOf(gateway)).length, 1)
})

t.test('upload: 507 before the body is sent when the disk is full', async (t) => {
  const gateway = await startGateway(t, {
    settings: { limits: { diskReserveBytes: Number.MAX_SAFE_INTEGER } },
  })
  const found = await send(gateway, body([dataPart(), filePart()]))
  t.same([found.status, found.body.error.data.name], [507, 'DISK_FULL'])
  t.same(await modelsOf(gateway), [], 'reads go on')
})

t.test('upload: a client that goes away, or falls silent, leaves nothing', async (t) => {
  const gateway = await startGateway(t, { settings: { limits: { bodyIdleMs: 200 } } })
  const { port } = new URL(gateway.url)
  const head = (length: number) =>
    `POST ${PUT} HTTP/1.1\r\nHost: x\r\nAPIKey: ${gateway.admin.apiKey}\r\nSecret: ${gateway.admin.secret}\r\n` +
    `Content-Type: multipart/form-data; boundary=XX\r\nContent-Length: ${length}\r\n\r\n`
  const part = body([dataPart(), filePart('x'.repeat(100_000))], 'XX', false)
  const gone = net.connect(Number(port), '127.0.0.1')
  gone.write(head(500_000))
  gone.write(part)
  await until('it is being written', () => filesOf(gateway).length === 1)
  gone.destroy()
  await until('nothing is left', () => filesOf(gateway).length === 0)
  const silent = net.connect(Number(port), '127.0.0.1')
  silent.write(head(500_000))
  silent.write(part)
  let answer = ''
  silent.setEncoding('utf8').on('data', (text) => {
    answer += text
  })
  await until('it is answered', () => answer.includes('\r\n\r\n'))
  t.match(answer, /^HTTP\/1\.1 408 /)
  t.match(answer, /BODY_TIMEOUT/)
  silent.destroy()
  await until('nothing is left', () => filesOf(gateway).length === 0)
  t.same(await modelsOf(gateway), [])
})

const hasCurl = spawnSync('curl', ['--version']).status === 0

t.test(
  'upload: curl lines as users write them',
  { skip: hasCurl ? false : 'curl is not on this machine' },
  async (t) => {
    const dir = t.testdir({ 'request.json': JSON.stringify(DATA, null, 2), 'model.dat': 'model bytes' })
    writeFileSync(path.join(dir, 'large.dat'), Buffer.alloc(8_000_000))
    const settings = { limits: { modelBytes: 5_000_000 } }
    const gateway = await startGateway(t, { settings, dataDir: path.join(dir, 'data') })
    const { apiKey, secret } = gateway.admin
    const run = async (line: string) => {
      const script = `curl -s -w '\\n%{http_code} %{size_upload}' -H 'APIKey: ${apiKey}' -H 'Secret: ${secret}' ${line} '${gateway.url}${PUT}'`
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: dir })
      const lines = stdout.trim().split('\n')
      const [status = '', sent = ''] = (lines.pop() ?? '').split(' ')
      return { status: Number(status), sent: Number(sent), body: JSON.parse(lines.join('\n')) }
    }
    t.match(await run('-F data="$(<request.json)" -F file=@model.dat'), {
      status: 200,
      body: { model_size: 11 },
    })
    t.match(await run('-F file=@model.dat -F data="$(<request.json)"'), {
      status: 200,
      body: { model_size: 11 },
    })
    t.match(await run('-F data=@request.json -F file=@model.dat'), { status: 200 })
    t.match(await run('-H "Transfer-Encoding: chunked" -F data="$(<request.json)" -F file=@model.dat'), {
      status: 200,
    })
    t.match(await run('-F data="$(<request.json)"'), {
      status: 400,
      body: { error: { data: { name: 'BAD_UPLOAD' } } },
    })
    t.match(await run('-F data="{" -F file=@model.dat'), { status: 400 })
    t.match(await run('-d @request.json'), { status: 415 })
    const large = await run('-H "Expect: 100-continue" -F data="$(<request.json)" -F file=@large.dat')
    t.match(large, { status: 413, body: { error: { data: { name: 'BODY_TOO_LARGE' } } } })
    t.equal(large.sent, 0, 'refused by its headers: the body was never sent')
  },
)
