import t from 'tap'
import { lineOf, stepsOf } from '../../../src/console/fleet/json-lines.js'

const VALUE = {
  description: 'a "quoted", [odd] {text}: \\',
  up: [{ table: 'a', priority: 1 }, { table: 'b', columns: ['x', 'y'] }, 7],
  'sync.windows': [],
  stages: { wait_s: 1 },
}

t.test('lineOf: finds members and items in text that is written over lines', async (t) => {
  const text = JSON.stringify(VALUE, null, 2)
  const lines = text.split('\n')
  const at = (...path: (string | number)[]) => lines[lineOf(text, path) - 1]?.trim()
  t.match(at('description'), /^"description"/)
  t.equal(at('up'), '"up": [')
  t.equal(at('up', 0, 'priority'), '"priority": 1')
  t.equal(at('up', 1, 'table'), '"table": "b",')
  t.equal(at('up', 1, 'columns', 1), '"y"')
  t.equal(at('up', 2), '7')
  t.equal(at('sync.windows'), '"sync.windows": [],')
  t.equal(at('stages', 'wait_s'), '"wait_s": 1')
  t.equal(at('stages', 'max_trouble'), '"stages": {', 'a member that is missing: the object')
  t.equal(at(), '{')
  t.equal(lineOf(JSON.stringify(VALUE), ['up', 1, 'table']), 1)
})

t.test('stepsOf: reads the paths of faults', async (t) => {
  t.same(stepsOf('$'), [])
  t.same(stepsOf('$.profile.up[10].table'), ['profile', 'up', 10, 'table'])
  t.same(stepsOf('$.profile.settings["server.port"]'), ['profile', 'settings', 'server.port'])
})
