import t from 'tap'
import { joinWays } from '../../../../src/mapbuild/base/shape/join-ways.js'

const ways = (...texts: string[]) =>
  texts.map((text) => ({ refs: [...text].map((letter) => letter.charCodeAt(0)) }))
const text = (chain: number[]) => String.fromCharCode(...chain)
const joined = (list: { refs: number[] }[], isDirected = false) => {
  const { rings, open } = joinWays(list, isDirected)
  return { rings: rings.map(text), open: open.map(text) }
}

t.test('joinWays: ways in any direction and order become a ring', async (t) => {
  t.same(joined(ways('ABC', 'DC', 'DEA')), { rings: ['ABCDEA'], open: [] })
  t.same(joined(ways('ABCA', 'DEFD')), { rings: ['ABCA', 'DEFD'], open: [] }, 'each way a ring')
})

t.test('joinWays: rings that touch in a node close, in one loop or two', async (t) => {
  const { rings, open } = joined(ways('AB', 'BX', 'XA', 'XC', 'CD', 'DX'))
  t.same(open, [])
  const edges = rings.flatMap((ring) =>
    [...ring].slice(1).map((letter, i) => [ring[i], letter].sort().join('')),
  )
  t.same(edges.sort(), ['AB', 'AX', 'BX', 'CD', 'CX', 'DX'])
})

t.test('joinWays: a missing way, a way that leads away, a way there and back do not close', async (t) => {
  t.same(joined(ways('AB', 'BC')), { rings: [], open: ['ABC'] })
  t.ok(joined(ways('AB', 'BC', 'CA', 'CX')).open.length > 0)
  t.same(joined(ways('ABA')), { rings: [], open: ['ABA'] })
})

t.test('joinWays: directed ways join end to start alone, from the start of their chain on', async (t) => {
  t.same(joined(ways('CD', 'BC', 'AB'), true), { rings: [], open: ['ABCD'] })
  t.same(joined(ways('AB', 'CB'), true), { rings: [], open: ['AB', 'CB'] })
  t.same(joined(ways('BC', 'CDA', 'AB'), true), { rings: ['BCDAB'], open: [] })
})
