import { deepStrictEqual, ok } from 'node:assert/strict'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { isAppError } from '../../../src/errors.js'
import { readElements } from '../../../src/tables/ingest/read-elements.js'
import { type ScannedBody, scanBody } from '../../../src/tables/ingest/scan-body.js'

const LIMITS = { maxDepth: 64, maxBatch: 100 }

/** Scans and reads a body through a real file. */
function createScanner(t: Test) {
  const file = path.join(t.testdir(), 'body')
  const withFile = <T>(bytes: Uint8Array | string, work: (handle: number) => T): T => {
    writeFileSync(file, bytes)
    const handle = openSync(file, 'r')
    try {
      return work(handle)
    } finally {
      closeSync(handle)
    }
  }
  return {
    scan: (bytes: Uint8Array | string, limits = LIMITS): ScannedBody =>
      withFile(bytes, (handle) => scanBody(handle, limits)),
    /** elements of the record_set of each request */
    elements: (bytes: Uint8Array | string): unknown[] =>
      withFile(bytes, (handle) =>
        scanBody(handle, LIMITS).requests.map(({ recordSet }) =>
          recordSet === null ? null : [...readElements(handle, recordSet.start, recordSet.end)],
        ),
      ),
  }
}

/** JSON text of a value in one of its many spellings. */
function spelled(value: unknown, spell: () => number): string {
  const space = () => ['', '', ' ', '\n\t', '\r\n  '][spell() % 5] as string
  if (Array.isArray(value))
    return `[${space()}${value.map((item) => spelled(item, spell) + space()).join(`,${space()}`)}]`
  if (typeof value === 'string') return spell() % 3 === 0 ? escaped(value) : JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
  if (spell() % 2 === 0) members.reverse()
  return `{${space()}${members.map(([key, item]) => `${spelled(key, spell)}${space()}:${space()}${spelled(item, spell)}`).join(`${space()},${space()}`)}${space()}}`
}

function escaped(text: string): string {
  return `"${[...text].map((char) => [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')).join('')}"`
}

const anyJson = fc.jsonValue({ maxDepth: 3, noUnicodeString: false })
const anyRequest = fc.record(
  {
    jsonrpc: fc.constant('2.0'),
    id: anyJson,
    method: fc.string(),
    params: fc.oneof(
      fc.record(
        { data_name: fc.string(), record_set: fc.array(anyJson, { maxLength: 5 }), options: anyJson },
        { requiredKeys: [], noNullPrototype: true },
      ),
      anyJson,
    ),
    record_set: anyJson,
    other: anyJson,
  },
  { requiredKeys: [], noNullPrototype: true },
)

t.test(
  'property: record_set is found and read as JSON.parse reads it, in any order, spelling and batch',
  async (t) => {
    const scanner = createScanner(t)
    fc.assert(
      fc.property(
        fc.oneof(anyRequest, fc.array(fc.oneof(anyRequest, anyJson), { maxLength: 4 })),
        fc.infiniteStream(fc.nat({ max: 29 })),
        (body, stream) => {
          const spell = () => stream.next().value as number
          const text = spelled(body, spell)
          const value: unknown = JSON.parse(text)
          const requests = Array.isArray(value) ? value : [value]
          deepStrictEqual(
            // numbers beyond a double are kept as text; printed and read again they are what JSON.parse reads
            JSON.parse(JSON.stringify(scanner.elements(text))),
            requests.map((request) => {
              const params = (request as { params?: { record_set?: unknown } } | null)?.params
              const isPlain =
                typeof request === 'object' &&
                !Array.isArray(request) &&
                typeof params === 'object' &&
                params !== null &&
                !Array.isArray(params)
              return isPlain && Object.hasOwn(params, 'record_set') && Array.isArray(params.record_set)
                ? params.record_set
                : null
            }),
          )
          for (const [at, { start, end }] of scanner.scan(text).requests.entries())
            deepStrictEqual(JSON.parse(Buffer.from(text).subarray(start, end).toString()), requests[at])
        },
      ),
      { numRuns: 150 },
    )
  },
)

t.test(
  'property: text that JSON.parse refuses is refused, or its fault stands in a value that is parsed later',
  async (t) => {
    const scanner = createScanner(t)
    const base =
      '{"jsonrpc":"2.0","id":1,"params":{"record_set":[{"a":"b\\"c"},[1,2],"x"],"data_name":"n"},"method":"m"}'
    fc.assert(
      fc.property(
        fc.nat({ max: base.length - 1 }),
        fc.constantFrom('', '{', '}', '[', ']', '"', ',', ':', '\\', 'x', ' ', '\u00e9'),
        (at, char) => {
          const text = base.slice(0, at) + char + base.slice(at + 1)
          let isJson = true
          try {
            JSON.parse(text)
          } catch {
            isJson = false
          }
          try {
            const { requests } = scanner.scan(text)
            const found = scanner.elements(text)
            if (isJson) return
            // what is left of the request without the elements is parsed by the dispatcher
            const [{ recordSet } = { recordSet: null }] = requests
            const bytes = Buffer.from(text)
            const rest =
              recordSet === null
                ? text
                : bytes.subarray(0, recordSet.start).toString() + bytes.subarray(recordSet.end).toString()
            let isRestJson = true
            try {
              JSON.parse(rest)
            } catch {
              isRestJson = false
            }
            ok(!isRestJson, `${text} gave ${JSON.stringify(found)}`)
          } catch (error) {
            ok(isAppError(error) && error.errorName === 'PARSE_ERROR', String(error))
            ok(!isJson, `${text} was refused: ${String(error)}`)
          }
        },
      ),
      { numRuns: 400 },
    )
  },
)

t.test('scan: bytes at random never do worse than a clear refusal', async (t) => {
  const scanner = createScanner(t)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (bytes, isNearJson) => {
      const near = isNearJson ? bytes.map((byte) => '{}[]",:\\ 1a'.charCodeAt(byte % 11)) : bytes
      try {
        scanner.elements(near)
      } catch (error) {
        ok(isAppError(error), String(error))
      }
    }),
    { numRuns: 400 },
  )
})

t.test('scan: of a key that comes twice the last counts', async (t) => {
  const { elements } = createScanner(t)
  t.same(elements('{"params":{"record_set":[1],"record_set":[2,3]}}'), [[2, 3]])
  t.same(elements('{"params":{"record_set":[1]},"params":{"record_set":[2]}}'), [[2]])
  t.same(elements('{"params":{"record_set":[1]},"params":{}}'), [null])
  t.same(elements('{"params":{"record_set":[1]},"params":5}'), [null])
  t.same(elements('{"params":{"record_set":[1],"record_set":null}}'), [null])
  t.same(elements('{"params":{"record\\u005fset":[1]}}'), [[1]])
  t.same(elements('{"record_set":[1],"x":{"params":{"record_set":[2]}}}'), [null])
})

t.test('scan: characters, strings and brackets across the chunks of the file', async (t) => {
  const { elements } = createScanner(t)
  const MEBI = 1024 * 1024
  for (const shift of [0, 1, 2, 3, 4, 5]) {
    const pad = ' '.repeat(MEBI - 40 - shift)
    t.same(
      elements(`${pad}{"params":{"record_set":["日本語\\"𝒳é",{"a":[1,[2]]}],"x":"]}"}}`),
      [['日本語"𝒳é', { a: [1, [2]] }]],
      `${shift}`,
    )
  }
  const long = 'é𝒳'.repeat(2 * MEBI)
  t.same(elements(JSON.stringify({ params: { record_set: [long, 1] } })), [[long, 1]])
  const many = Array.from({ length: 200_000 }, (_, n) => ({ n, s: `"${n}]` }))
  t.same((elements(JSON.stringify({ params: { record_set: many } }))[0] as unknown[]).length, many.length)
})

const MALFORMED: [string, string | Uint8Array, RegExp][] = [
  ['empty', '', /found the end at byte 0, expected a value/],
  ['spaces only', ' \n ', /expected a value/],
  [
    'cut in the elements',
    '{"params":{"record_set":[{"a":1},',
    /found the end at byte 33, expected a closing bracket/,
  ],
  ['cut in a string', '{"params":{"record_set":["abc', /a closing quote/],
  ['cut after a key', '{"params"', /a colon/],
  ['key without quotes', '{params:1}', /a key/],
  ['no comma', '{"a":1 "b":2}', /a comma or }/],
  ['trailing comma', '{"a":1,}', /a key/],
  ['brackets crossed', '{"params":{"record_set":[{]}]}}', /the bracket that is open/],
  ['more behind', '{"params":{}} x', /the end of the body/],
  ['two bodies', '{}{}', /the end of the body/],
  ['batch without comma', '[{} {}]', /a comma or \]/],
  ['batch with trailing comma', '[{},]', /a value/],
  ['value missing', '{"a":}', /a value/],
  ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not valid UTF-8/],
  [
    'half a character at the end',
    Buffer.concat([Buffer.from('{"a":"b"} '), Buffer.of(0xe6, 0x97)]),
    /not valid UTF-8/,
  ],
]

t.test('scan: malformed bodies are PARSE_ERROR and say where', async (t) => {
  const { scan } = createScanner(t)
  for (const [what, bytes, message] of MALFORMED) {
    try {
      scan(bytes)
      t.fail(what)
    } catch (error) {
      t.ok(isAppError(error) && error.errorName === 'PARSE_ERROR', what)
      t.match((error as Error).message, message, what)
    }
  }
})

t.test('elements: what is between the brackets must be a list', async (t) => {
  const { elements } = createScanner(t)
  for (const list of ['1 2', '1,', ',1', '1,,2', '{"a":1}{"b":2}', 'tru', '"a" "b"', '01', "'a'", '{"a":1,}'])
    t.throws(
      () => elements(`{"params":{"record_set":[${list}]}}`),
      { message: /element \d of the list, at byte \d+/ },
      list,
    )
  t.same(elements('{"params":{"record_set":[ ]}}'), [[]])
  t.same(elements('{"params":{"record_set":[ 1 , true,null ,"a" ]}}'), [[1, true, null, 'a']])
})

t.test('scan: depth and batch are bounded', async (t) => {
  const { scan } = createScanner(t)
  const deep = (levels: number) => `{"params":{"record_set":[${'['.repeat(levels)}${']'.repeat(levels)}]}}`
  t.ok(scan(deep(61)))
  t.throws(() => scan(deep(62)), { message: /Found brackets 65 deep at byte 86, expected at most 64/ })
  t.throws(() => scan(`{"x":${'{"a":'.repeat(100_000)}`), { message: /expected at most 64/ })
  t.throws(() => scan('['.repeat(1_000_000)), { message: /expected at most 64/ })
  t.equal(scan(`[${Array(100).fill('{}').join()}]`).requests.length, 100)
  t.equal(scan(`[${Array(5000).fill('{}').join()}]`).requests.length, 101)
  t.same(scan('[]'), { isBatch: true, requests: [], hasLoneSurrogate: false })
})

t.test('scan: a lone surrogate is refused with its path, in whichever record and chunk', async (t) => {
  const { scan } = createScanner(t)
  const body = (records: string, head = '"data_name":"x",') => `{"params":{${head}"record_set":[${records}]}}`
  const lone = [
    '\\ud800',
    '\\uDC00',
    '\\ud83d\\ud83d\\ude00',
    '\\ud800 \\udc00',
    '\\ud800\\n',
    '\\udbff\\u0041',
  ]
  for (const text of lone) {
    const error = t.throws(() => scan(body(`{"a":1},{"a":{"b":["${text}"]}}`)))
    t.match(error, { errorName: 'INVALID_REQUEST', data: { path: '$.params.record_set[1].a.b[0]' } }, text)
    const ofBatch = t.throws(() => scan(`[{},${body(`{"${text}":1}`)}]`))
    t.match(ofBatch, { data: { path: '$[1].params.record_set[0] (a key)' } }, text)
    t.match(scan(body('', `"data_name":"${text}",`)), { hasLoneSurrogate: true }, text)
  }
  for (const text of ['\\ud83d\\ude00', '😀', '\\\\ud800', '\\u0041\\n', '\\uD83D\\uDE00\\uD83D\\uDE00'])
    t.equal(scan(body(`{"a":"${text}"}`)).hasLoneSurrogate, false, text)
})

t.test('property: scan: an escape is read alike wherever a chunk ends', async (t) => {
  const { scan } = createScanner(t)
  const CHUNK = 1024 * 1024
  const head = '{"params":{"record_set":[{"a":"'
  for (let before = 0; before < 14; before++) {
    const padding = ' '.repeat(CHUNK - before)
    const whole = `${padding.slice(head.length)}${head}\\ud83d\\ude00"}]}}`
    t.equal(scan(whole).hasLoneSurrogate, false, `${before} bytes before the end of a chunk`)
    t.match(
      t.throws(() => scan(whole.replace('\\ude00', ''))),
      { errorName: 'INVALID_REQUEST' },
    )
  }
})
