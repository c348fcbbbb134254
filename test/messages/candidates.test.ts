import t from 'tap'
import { candidates, editDistance } from '../../src/messages/candidates.js'

t.test('candidates: the closest first, without regard to case', async (t) => {
  t.equal(candidates(['speed', 'name', 'spread'], 'sped'), 'speed, spread, name')
  t.equal(candidates(['b', 'NAME', 'c'], 'name'), 'NAME, b, c')
  t.equal(candidates(['b', 'a']), 'b, a', 'in their order')
})

t.test('candidates: at most 20, the others are counted; long names are cut', async (t) => {
  const names = Array.from({ length: 25 }, (_, n) => `column${n}`)
  t.match(candidates(names, 'column24'), /^column24, .* and 5 more$/)
  t.equal(candidates(names).split(', ').length, 20)
  t.equal(candidates(['x'.repeat(500)], 'y'.repeat(100_000)), `${'x'.repeat(80)}…`)
  t.equal(candidates([]), 'none')
})

t.test('editDistance: letters to insert, remove or replace', async (t) => {
  const table: [string, string, number][] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['kitten', 'sitting', 3],
    ['flood', 'floood', 1],
    ['flood', 'flod', 1],
  ]
  for (const [a, b, distance] of table) t.equal(editDistance(a, b), distance, `${a} ${b}`)
})
