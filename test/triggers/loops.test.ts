import t from 'tap'
import { findRound, type TriggerEnds } from '../../src/triggers/loops.js'

const table = (name: string, on: string, ...out: string[]): TriggerEnds => ({
  ...{ name, on: { kind: 'table', table: on } },
  call: { output: Object.fromEntries(out.map((one) => [one, { data_ddc: one }])) },
})

t.test('loops: a trigger that starts itself, alone or by others', async (t) => {
  t.same(findRound([], table('a', 'x', 'x')), ['a', 'a'])
  t.same(findRound([table('b', 'y', 'z'), table('c', 'z', 'x')], table('a', 'x', 'y')), ['a', 'b', 'c', 'a'])
  t.equal(findRound([table('b', 'y', 'z'), table('c', 'z', 'q')], table('a', 'x', 'y')), undefined)
  t.equal(
    findRound([table('b', 'y', 'z'), table('c', 'z', 'y')], table('a', 'x', 'y')),
    undefined,
    'a round of others',
  )
})

t.test('loops: stores of models count, schedules and starts do not', async (t) => {
  const trained: TriggerEnds = {
    name: 'm',
    on: { kind: 'model', store: 's', states: [] },
    call: { output: { model: { model_store_ddc: 's' } } },
  }
  t.same(findRound([], trained), ['m', 'm'])
  t.equal(findRound([trained], { ...trained, name: 'n', on: { kind: 'startup' } }), undefined)
  t.equal(findRound([], { ...trained, call: { output: { rows: { data_ddc: 's' } } } }), undefined)
})
