import t from 'tap'
import type { EventFeature } from '../../../src/console/core/tables.js'
import { colouringOf } from '../../../src/console/map/events/colours.js'
import { conditionOf } from '../../../src/console/map/events/read.js'
import { FEW, someOf } from '../../../src/console/map/some-of.js'
import { unionOf } from '../../../src/console/map/time/ends.js'

const records = (values: readonly unknown[]): EventFeature[] =>
  values.map((mm) => ({ type: 'Feature', geometry: null, properties: { mm } }))

t.test('colouringOf: numbers have classes of equal width, with their limits in the legend', async (t) => {
  const { legend, colourOf } = colouringOf(records([0, 10, null, 3]), 'mm')
  t.equal(legend.length, 5)
  t.same(legend[0]?.text, { from: 0, to: 2 })
  t.same(legend[4]?.text, { from: 8, to: 10 })
  t.equal(colourOf(0), legend[0]?.colour)
  t.equal(colourOf(1.99), legend[0]?.colour)
  t.equal(colourOf(2), legend[1]?.colour)
  t.equal(colourOf(10), legend[4]?.colour, 'the highest is in the last class')
  t.notOk(
    legend.some(({ colour }) => colour === colourOf(null)),
    'a record without a value stands out',
  )
})

t.test('colouringOf: other values have colours by their number, the rest share one', async (t) => {
  const values = ['b', 'a', 'a', ...'cdefghij']
  const { legend, colourOf } = colouringOf(records(values), 'mm')
  t.same(
    legend.map(({ text }) => (text === 'others' || !('value' in text) ? text : text.value)),
    ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'others'],
  )
  t.equal(colourOf('a'), legend[0]?.colour)
  t.equal(colourOf('j'), legend.at(-1)?.colour)
  t.equal(new Set(legend.map(({ colour }) => colour)).size, legend.length)
  t.same(
    colouringOf(records([5, 5]), 'mm').legend.map(({ text }) => text),
    [{ value: '5' }],
  )
  t.same(colouringOf([], 'mm').legend, [])
})

t.test('conditionOf: values are compared as their columns have them', async (t) => {
  const filter = (operator: string, value: string) => ({ column: 'c', operator, value })
  t.same(conditionOf(filter('>', '5'), 'float8'), { '>': ['c', 5] })
  t.same(conditionOf(filter('=', '5'), 'text'), { '=': ['c', '5'] })
  t.same(conditionOf(filter('=', 'true'), 'bool'), { '=': ['c', true] })
  t.same(conditionOf(filter('=', ''), 'int4'), { '=': ['c', ''] }, 'the gateway tells what is wrong with it')
  t.same(conditionOf(filter('like', '50%_\\'), 'text'), { like: ['c', '%50\\%\\_\\\\%'] })
})

t.test('someOf: the chosen names and a few others; all of them when asked for', async (t) => {
  const names = Array.from({ length: 200 }, (_, n) => `sensor_${String(n).padStart(3, '0')}`)
  const isChosen = (name: string) => name === 'sensor_150'
  const some = someOf(names, '', isChosen, false)
  t.equal(some.shown.length, FEW)
  t.equal(some.shown[0], 'sensor_150')
  t.equal(some.hidden, 200 - FEW)
  t.same(someOf(names, ' SENSOR_01 ', isChosen, false).shown.length, FEW)
  t.same(someOf(names, '199', isChosen, false), { shown: ['sensor_199'], hidden: 0 })
  t.same(someOf(names, '', isChosen, true), { shown: names, hidden: 0 })
  t.same(someOf(names, 'x', isChosen, false), { shown: [], hidden: 0 })
  t.equal(someOf(names, '', () => true, false).shown.length, 200, 'no chosen one is hidden')
})

t.test('unionOf: the range of all; one instant is widened', async (t) => {
  t.same(unionOf([[5, 9], undefined, [1, 6]]), [1, 9])
  t.same(unionOf([[5, 5]]), [5 - 1_800_000, 5 + 1_800_000])
  t.equal(unionOf([undefined]), undefined)
})
