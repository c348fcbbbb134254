import t from 'tap'
import { z } from 'zod'
import { isAppError } from '../../src/errors.js'
import { defineMethod, parseParams, pathText } from '../../src/rpc/define-method.js'
import { rejectsWith } from '../support/rejects-with.js'

const Params = z.strictObject({
  list: z.array(z.strictObject({ length: z.int().min(1) })),
  'odd name': z.string().max(3).optional(),
})

const method = defineMethod({
  name: 'test.sum',
  summary: 'sum of the lengths',
  scope: 'map:read',
  params: Params,
  result: z.int(),
  handle: ({ list }, { start }: { start: number }) => list.reduce((sum, { length }) => sum + length, start),
})

t.test('defineMethod: a call checks its params and hands them on with the context', async (t) => {
  t.equal(await method.call({ list: [{ length: 2 }, { length: 3 }] }, { start: 1 }), 6)
})

t.test('defineMethod: absent params are an empty object', async (t) => {
  await rejectsWith(t, method.call(undefined, { start: 0 }), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.list' }] },
  })
})

t.test('defineMethod: every fault is told with its JSON path', async (t) => {
  const bad = { list: [{ length: 0 }, { length: 1, width: 2 }, 'x'], 'odd name': 'four' }
  const error: unknown = await method.call(bad, { start: 0 }).catch((thrown: unknown) => thrown)
  if (!isAppError(error)) return t.fail('expected an AppError')
  t.same(
    (error.data.faults as { path: string }[]).map((fault) => fault.path),
    ['$.list[0].length', '$.list[1]', '$.list[2]', '$["odd name"]'],
  )
  t.match(error.message, /^Invalid params: \$\.list\[0\]\.length: .*\(and 3 more\)$/)
})

t.test('parseParams: a fault says what was found', async (t) => {
  const schema = z.strictObject({
    word: z.enum(['a', 'b']),
    count: z.int().min(1),
    when: z.union([z.string(), z.strictObject({ val: z.string() })]),
    name: z.string(),
  })
  try {
    parseParams(schema, { word: 'c', count: -3, when: 5 })
    t.fail('expected a refusal')
  } catch (error) {
    const faults = isAppError(error) ? (error.data.faults as { message: string }[]) : []
    t.same(
      faults.map(({ message }) => message),
      [
        'found "c", expected one of "a", "b"',
        'found -3, expected a whole number of at least 1',
        'found 5, expected a string or an object',
        'found nothing, expected a string',
      ],
    )
  }
})

t.test('parseParams: at most 100 faults are told', async (t) => {
  try {
    parseParams(z.array(z.int()), Array(500).fill('x'))
    t.fail('expected a refusal')
  } catch (error) {
    t.equal(isAppError(error) && (error.data.faults as unknown[]).length, 100)
  }
})

t.test('parseParams: long names of the caller are told in short', async (t) => {
  try {
    parseParams(z.strictObject({}), { ['k'.repeat(100_000)]: 1 })
    t.fail('expected a refusal')
  } catch (error) {
    t.ok(isAppError(error) && error.message.length < 500 && JSON.stringify(error.data).length < 1000)
  }
})

t.test('pathText: names that are no identifiers are quoted', async (t) => {
  const table: [PropertyKey[], string][] = [
    [[], '$'],
    [['a', 0, 'b_1'], '$.a[0].b_1'],
    [['with space', '', '"'], '$["with space"][""]["\\""]'],
    [['日本'], '$["日本"]'],
  ]
  for (const [path, text] of table) t.equal(pathText(path), text)
})

t.test('pathText: names that only begin or end like an identifier are quoted', async (t) => {
  t.equal(pathText(['a-b']), '$["a-b"]')
  t.equal(pathText(['-a']), '$["-a"]')
  t.equal(pathText(['1a']), '$["1a"]')
  t.equal(pathText(['a1']), '$.a1')
})

t.test('defineMethod: facts that are not given have their defaults', async (t) => {
  t.match(method, { name: 'test.sum', scope: 'map:read', paramsIn: 'object' })
  t.same(method.errors, [])
  await rejectsWith(t, method.call([{ list: [] }], { start: 0 }), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$', message: 'found an array of 1, expected an object' }] },
  })
})

t.test('defineMethod: an empty array stands for no params', async (t) => {
  const nothing = defineMethod({
    name: 'test.nothing',
    summary: '',
    scope: 'none',
    params: z.strictObject({}),
    result: z.literal(true),
    handle: () => true as const,
  })
  t.equal(await nothing.call([], {}), true)
  await rejectsWith(t, method.call([], { start: 0 }), 'INVALID_PARAMS', {
    data: { faults: [{ path: '$.list', message: 'found nothing, expected an array' }] },
  })
})

t.test('defineMethod: a handler may read the params with numbers as supplied', async (t) => {
  const echo = defineMethod({
    name: 'test.echo',
    summary: '',
    scope: 'none',
    params: z.strictObject({ value: z.unknown() }),
    result: z.unknown(),
    handle: async ({ value }, _context, exact) => [value, (await exact()).value],
  })
  const exact = async () => ({ value: 'exact' })
  t.same(await echo.call({ value: 1 }, {}, exact), [1, 'exact'])
  t.same(await echo.call({ value: 1 }, {}), [1, 1])
})
